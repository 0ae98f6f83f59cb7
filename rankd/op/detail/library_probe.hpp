// rankd/op/detail/library_probe.hpp: loads a library of operators in a process of its own before this one does.
#pragma once

#include <filesystem>
#include <string>

namespace rankd::detail {

/// Loads a library in a child process. Its static constructors run there first: an exception in one of them, which
/// cannot leave dlopen(3), a crash or an exit ends the child and not this process. Returns why the child ended, or
/// nothing if it has loaded the library, or could not be made.
/// Blocks: until the library is loaded there, for ten seconds at most.
auto loading_problem(const std::filesystem::path& file) -> std::string;

}  // namespace rankd::detail
