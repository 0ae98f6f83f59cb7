// rankd/cli/main.cpp: contains the main function of rankd.
#include <rankd/cli/detail/command_line.hpp>

int main(int argc, char** argv) { return rankd::detail::run_command_line(argc, argv); }
