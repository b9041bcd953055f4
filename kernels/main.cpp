#include <iostream>

#include "kernels/bench.h"

int main(int argc, char** argv) { return moeblaze::runBench(argc, argv, std::cout, std::cerr); }
