// src/io/file.cpp: implements file operations; each operation is a job of an executor whose threads may block.
#include <braid/io/file.hpp>

#include "sockets.hpp"

#include "../platform/descriptors.hpp"

#include <braid/coro/offload.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid {
namespace {

/// Runs `call()`, which returns a result, on the executor, and awaits the result.
template <typename Call>
auto there(executor& blocking, Call call) -> task<std::invoke_result_t<Call&>> {
  try {
    co_return co_await offload(blocking, std::move(call));
  } catch (const std::system_error& refused) {
    co_return fail(refused.code());
  } catch (const std::bad_alloc&) {
    co_return fail(std::make_error_code(std::errc::not_enough_memory));
  }
}

auto to_flags(file::mode mode) noexcept -> int {
  switch (mode) {
    case file::mode::read: return O_RDONLY;
    case file::mode::write: return O_RDWR;
    case file::mode::create: return O_RDWR | O_CREAT;
    case file::mode::make: return O_RDWR | O_CREAT | O_EXCL;
    case file::mode::truncate: return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

/// Returns false if the path contains a zero byte. The system would read such a path only up to the zero byte.
auto is_whole(const std::string& path) noexcept -> bool { return path.find('\0') == std::string::npos; }

auto open_with(const std::string& path, int flags) -> result<descriptor> {
  constexpr mode_t everybody = 0666;
  for (;;) {
    descriptor opened(::open(path.c_str(), flags | O_CLOEXEC, everybody));
    if (opened) return opened;
    if (errno != EINTR) return fail(last_system_error());
  }
}

/// Opens a file with O_NONBLOCK. Without this flag, opening a FIFO would wait for the other end, possibly for ever, and
/// no stop could end the wait.
auto open_now(const std::string& path, file::mode mode) -> result<descriptor> {
  if (!is_whole(path)) return fail(errc::invalid_argument);
  auto opened = open_with(path, to_flags(mode) | O_NONBLOCK);
  // This error means that another process holds a lease on the file. A blocking open waits until that process has
  // released the lease.
  if (!opened && opened.error() == std::errc::operation_would_block) opened = open_with(path, to_flags(mode));
  if (!opened) return opened;
  struct stat about{};
  if (::fstat(opened->number(), &about) != 0) return fail(last_system_error());
  if (S_ISFIFO(about.st_mode)) return fail(std::make_error_code(std::errc::invalid_seek));
  // Removes O_NONBLOCK, so that later reads of a device may block again.
  if (::fcntl(opened->number(), F_SETFL, to_flags(mode) & O_ACCMODE) != 0) return fail(last_system_error());
  return opened;
}

auto read_now(int number, std::uint64_t offset, std::span<std::byte> buffer) -> result<std::size_t> {
  std::size_t read = 0;
  while (read < buffer.size()) {
    const auto got = ::pread(number, buffer.data() + read, buffer.size() - read, static_cast<off_t>(offset + read));
    if (got == 0) break;
    if (got < 0 && errno != EINTR) return fail(last_system_error());
    read += static_cast<std::size_t>(std::max<::ssize_t>(got, 0));
  }
  return read;
}

auto write_now(int number, std::uint64_t offset, std::span<const std::byte> bytes) -> result<void> {
  while (!bytes.empty()) {
    const auto wrote = ::pwrite(number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno != EINTR) return fail(last_system_error());
    const auto count = static_cast<std::size_t>(std::max<::ssize_t>(wrote, 0));
    bytes = bytes.subspan(count);
    offset += count;
  }
  return {};
}

auto size_now(int number) -> result<std::uint64_t> {
  struct stat about{};
  if (::fstat(number, &about) != 0) return fail(last_system_error());
  return static_cast<std::uint64_t>(about.st_size);
}

/// Reads a whole file of at most `max_bytes` bytes. Files of /proc report the size 0, so the function reads until the
/// end of the file, but at most one byte more than the limit.
auto read_whole(const std::string& path, std::uint64_t max_bytes) -> result<std::string> {
  const auto too_large = [] { return fail(std::make_error_code(std::errc::file_too_large)); };
  const auto opened = open_now(path, file::mode::read);
  if (!opened) return fail(opened.error());
  const auto size = size_now(opened->number());
  if (!size) return fail(size.error());
  if (*size > max_bytes) return too_large();
  constexpr std::size_t min_size = 4096;
  constexpr std::uint64_t max_text = std::numeric_limits<std::ptrdiff_t>::max() / 4;
  const auto max_room = static_cast<std::size_t>(std::min(max_bytes, max_text)) + 1;
  std::string text(static_cast<std::size_t>(*size) + 1, '\0');
  for (std::size_t read = 0;;) {
    const auto room = std::as_writable_bytes(std::span(text)).subspan(read);
    const auto got = read_now(opened->number(), read, room);
    if (!got) return fail(got.error());
    read += *got;
    if (*got < room.size()) {
      text.resize(read);
      return text;
    }
    if (read == max_room) return too_large();
    text.resize(std::min(std::max(min_size, 2 * text.size()), max_room));
  }
}

auto write_whole(const std::string& path, std::span<const std::byte> bytes) -> result<void> {
  const auto opened = open_now(path, file::mode::truncate);
  if (!opened) return fail(opened.error());
  return write_now(opened->number(), 0, bytes);
}

/// Runs `call(path)`, which returns 0 or sets errno, and converts the outcome to a result.
template <typename Call>
auto act_on(const std::string& path, Call call) -> result<void> {
  if (!is_whole(path)) return fail(errc::invalid_argument);
  return detail::checked(call(path.c_str()));
}

auto kind_of(unsigned char type) noexcept -> file::kind {
  switch (type) {
    case DT_REG: return file::kind::file;
    case DT_DIR: return file::kind::folder;
    case DT_LNK: return file::kind::link;
    default: return file::kind::other;
  }
}

/// Returns the kind of a directory entry. Examines the file itself if the file system does not report the kind.
auto kind_of(int folder, const dirent& entry) noexcept -> file::kind {
  if (entry.d_type != DT_UNKNOWN) return kind_of(entry.d_type);
  struct stat about{};
  if (::fstatat(folder, entry.d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) return file::kind::other;
  return kind_of(static_cast<unsigned char>(IFTODT(about.st_mode)));
}

auto status_now(const std::string& path, file::links links) -> result<file::status> {
  if (!is_whole(path)) return fail(errc::invalid_argument);
  struct stat about{};
  const int flags = links == file::links::follow ? 0 : AT_SYMLINK_NOFOLLOW;
  if (::fstatat(AT_FDCWD, path.c_str(), &about, flags) != 0) return fail(last_system_error());
  using namespace std::chrono;
  const timespec changed = detail::change_time(about);
  const auto since = seconds(changed.tv_sec) + nanoseconds(changed.tv_nsec);
  return file::status{.kind = kind_of(static_cast<unsigned char>(IFTODT(about.st_mode))),
                      .size = static_cast<std::uint64_t>(about.st_size),
                      .modified = system_clock::time_point(duration_cast<system_clock::duration>(since))};
}

auto list_now(const std::string& path) -> result<std::vector<file::entry>> {
  if (!is_whole(path)) return fail(errc::invalid_argument);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
  if (folder == nullptr) return fail(last_system_error());
  std::vector<file::entry> all;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return fail(last_system_error());
    if (entry == nullptr) break;
    const std::string name(entry->d_name);
    if (name != "." && name != "..") all.push_back({.name = name, .kind = kind_of(::dirfd(folder.get()), *entry)});
  }
  std::ranges::sort(all, {}, &file::entry::name);
  return all;
}

}  // namespace

auto file::open(executor& blocking, std::string path, file::mode access) -> task<result<file>> {
  auto opening = there(blocking, [&path, access] { return open_now(path, access); });
  auto opened = co_await std::move(opening);
  if (!opened) co_return fail(opened.error());
  co_return file(blocking, std::move(*opened));
}

auto file::read_at(std::uint64_t offset, std::span<std::byte> buffer) const -> task<result<std::size_t>> {
  return there(*blocking_, [number = opened_.number(), offset, buffer] { return read_now(number, offset, buffer); });
}

auto file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const -> task<result<void>> {
  return there(*blocking_, [number = opened_.number(), offset, bytes] { return write_now(number, offset, bytes); });
}

auto file::size() const -> task<result<std::uint64_t>> {
  return there(*blocking_, [number = opened_.number()] { return size_now(number); });
}

auto file::resize(std::uint64_t size) const -> task<result<void>> {
  return there(*blocking_, [number = opened_.number(), size] {
    return detail::checked(::ftruncate(number, static_cast<off_t>(size)));
  });
}

auto file::sync() const -> task<result<void>> {
  return there(*blocking_, [number = opened_.number()] { return detail::checked(::fsync(number)); });
}

auto file::read(executor& blocking, std::string path, std::uint64_t limit) -> task<result<std::string>> {
  auto reading = there(blocking, [&path, limit] { return read_whole(path, limit); });
  co_return co_await std::move(reading);
}

auto file::write(executor& blocking, std::string path, std::span<const std::byte> bytes) -> task<result<void>> {
  auto writing = there(blocking, [&path, bytes] { return write_whole(path, bytes); });
  co_return co_await std::move(writing);
}

auto file::list_folder(executor& blocking, std::string path) -> task<result<std::vector<file::entry>>> {
  auto listing = there(blocking, [&path] { return list_now(path); });
  co_return co_await std::move(listing);
}

auto file::status_of(executor& blocking, std::string path, file::links links) -> task<result<file::status>> {
  auto looking = there(blocking, [&path, links] { return status_now(path, links); });
  co_return co_await std::move(looking);
}

auto file::make_folder(executor& blocking, std::string path) -> task<result<void>> {
  constexpr mode_t everybody = 0777;
  auto making = there(blocking, [&path] { return act_on(path, [](const char* p) { return ::mkdir(p, everybody); }); });
  co_return co_await std::move(making);
}

auto file::remove(executor& blocking, std::string path) -> task<result<void>> {
  auto removing = there(blocking, [&path] { return act_on(path, [](const char* p) { return ::unlink(p); }); });
  co_return co_await std::move(removing);
}

auto file::remove_folder(executor& blocking, std::string path) -> task<result<void>> {
  auto removing = there(blocking, [&path] { return act_on(path, [](const char* p) { return ::rmdir(p); }); });
  co_return co_await std::move(removing);
}

auto file::rename(executor& blocking, std::string from, std::string to) -> task<result<void>> {
  auto renaming = there(blocking, [&from, &to]() -> result<void> {
    if (!is_whole(to)) return fail(errc::invalid_argument);
    return act_on(from, [&to](const char* p) { return ::rename(p, to.c_str()); });
  });
  co_return co_await std::move(renaming);
}

}  // namespace braid
