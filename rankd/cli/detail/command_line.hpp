// rankd/cli/detail/command_line.hpp: the command-line program rankd as a function.
#pragma once

namespace rankd::detail {

/// Runs a command line, and returns the exit status of the process. Ignores the signal SIGXFSZ, so that a file that
/// reaches its size limit causes a write error instead.
/// Blocks: until the command has ended.
auto run_command_line(int argc, char** argv) -> int;

}  // namespace rankd::detail
