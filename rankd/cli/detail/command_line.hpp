// rankd/cli/detail/command_line.hpp: the program rankd as a function.
#pragma once

namespace rankd::detail {

/// Does what the words of a command line say, and gives the status with which the process ends. A file that may not
/// grow is an error of a write from then on, and no signal. Blocks: until the command is done.
auto run_command_line(int argc, char** argv) -> int;

}  // namespace rankd::detail
