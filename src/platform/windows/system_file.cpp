// src/platform/windows/system_file.cpp: reads files with a size limit.
#include <braid/thread/detail/system_file.hpp>

#include <fstream>
#include <system_error>

namespace braid::detail {

auto read_system_file(const std::filesystem::path& file, std::size_t limit) -> std::optional<std::string> {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(limit, '\0');
  in.read(text.data(), static_cast<std::streamsize>(limit));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace braid::detail
