#include <iostream>

#include "kernels/bench/bench.h"

int main(int argc, char** argv) { return moeblaze::runBench(argc, argv, std::cout, std::cerr); }
