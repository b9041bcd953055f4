#include <iostream>

#include "traces/commands/commands.h"

int main(int argc, char** argv) { return moeblaze::runTraces(argc, argv, std::cout, std::cerr); }
