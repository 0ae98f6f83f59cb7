// rankd/server/files/file_series.cpp: names, opens and limits consecutive files.
#include <rankd/server/files/file_series.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr int writable_by_owner = 0640;
constexpr auto folder_of_owner = static_cast<std::filesystem::perms>(0750);

/// Returns the current time for a file name, such as `20261127T033609Z`.
auto time_of_name() -> std::string {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

}  // namespace

auto open_to_append(const std::filesystem::path& path, int flags) -> braid::descriptor {
  return braid::descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | flags, writable_by_owner));
}

auto write_bytes(int file, std::string_view bytes) -> std::size_t {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ::ssize_t done = ::write(file, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(done));
  }
  return bytes.size() - rest.size();
}

auto unwritable_file(const std::filesystem::path& path, int error) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(braid::diagnostics({.code = "unwritable_file",
                                             .pointer = {},
                                             .message = "cannot be written: " + std::generic_category().message(error),
                                             .hint = {},
                                             .node = {},
                                             .source = path.string()}));
}

auto file_series::create(options settings) -> braid::checked<file_series> {
  std::error_code why;
  if (std::filesystem::create_directories(settings.folder, why))
    std::filesystem::permissions(settings.folder, folder_of_owner, why);
  if (why) return unwritable_file(settings.folder, why.value());
  file_series made(std::move(settings));
  if (!made.open_next()) return unwritable_file(made.options_.folder, errno);
  return made;
}

auto file_series::open_next(std::string_view last) noexcept -> bool {
  try {
    return open_new_name(last);
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return false;
  }
}

/// Creates a file with a name that does not exist yet. A name may exist already, because another process writes to the
/// same folder, or the clock was set back.
auto file_series::open_new_name(std::string_view last) -> bool {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    std::string number = std::to_string(++number_);
    number.insert(0, 6 - std::min<std::size_t>(number.size(), 6), '0');
    std::filesystem::path path = options_.folder / (options_.name + "-" + time_of_name() + "-" +
                                                    std::to_string(::getpid()) + "-" + number + options_.suffix);
    braid::descriptor next = open_to_append(path, O_EXCL);
    if (!next && errno == EEXIST) continue;
    if (!next) return false;
    close(last);
    path_ = std::move(path);
    file_ = std::move(next);
    size_ = 0;
    return true;
  }
  return false;
}

void file_series::close(std::string_view last) {
  if (!file_) return;
  if (size_ == 0) {
    ::unlink(path_.c_str());
    --number_;
  } else if (const std::size_t taken = append(last); taken != last.size()) {
    static_cast<void>(keep(0, taken));
  }
  file_ = braid::descriptor();
}

auto file_series::is_in_place() const noexcept -> bool {
  struct ::stat named{};
  struct ::stat opened{};
  return file_ && ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.number(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

auto file_series::room() const noexcept -> std::uint64_t {
  return options_.max_bytes - std::min(size_, options_.max_bytes);
}

auto file_series::append(std::string_view bytes) -> std::size_t { return write_bytes(file_.number(), bytes); }

auto file_series::keep(std::size_t bytes, std::size_t taken) -> bool {
  size_ += bytes;
  return bytes == taken || ::ftruncate(file_.number(), static_cast<::off_t>(size_)) == 0;
}

}  // namespace rankd
