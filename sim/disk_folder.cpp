// sim/disk_folder.cpp: makes, locks and deletes the folder that contains the disks of a world.
#include <sim/disk_folder.hpp>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

namespace fs = std::filesystem;

/// Locks a folder and returns the descriptor that holds the lock. Returns -1 if another process has locked the folder,
/// if the folder no longer exists, or if it belongs to another user.
auto lock_folder(const std::string& folder) -> int {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return -1;
  struct ::stat locked{};
  struct ::stat there{};
  if (::flock(opened, LOCK_EX | LOCK_NB) == 0 && ::fstat(opened, &locked) == 0 &&
      ::lstat(folder.c_str(), &there) == 0 && locked.st_ino == there.st_ino && locked.st_dev == there.st_dev &&
      locked.st_uid == ::geteuid())
    return opened;
  ::close(opened);
  return -1;
}

}  // namespace

disk_folder::disk_folder() {
  const fs::path above = fs::canonical(fs::temp_directory_path());
  for (unsigned number = 100; number < 1000 && lock_ < 0; ++number) {
    path_ = (above / ("braid-sim-disks-" + std::to_string(number))).string();
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
      throw std::system_error(errno, std::generic_category(), "no folder for disks in " + above.string());
    lock_ = lock_folder(path_);
  }
  if (lock_ < 0)
    throw std::runtime_error("too many folders braid-sim-disks-N in " + above.string() + " are in use; delete them");
  for (const fs::directory_entry& each : fs::directory_iterator(path_)) fs::remove_all(each.path());
}

disk_folder::~disk_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace sim
