// braid/thread/detail/system_file.hpp: reads the small files in which the kernel describes the machine.
#pragma once

#include <braid/thread/cpu_set.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace braid::detail {

/// Returns the content of a regular file, truncated after `limit` bytes. Returns nothing if the file does not exist or
/// is not a regular file.
/// Blocks: never, because a pipe is refused.
auto read_system_file(const std::filesystem::path& file, std::size_t limit = std::size_t{1} << 16U)
    -> std::optional<std::string>;

/// Returns the first line without trailing blanks, or an empty string if there is no line.
auto read_first_line(const std::filesystem::path& file) -> std::string;

/// Parses the list of CPUs in a file. Returns nothing if the list is empty or malformed.
auto cpus_in(const std::filesystem::path& file) -> std::optional<cpu_set>;

/// Returns the location of the absolute path `path` if `root` replaces `/`.
inline auto under(const std::filesystem::path& root, const std::filesystem::path& path) -> std::filesystem::path {
  return root / path.relative_path();
}

/// Returns whether files below `root` describe the machine on which this process runs.
inline auto is_this_machine(const std::filesystem::path& root) -> bool { return root.lexically_normal() == "/"; }

/// Removes the text up to the next `mark` from the front of `rest`, including the mark. Returns the text without the
/// mark.
inline auto take_until(std::string_view& rest, char mark) -> std::string_view {
  const std::size_t end = rest.find(mark);
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return taken;
}

}  // namespace braid::detail
