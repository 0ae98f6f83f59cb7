// rankd/cli/atomic_file.cpp: writes a locked part file next to the target file, and renames it.
#include <rankd/cli/atomic_file.hpp>

#include <rankd/registry/write_file.hpp>

#include <optional>
#include <string>
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

auto owned(int descriptor) -> braid::result<braid::descriptor> {
  if (descriptor < 0) return braid::fail(braid::last_system_error());
  return braid::descriptor(descriptor);
}

/// Returns the status of the regular file at the path `place`, or nothing if there is no such file.
auto file_at(const fs::path& place) -> std::optional<status> {
  status found{};
  if (::lstat(place.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return found;
}

/// Returns the mode for the part file: the mode of the file to be replaced, plus read and write permission for the
/// owner. Without these permissions, no later process could continue the part file.
auto mode_until_complete(const status& replaced) -> ::mode_t {
  return (replaced.st_mode & permissions) | S_IRUSR | S_IWUSR;
}

/// Opens a file of any kind and locks it.
auto open_and_lock(const fs::path& part, ::mode_t mode_if_new) -> braid::result<braid::descriptor> {
  for (;;) {
    constexpr int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    braid::descriptor file(::open(part.c_str(), flags, mode_if_new));
    if (!file || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return braid::fail(braid::last_system_error());
    if (has_name(file, part)) return file;  // the process that held the lock before may have renamed it meanwhile
  }
}

/// Opens the part file. Keeps contents that an interrupted process may have left in the file.
auto open_part(const fs::path& part, const fs::path& place) -> braid::result<braid::descriptor> {
  const auto replaced = file_at(place);
  auto file = open_and_lock(part, replaced ? mode_until_complete(*replaced) : mode_of_new);
  if (!file) return file;
  status opened{};
  if (::fstat(file->number(), &opened) != 0) return braid::fail(braid::last_system_error());
  if (!S_ISREG(opened.st_mode)) return braid::fail(std::make_error_code(std::errc::file_exists));
  return file;
}

}  // namespace

auto has_name(const braid::descriptor& file, const fs::path& name) -> bool {
  status opened{};
  status named{};
  return ::fstat(file.number(), &opened) == 0 && ::lstat(name.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

auto atomic_file::create(const fs::path& file, options options) -> braid::result<atomic_file> {
  fs::path place = file;
  fs::path part;
  braid::result<braid::descriptor> opened;
  std::error_code error;
  const fs::file_status there = fs::status(file, error);
  if (file.empty()) {
    opened = owned(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  } else if (fs::exists(there) && !fs::is_regular_file(there)) {
    opened = owned(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else {
    if (fs::exists(there)) place = fs::canonical(file, error);
    if (fs::exists(there) && error) return braid::fail(error);
    part = place.string() + std::string(options.suffix);
    opened = open_part(part, place);
  }
  if (!opened) return braid::fail(opened.error());
  atomic_file made(std::move(*opened), std::move(place), std::move(part), options);
  if (!made.part_.empty() && !options.keeps_part)
    if (const auto empty = made.keep_first(0); !empty) return braid::fail(empty.error());
  return made;
}

atomic_file::~atomic_file() {
  if (!part_.empty() && !keeps_part_) ::unlink(part_.c_str());
}

auto atomic_file::write(std::string_view bytes) -> braid::result<void> { return write_all(file_.number(), bytes); }

auto atomic_file::size() const -> braid::result<std::uint64_t> {
  status opened{};
  if (::fstat(file_.number(), &opened) != 0) return braid::fail(braid::last_system_error());
  return static_cast<std::uint64_t>(opened.st_size);
}

auto atomic_file::keep_first(std::uint64_t bytes) -> braid::result<void> {
  const auto end = static_cast<::off_t>(bytes);
  const auto replaced = bytes == 0 ? file_at(place_) : std::nullopt;
  if (::ftruncate(file_.number(), end) != 0 || ::lseek(file_.number(), end, SEEK_SET) != end ||
      (replaced && ::fchmod(file_.number(), mode_until_complete(*replaced)) != 0))
    return braid::fail(braid::last_system_error());
  return {};
}

auto atomic_file::sync() -> braid::result<void> {
  if (::fdatasync(file_.number()) != 0) return braid::fail(braid::last_system_error());
  return {};
}

auto atomic_file::finish() -> braid::result<void> {
  if (part_.empty()) return {};
  if (const auto replaced = file_at(place_)) {
    static_cast<void>(::fchown(file_.number(), replaced->st_uid, replaced->st_gid));  // is for root, mostly
    if (::fchmod(file_.number(), replaced->st_mode & permissions) != 0) return braid::fail(braid::last_system_error());
  }
  if (::fsync(file_.number()) != 0 || ::rename(part_.c_str(), place_.c_str()) != 0)
    return braid::fail(braid::last_system_error());
  part_.clear();
  return sync_parent_folder(place_);
}

}  // namespace rankd
