// rankd/op/detail/library_probe.hpp: loads a library of operators in a child process first, to test whether loading is
// safe.
#pragma once

#include <filesystem>
#include <string>

namespace rankd::detail {

/// Loads a library in a child process and returns why that failed. The library's static constructors run in the child
/// first, so an exception, crash or exit in one of them ends only the child. Without the child, an exception would end
/// this process, because it cannot propagate through dlopen(3). Returns an empty string if the library was loaded or if
/// no child could be created.
/// Blocks: until the child has loaded the library, for at most ten seconds.
auto loading_problem(const std::filesystem::path& file) -> std::string;

}  // namespace rankd::detail
