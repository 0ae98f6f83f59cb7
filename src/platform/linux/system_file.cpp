// src/platform/linux/system_file.cpp: reads files of /proc and /sys with a size limit, and never blocks.
#include <braid/thread/detail/system_file.hpp>

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {
namespace {

/// An open file. The destructor closes it.
class open_file {
 public:
  explicit open_file(const std::filesystem::path& file)
      : number_(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) {}
  open_file(const open_file&) = delete;
  auto operator=(const open_file&) -> open_file& = delete;
  ~open_file() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] auto number() const noexcept -> int { return number_; }
  [[nodiscard]] auto is_regular() const noexcept -> bool {
    struct ::stat facts{};
    return number_ >= 0 && ::fstat(number_, &facts) == 0 && S_ISREG(facts.st_mode);
  }

 private:
  int number_;
};

}  // namespace

auto read_system_file(const std::filesystem::path& file, std::size_t limit) -> std::optional<std::string> {
  const open_file opened(file);
  if (!opened.is_regular()) return std::nullopt;
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
