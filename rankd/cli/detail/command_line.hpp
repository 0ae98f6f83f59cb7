// rankd/cli/detail/command_line.hpp: the program rankd as a function.
#pragma once

namespace rankd::detail {

/// Runs a command line, and returns the exit status of the process. From then on, a file that may not grow is an error
/// of a write, and no signal.
/// Blocks: until the command is done.
auto run_command_line(int argc, char** argv) -> int;

}  // namespace rankd::detail
