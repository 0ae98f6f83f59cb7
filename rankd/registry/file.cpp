// rankd/registry/file.cpp: reads whole files.
#include <rankd/registry/file.hpp>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace rankd {
namespace {

auto refuse(const std::filesystem::path& file, std::string code, std::string message) {
  return std::unexpected(braid::diagnostics({.code = std::move(code),
                                             .pointer = {},
                                             .message = std::move(message),
                                             .hint = {},
                                             .node = {},
                                             .source = file.string()}));
}

}  // namespace

auto read_text_file(const std::filesystem::path& file, std::size_t largest) -> braid::checked<std::string> {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return refuse(file, "unreadable_file", "there is no such file");
  if (error) return refuse(file, "unreadable_file", "the file cannot be opened: " + error.message());
  // Refuses pipes and devices, because reading them might block or never end.
  if (!std::filesystem::is_regular_file(status)) return refuse(file, "unreadable_file", "this is not a regular file");

  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return refuse(file, "unreadable_file",
                  "the file cannot be opened: " + std::error_code(errno, std::system_category()).message());
  const auto size = std::filesystem::file_size(file, error);
  if (error) return refuse(file, "unreadable_file", "the size of the file cannot be read: " + error.message());
  if (size > largest)
    return refuse(file, "file_too_large",
                  "the file has " + std::to_string(size) + " bytes, more than the " + std::to_string(largest) +
                      " that are allowed");

  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (stream.gcount() != static_cast<std::streamsize>(size))
    return refuse(file, "unreadable_file", "the file became shorter while it was read");
  return text;
}

}  // namespace rankd
