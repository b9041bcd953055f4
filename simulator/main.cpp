#include <iostream>

#include "simulator/commands.h"

int main(int argc, char** argv) { return moeblaze::runSimulator(argc, argv, std::cout, std::cerr); }
