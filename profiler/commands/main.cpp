#include <iostream>

#include "profiler/commands/commands.h"

int main(int argc, char** argv) { return moeblaze::profiler::runProfiler(argc, argv, std::cout, std::cerr); }
