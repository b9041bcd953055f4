#include <iostream>

#include "gui/app/program.h"

int main(int argc, char** argv) { return moeblaze::gui::runGui(argc, argv, std::cout, std::cerr); }
