// rankd/store/vector_claims.cpp: claims versions of a file by locks on bytes of a lock file: one byte for each claimed
// version, and one byte for merging.
#include <rankd/store/vector_claims.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

// The locks belong to the open file, not to the process. So two objects in one process exclude each other like two
// processes.
constexpr ::off_t merge_byte = ::off_t{1} << 60;  // behind the bytes of all versions

/// Returns the byte that stands for a version: the first 60 bits of its digest.
auto version_byte(std::string_view digest) -> ::off_t {
  constexpr std::size_t digits = 15;
  std::uint64_t value = 0;
  std::from_chars(digest.data(), digest.data() + std::min(digits, digest.size()), value, 16);
  return static_cast<::off_t>(value);
}

auto lock_at(::off_t first, ::off_t bytes, int kind) -> struct ::flock {
  struct ::flock out{};
  out.l_type = static_cast<short>(kind);
  out.l_whence = SEEK_SET;
  out.l_start = first;
  out.l_len = bytes;
  return out;
}

auto change(const braid::descriptor& file, struct ::flock lock) -> braid::result<void> {
  while (::fcntl(file.number(), F_OFD_SETLK, &lock) != 0)
    if (errno != EINTR) return braid::fail(braid::last_system_error());
  return {};
}

/// Returns whether another open file holds a lock on any of these bytes.
auto is_locked(const braid::descriptor& file, ::off_t first, ::off_t bytes) -> braid::result<bool> {
  if (bytes == 0) return false;  // zero would mean all bytes from the first on
  struct ::flock lock = lock_at(first, bytes, F_WRLCK);
  if (::fcntl(file.number(), F_OFD_GETLK, &lock) != 0) return braid::fail(braid::last_system_error());
  return lock.l_type != F_UNLCK;
}

}  // namespace

auto vector_claims::open(const std::filesystem::path& file) -> braid::result<vector_claims> {
  const std::string name = file.string() + ".lock";
  braid::descriptor opened(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0660));
  if (!opened) return braid::fail(braid::last_system_error());
  return vector_claims(std::move(opened));
}

auto vector_claims::claim(std::string_view digest) -> braid::result<void> {
  return change(file_, lock_at(version_byte(digest), 1, F_RDLCK));
}

auto vector_claims::release(std::string_view digest) -> braid::result<void> {
  return change(file_, lock_at(version_byte(digest), 1, F_UNLCK));
}

auto vector_claims::has_others(std::string_view digest) const -> braid::result<bool> {
  const ::off_t own = version_byte(digest);
  const auto before = is_locked(file_, 0, own);
  if (!before || *before) return before;
  return is_locked(file_, own + 1, merge_byte - own - 1);
}

auto vector_claims::try_lock() -> braid::result<bool> {
  const auto locked = change(file_, lock_at(merge_byte, 1, F_WRLCK));
  if (locked) return true;
  if (locked.error() == std::errc::resource_unavailable_try_again || locked.error() == std::errc::permission_denied)
    return false;
  return braid::fail(locked.error());
}

void vector_claims::unlock() noexcept { static_cast<void>(change(file_, lock_at(merge_byte, 1, F_UNLCK))); }

}  // namespace rankd
