// src/thread/system_file.cpp: parses files of /proc and /sys.
#include <braid/thread/detail/system_file.hpp>

namespace braid::detail {

auto read_first_line(const std::filesystem::path& file) -> std::string {
  const auto text = read_system_file(file);
  if (!text) return {};
  std::string_view rest = *text;
  const std::string_view line = take_until(rest, '\n');
  return std::string(line.substr(0, line.find_last_not_of(" \t\r") + 1));
}

auto cpus_in(const std::filesystem::path& file) -> std::optional<cpu_set> {
  auto cpus = cpu_set::parse(read_first_line(file));
  if (!cpus || cpus->empty()) return std::nullopt;
  return *std::move(cpus);
}

}  // namespace braid::detail
