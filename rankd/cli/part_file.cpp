// rankd/cli/part_file.cpp: locks, modes and the rename.
#include <rankd/cli/part_file.hpp>

#include <rankd/registry/write_file.hpp>

#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using status = struct ::stat;

constexpr ::mode_t permissions = 0777;
constexpr ::mode_t mode_of_new = 0640;  // as log and audit: answers and data are not for every user of the machine

/// What is known of a regular file at `place`; nothing where there is none.
auto file_at(const fs::path& place) -> std::optional<status> {
  status found{};
  if (::lstat(place.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return found;
}

/// That of what is replaced; but its owner may always write the part, or it could not be gone on with.
auto mode_until_complete(const status& replaced) -> ::mode_t {
  return (replaced.st_mode & permissions) | S_IRUSR | S_IWUSR;
}

/// Opens and locks what has the name, whatever that is.
auto open_and_lock(const fs::path& part, ::mode_t mode_if_new) -> braid::result<braid::descriptor> {
  for (;;) {
    constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    braid::descriptor file(::open(part.c_str(), flags, mode_if_new));
    if (!file || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return braid::fail(braid::last_system_error());
    if (has_name(file, part)) return file;  // the process that held the lock before may have renamed it meanwhile
  }
}

}  // namespace

auto open_part(const fs::path& part, const fs::path& place) -> braid::result<braid::descriptor> {
  const auto replaced = file_at(place);
  auto file = open_and_lock(part, replaced ? mode_until_complete(*replaced) : mode_of_new);
  if (!file) return file;
  status opened{};
  if (::fstat(file->number(), &opened) != 0) return braid::fail(braid::last_system_error());
  if (!S_ISREG(opened.st_mode)) return braid::fail(std::make_error_code(std::errc::file_exists));
  return file;
}

auto has_name(const braid::descriptor& file, const fs::path& name) -> bool {
  status opened{};
  status named{};
  return ::fstat(file.number(), &opened) == 0 && ::lstat(name.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

auto empty_part(const braid::descriptor& file, const fs::path& place) -> braid::result<void> {
  const auto replaced = file_at(place);
  if (::ftruncate(file.number(), 0) != 0 || ::lseek(file.number(), 0, SEEK_SET) != 0 ||
      (replaced && ::fchmod(file.number(), mode_until_complete(*replaced)) != 0))
    return braid::fail(braid::last_system_error());
  return {};
}

auto put_in_place(const braid::descriptor& file, const fs::path& part, const fs::path& place) -> braid::result<void> {
  if (const auto replaced = file_at(place)) {
    static_cast<void>(::fchown(file.number(), replaced->st_uid, replaced->st_gid));  // is for root, mostly
    if (::fchmod(file.number(), replaced->st_mode & permissions) != 0) return braid::fail(braid::last_system_error());
  }
  if (::fsync(file.number()) != 0 || ::rename(part.c_str(), place.c_str()) != 0)
    return braid::fail(braid::last_system_error());
  return sync_folder_of(place);
}

}  // namespace rankd
