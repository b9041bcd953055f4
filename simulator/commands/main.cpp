#include <iostream>

#include "simulator/commands/commands.h"

int main(int argc, char** argv) { return moeblaze::runSimulator(argc, argv, std::cout, std::cerr); }
