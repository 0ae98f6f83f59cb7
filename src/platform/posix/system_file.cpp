// src/platform/posix/system_file.cpp: reads files of the system with a size limit, and never blocks.
#include <braid/thread/detail/system_file.hpp>

#include "owned_descriptor.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {
namespace {

auto is_regular(const owned_descriptor& file) noexcept -> bool {
  struct ::stat facts{};
  return file.is_open() && ::fstat(file.number(), &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

auto read_system_file(const std::filesystem::path& file, std::size_t limit) -> std::optional<std::string> {
  const owned_descriptor opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!is_regular(opened)) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() < limit) {
    const ::ssize_t got = ::read(opened.number(), part.data(), std::min(part.size(), limit - text.size()));
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace braid::detail
