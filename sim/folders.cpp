// sim/folders.cpp: reports changes of the names in folders on the disk of a machine: created, removed and renamed
// files.
#include <sim/disk.hpp>

#include <cstdio>
#include <cstring>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

/// A file that loses its name. The coordinator needs the content of the file, in order to restore the file after a
/// crash.
class lost_file {
 public:
  explicit lost_file(const folder_entry& place) {
    struct stat found{};
    if (::fstatat(place.parent(), place.name(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
    mode_ = found.st_mode;
    inode_ = found.st_ino;
    const auto name = reinterpret_cast<long>(place.name());
    if (S_ISLNK(mode_))
      kernel(SYS_readlinkat, place.parent(), name, reinterpret_cast<long>(target_.data()),
             static_cast<long>(target_.size() - 1));
    if (!S_ISREG(mode_)) return;
    for (const int access : {O_RDWR, O_RDONLY})
      if (number_ < 0)
        number_ = static_cast<int>(kernel(SYS_openat, place.parent(), name, access | O_CLOEXEC | O_NOFOLLOW));
  }
  lost_file(const lost_file&) = delete;
  auto operator=(const lost_file&) -> lost_file& = delete;
  ~lost_file() {
    if (number_ >= 0) kernel(SYS_close, number_);
  }
  [[nodiscard]] auto mode() const -> std::uint32_t { return S_ISREG(mode_) && number_ < 0 ? 0 : mode_; }
  [[nodiscard]] auto number() const -> int { return number_; }
  [[nodiscard]] auto inode() const -> ino_t { return inode_; }
  [[nodiscard]] auto target() const -> std::string_view { return target_.data(); }

 private:
  std::uint32_t mode_ = 0;
  ino_t inode_ = 0;
  int number_ = -1;
  std::array<char, PATH_MAX> target_{};
};

/// Calls `add`, which adds a name to a folder, and reports the new name if the folder is on the disk.
template <typename Add>
auto add_name(int folder, const char* path, Add add) -> int {
  const folder_entry place(folder, path);
  if (place.is_on_disk()) {
    point(call::file_change);
    if (const int error = place.fault(true); error != 0) return fail(error);
  }
  const int status = static_cast<int>(add());
  const int parent = place.parent();
  if (status == 0 && place.is_on_disk()) report_names(word::disk_add, {}, {&parent, 1}, place.name(), {});
  return status;
}

auto remove_name(int folder, const char* path, int flags) -> int {
  const folder_entry place(folder, path);
  const auto remove = [&] {
    return static_cast<int>(kernel(SYS_unlinkat, folder, reinterpret_cast<long>(path), flags));
  };
  if (!place.is_on_disk()) return remove();
  point(call::file_change);
  if (const int error = place.fault(false); error != 0) return fail(error);
  const lost_file lost(place);
  const int status = remove();
  if (status != 0) return status;
  const std::array<int, 2> files = {place.parent(), lost.number()};
  report_names(word::disk_remove, {.mode = lost.mode()}, std::span(files).first(lost.number() < 0 ? 1 : 2),
               place.name(), lost.target());
  return 0;
}

auto move_name(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) -> int {
  const folder_entry old_place(from_folder, from);
  const folder_entry new_place(to_folder, to);
  const auto move = [&] {
    return static_cast<int>(
        kernel(SYS_renameat2, from_folder, reinterpret_cast<long>(from), to_folder, reinterpret_cast<long>(to), flags));
  };
  if (!old_place.is_on_disk() || !new_place.is_on_disk()) return move();
  point(call::file_change);
  for (const folder_entry* each : {&old_place, &new_place})
    if (const int error = each->fault(false); error != 0) return fail(error);
  const lost_file moved(old_place);
  const lost_file replaced(new_place);
  const int status = move();
  if (status != 0 || moved.inode() == replaced.inode()) return status;
  const bool is_exchange = (flags & RENAME_EXCHANGE) != 0;
  const std::array<int, 3> files = {old_place.parent(), new_place.parent(), replaced.number()};
  report_names(word::disk_move, {.mode = is_exchange ? 0 : replaced.mode(), .flags = flags},
               std::span(files).first(replaced.number() < 0 || is_exchange ? 2 : 3), old_place.name(),
               new_place.name());
  return 0;
}

/// Reports a temporary file or folder that libc has created.
auto adopt_temporary(int made, const char* path) -> int {
  if (made == -1 || !on() || !has_disk()) return made;
  const folder_entry place(AT_FDCWD, path);
  const int parent = place.parent();
  if (made >= 0) adopt_file(made);
  if (place.is_on_disk()) report_names(word::disk_add, {}, {&parent, 1}, place.name(), {});
  return made;
}

auto has_simulated_disk() -> bool { return on() && has_disk(); }

}  // namespace

SIM_CALL(int, mkdirat, int folder, const char* path, mode_t mode) {
  const auto make_folder = [&] { return kernel(SYS_mkdirat, folder, reinterpret_cast<long>(path), mode); };
  return has_simulated_disk() ? add_name(folder, path, make_folder) : static_cast<int>(make_folder());
}

SIM_CALL(int, mkdir, const char* path, mode_t mode) { return sim_mkdirat(AT_FDCWD, path, mode); }

SIM_CALL(int, linkat, int from_folder, const char* from, int to_folder, const char* to, int flags) {
  const auto link_file = [&] {
    return kernel(SYS_linkat, from_folder, reinterpret_cast<long>(from), to_folder, reinterpret_cast<long>(to), flags);
  };
  return has_simulated_disk() ? add_name(to_folder, to, link_file) : static_cast<int>(link_file());
}

SIM_CALL(int, link, const char* from, const char* to) { return sim_linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

SIM_CALL(int, symlinkat, const char* target, int folder, const char* path) {
  const auto link_path = [&] {
    return kernel(SYS_symlinkat, reinterpret_cast<long>(target), folder, reinterpret_cast<long>(path));
  };
  return has_simulated_disk() ? add_name(folder, path, link_path) : static_cast<int>(link_path());
}

SIM_CALL(int, symlink, const char* target, const char* path) { return sim_symlinkat(target, AT_FDCWD, path); }

SIM_CALL(int, unlinkat, int folder, const char* path, int flags) {
  if (has_simulated_disk()) return remove_name(folder, path, flags);
  return static_cast<int>(kernel(SYS_unlinkat, folder, reinterpret_cast<long>(path), flags));
}

SIM_CALL(int, unlink, const char* path) { return sim_unlinkat(AT_FDCWD, path, 0); }

SIM_CALL(int, rmdir, const char* path) { return sim_unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

SIM_CALL(int, remove, const char* path) {
  const int error = errno;
  if (sim_unlinkat(AT_FDCWD, path, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return -1;
  errno = error;
  return sim_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

SIM_CALL(int, renameat2, int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (has_simulated_disk()) return move_name(from_folder, from, to_folder, to, flags);
  return static_cast<int>(
      kernel(SYS_renameat2, from_folder, reinterpret_cast<long>(from), to_folder, reinterpret_cast<long>(to), flags));
}

SIM_CALL(int, renameat, int from_folder, const char* from, int to_folder, const char* to) {
  return sim_renameat2(from_folder, from, to_folder, to, 0);
}

SIM_CALL(int, rename, const char* from, const char* to) { return sim_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

SIM_CALL(int, mkostemps, char* path, int suffix, int flags) {
  return adopt_temporary(REAL(mkostemps)(path, suffix, flags), path);
}

SIM_CALL(char*, mkdtemp, char* path) {
  char* made = REAL(mkdtemp)(path);
  if (made != nullptr) adopt_temporary(AT_FDCWD, path);
  return made;
}

SIM_CALL(int, mkostemp, char* path, int flags) { return sim_mkostemps(path, 0, flags); }
SIM_CALL(int, mkstemp, char* path) { return sim_mkostemps(path, 0, 0); }
SIM_CALL(int, mkstemps, char* path, int suffix) { return sim_mkostemps(path, suffix, 0); }
SIM_CALL(int, mkostemp64, char* path, int flags) { return sim_mkostemps(path, 0, flags); }
SIM_CALL(int, mkstemp64, char* path) { return sim_mkostemps(path, 0, 0); }

}  // namespace sim
