// sim/disk.cpp: reports writes, truncations and syncs of files on the disk of a machine, and injects faults into these
// calls.
#include <sim/disk.hpp>
#include <sim/machine.hpp>

#include <algorithm>
#include <cstring>

#include <fnmatch.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim {
namespace {

/// A disk fault that concerns the files whose paths match a pattern.
struct disk_rule {
  disk_fault fault = disk_fault::none;
  nanoseconds delay = 0;
  bytes pattern;  // ends with a zero byte
};

/// The disk faults that have begun, and the number of reported changes. The object is never destroyed, because threads
/// may run until the process ends.
struct disk_state {
  list<disk_rule> rules;
  std::uint64_t changes = 0;
};
auto disk() -> disk_state& {
  static auto* made = new (take_memory(sizeof(disk_state))) disk_state;
  return *made;
}

auto find_rule(disk_fault fault, std::string_view path) -> const disk_rule* {
  if (disk().rules.empty()) return nullptr;
  std::array<char, PATH_MAX> text{};
  path.copy(text.data(), text.size() - 1);
  for (const disk_rule& each : disk().rules)
    if (each.fault == fault && ::fnmatch(each.pattern.data(), text.data(), 0) == 0) return &each;
  return nullptr;
}

auto find_error(std::string_view path, bool needs_space) -> int {
  if (find_rule(disk_fault::error, path) != nullptr) return EIO;
  return needs_space && find_rule(disk_fault::full, path) != nullptr ? ENOSPC : 0;
}

void report(word kind, const disk_change& change, std::span<const int> files, std::span<const char> part,
            std::span<const char> rest = {}) {
  bytes data;
  data.reserve(sizeof(change) + part.size() + rest.size());
  const auto* head = reinterpret_cast<const char*>(&change);
  data.insert(data.end(), head, head + sizeof(change));
  data.insert(data.end(), part.begin(), part.end());
  data.insert(data.end(), rest.begin(), rest.end());
  if (kind != word::disk_sync) ++disk().changes;
  send_change(kind, data, files);
}

/// A second descriptor of a file, with which the simulator can read and write, even if the program's descriptor does
/// not permit both.
class second_descriptor {
 public:
  explicit second_descriptor(int descriptor) {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor);
    number_ = static_cast<int>(kernel(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.data()), O_RDWR | O_CLOEXEC));
  }
  second_descriptor(const second_descriptor&) = delete;
  auto operator=(const second_descriptor&) -> second_descriptor& = delete;
  ~second_descriptor() {
    if (number_ >= 0) kernel(SYS_close, number_);
  }
  [[nodiscard]] auto number() const -> int { return number_; }

  /// Reads `size` bytes of the file at an offset. Requires that the file contains these bytes.
  [[nodiscard]] auto read(std::int64_t offset, std::int64_t size) const -> bytes {
    bytes found(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
    for (std::size_t at = 0; at < found.size();) {
      const long got = kernel(SYS_pread64, number_, reinterpret_cast<long>(found.data() + at),
                              static_cast<long>(found.size() - at), offset + static_cast<std::int64_t>(at));
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    return found;
  }

 private:
  int number_ = -1;
};

auto size_of(int descriptor) -> std::int64_t {
  struct stat found{};
  return ::fstat(descriptor, &found) == 0 ? found.st_size : 0;
}

/// A file on the simulated disk that the program has opened for writing.
class disk_file final : public object {
 public:
  explicit disk_file(std::string_view path) : path_(path.begin(), path.end()) {}

  [[nodiscard]] auto ready() const -> std::uint32_t override { return POLLIN | POLLOUT; }
  [[nodiscard]] auto is_file() const -> bool override { return true; }
  auto receive(int descriptor, message& wanted) -> ssize_t override {
    point(call::read);
    return kernel(SYS_readv, descriptor, reinterpret_cast<long>(wanted.parts.data()),
                  static_cast<long>(wanted.parts.size()));
  }
  auto send(int descriptor, const message& given) -> ssize_t override { return write(descriptor, given.parts, -1); }
  void close() override {}

  auto write(int descriptor, std::span<const iovec> parts, std::int64_t offset) -> ssize_t {
    point(call::write);
    bytes written;
    message{.parts = parts}.gather(written);
    if (const int error = find_error(path(), true); error != 0 && !written.empty()) {
      // A part of the data may be written first, because a disk can also become full in the middle of a write.
      if (error == EIO || written.size() == 1 || has_been_short_ || entropy() % 2 == 0) return fail(error);
      has_been_short_ = true;
      written.resize(1 + entropy() % (written.size() - 1));
    }
    return write_bytes(descriptor, written, offset);
  }

  auto resize(int descriptor, std::int64_t size) -> int {
    point(call::write);
    if (const int error = find_error(path(), false); error != 0) return fail(error);
    const second_descriptor own(descriptor);
    const std::int64_t old_size = size_of(descriptor);
    const bytes cut = own.read(size, old_size - size);
    const long status = kernel(SYS_ftruncate, descriptor, size);
    if (status == 0 && own.number() >= 0 && size != old_size) {
      const int file = own.number();
      report(word::disk_resize,
             {.length = cut.size(),
              .old_size = static_cast<std::uint64_t>(old_size),
              .new_size = static_cast<std::uint64_t>(size)},
             {&file, 1}, cut);
    }
    return static_cast<int>(status);
  }

 private:
  [[nodiscard]] auto path() const -> std::string_view { return {path_.data(), path_.size()}; }

  auto write_bytes(int descriptor, bytes& written, std::int64_t offset) -> ssize_t {
    const second_descriptor own(descriptor);
    const long flags = kernel(SYS_fcntl, descriptor, F_GETFL);
    const std::int64_t old_size = size_of(descriptor);
    const std::int64_t position = offset >= 0 ? offset : kernel(SYS_lseek, descriptor, 0, SEEK_CUR);
    const std::int64_t begin = (flags & O_APPEND) != 0 ? old_size : position;
    const bytes before = own.read(begin, std::min(old_size - begin, static_cast<std::int64_t>(written.size())));
    const long count = offset >= 0 ? kernel(SYS_pwrite64, descriptor, reinterpret_cast<long>(written.data()),
                                            static_cast<long>(written.size()), offset)
                                   : kernel(SYS_write, descriptor, reinterpret_cast<long>(written.data()),
                                            static_cast<long>(written.size()));
    if (count <= 0 || own.number() < 0) return count;
    written.resize(static_cast<std::size_t>(count));
    const int file = own.number();
    report(word::disk_write,
           {.offset = static_cast<std::uint64_t>(begin),
            .length = std::min(before.size(), written.size()),
            .old_size = static_cast<std::uint64_t>(old_size),
            .is_durable = (flags & O_DSYNC) != 0 ? 1U : 0U},  // O_SYNC contains the bit
           {&file, 1}, std::span(before).first(std::min(before.size(), written.size())), written);
    return count;
  }

  bytes path_;
  bool has_been_short_ = false;
};

}  // namespace

disk_path::disk_path(int descriptor) {
  if (!has_disk()) return;
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const long size = kernel(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(link.data()),
                           reinterpret_cast<long>(text_.data()), static_cast<long>(text_.size()));
  const std::string_view disk = page->wanted.disk.data();
  const std::string_view path(text_.data(), static_cast<std::size_t>(std::max(size, 0L)));
  is_on_disk_ = path.starts_with(disk) && (path.size() == disk.size() || path[disk.size()] == '/');
  if (is_on_disk_) path_ = path.substr(std::min(path.size(), disk.size() + 1));
}

folder_entry::folder_entry(int folder, const char* path) {
  if (!has_disk() || path == nullptr) return;
  std::string_view rest = path;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t slash = rest.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? rest : rest.substr(slash + 1);
  if (last.empty() || last == "." || last == ".." || last.size() > NAME_MAX || rest.size() >= PATH_MAX) return;
  last.copy(name_.data(), name_.size() - 1);
  std::array<char, PATH_MAX> above{};
  rest.substr(0, slash == std::string_view::npos ? 0 : std::max<std::size_t>(slash, 1))
      .copy(above.data(), PATH_MAX - 1);
  if (above[0] == '\0') above[0] = '.';
  parent_ = static_cast<int>(
      kernel(SYS_openat, folder, reinterpret_cast<long>(above.data()), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (parent_ < 0) return;
  const disk_path found(parent_);
  is_on_disk_ = found.is_on_disk();
  if (!is_on_disk_) return;
  const std::string_view shown = found.relative();
  std::snprintf(path_.data(), path_.size(), "%.*s%s%s", static_cast<int>(shown.size()), shown.data(),
                shown.empty() ? "" : "/", name_.data());
}

folder_entry::~folder_entry() {
  if (parent_ >= 0) kernel(SYS_close, parent_);
}

auto folder_entry::fault(bool needs_space) const -> int { return find_error(path_.data(), needs_space); }

auto is_disk_file(int descriptor) -> bool {
  const auto& found = find_object(descriptor);
  return found != nullptr && found->is_file();
}

void adopt_file(int descriptor) {
  const long flags = kernel(SYS_fcntl, descriptor, F_GETFL);
  if (!has_disk() || flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY) return;
  struct stat found{};
  const disk_path path(descriptor);
  if (!path.is_on_disk() || ::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return;
  set_object(descriptor, make<disk_file>(path.relative()));
}

auto open_on_disk(int folder, const char* path, int flags, unsigned mode) -> int {
  const auto open = [&](int wanted) {
    return static_cast<int>(kernel(SYS_openat, folder, reinterpret_cast<long>(path), wanted, mode));
  };
  const bool can_change = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY;
  if (!can_change || (flags & O_PATH) != 0) return open(flags);
  const folder_entry place(folder, path);
  if (!place.is_on_disk()) {
    const int made = open(flags);
    if (made >= 0) adopt_file(made);
    return made;
  }
  point(call::file_change);
  struct stat ignored{};
  const bool is_new = (flags & O_CREAT) != 0 && (flags & O_TMPFILE) != O_TMPFILE &&
                      ::fstatat(place.parent(), place.name(), &ignored, 0) != 0 && errno == ENOENT;
  if (const int error = place.fault(is_new); error != 0 && is_new) return fail(error);
  const int made = open(flags & ~O_TRUNC);
  if (made < 0) return made;
  adopt_file(made);
  const int parent = place.parent();
  if (is_new) report_names(word::disk_add, {}, {&parent, 1}, place.name(), {});
  if ((flags & O_TRUNC) == 0 || is_new) return made;
  if (is_disk_file(made))
    resize_on_disk(made, 0);
  else
    kernel(SYS_ftruncate, made, 0);
  return made;
}

auto write_to_disk(int descriptor, std::span<const iovec> parts, std::int64_t offset) -> ssize_t {
  const auto file = find_as<disk_file>(descriptor);
  return file->write(descriptor, parts, offset);
}

auto resize_on_disk(int descriptor, std::int64_t size) -> int {
  const auto file = find_as<disk_file>(descriptor);
  return file->resize(descriptor, size);
}

auto sync_on_disk(int descriptor, int& status) -> bool {
  const disk_path path(descriptor);
  struct stat found{};
  if (!path.is_on_disk() || ::fstat(descriptor, &found) != 0) return false;
  point(call::file_sync);
  const std::uint64_t changes = disk().changes;  // later changes may reach the disk after a crash in this sync
  const disk_rule* slow = find_rule(disk_fault::slow, path.relative());
  const nanoseconds end = slow == nullptr ? now() : now() + slow->delay;
  while (now() < end) sleep_until(end);
  const disk_fault fault =
      find_rule(disk_fault::error, path.relative()) == nullptr ? disk_fault::none : disk_fault::error;
  report(word::disk_sync,
         {.fault = fault,
          .device = static_cast<std::uint64_t>(found.st_dev),
          .inode = static_cast<std::uint64_t>(found.st_ino),
          .changes = changes},
         {}, {});
  status = fault == disk_fault::none ? 0 : fail(EIO);
  return true;
}

void report_names(word kind, disk_change change, std::span<const int> files, std::string_view name,
                  std::string_view other) {
  change.length = name.size();
  report(kind, change, files, name, other);
}

void set_disk_rule(std::span<const char> data) {
  disk_change head;
  std::memcpy(&head, data.data(), sizeof(head));
  data = data.subspan(sizeof(head));
  if (head.fault == disk_fault::none) return disk().rules.clear();
  disk_rule made{.fault = head.fault, .delay = head.delay_ns, .pattern = bytes(data.begin(), data.end())};
  made.pattern.push_back('\0');
  disk().rules.push_back(std::move(made));
}

// --- replaced calls ---

namespace {

/// Writes at an offset. Used for pwrite and pwritev.
template <typename Real>
auto write_at(int descriptor, std::span<const iovec> parts, std::int64_t offset, Real real) -> ssize_t {
  if (!on() || !is_disk_file(descriptor)) return real();
  return offset < 0 ? fail(EINVAL) : write_to_disk(descriptor, parts, offset);
}

template <typename Real>
auto sync(int descriptor, Real real) -> int {
  int status = 0;
  return on() && has_disk() && sync_on_disk(descriptor, status) ? status : real();
}

}  // namespace

SIM_CALL(ssize_t, pwrite, int descriptor, const void* memory, size_t size, off_t offset) {
  const iovec part{const_cast<void*>(memory), size};
  return write_at(descriptor, {&part, 1}, offset, [&] { return REAL(pwrite)(descriptor, memory, size, offset); });
}

SIM_CALL(ssize_t, pwrite64, int descriptor, const void* memory, size_t size, off_t offset) {
  return sim_pwrite(descriptor, memory, size, offset);
}

SIM_CALL(ssize_t, pwritev, int descriptor, const iovec* parts, int count, off_t offset) {
  return write_at(descriptor, {parts, static_cast<std::size_t>(count)}, offset,
                  [&] { return REAL(pwritev)(descriptor, parts, count, offset); });
}

SIM_CALL(ssize_t, pwritev64, int descriptor, const iovec* parts, int count, off_t offset) {
  return sim_pwritev(descriptor, parts, count, offset);
}

SIM_CALL(ssize_t, pwritev2, int descriptor, const iovec* parts, int count, off_t offset, int flags) {
  if (!on() || !is_disk_file(descriptor)) return REAL(pwritev2)(descriptor, parts, count, offset, flags);
  return flags != 0 ? fail(EOPNOTSUPP)
                    : write_to_disk(descriptor, {parts, static_cast<std::size_t>(count)}, std::max<off_t>(offset, -1));
}

SIM_CALL(ssize_t, copy_file_range, int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
         unsigned flags) {
  if (on() && is_disk_file(to)) return fail(EINVAL);  // the caller then copies by reads and writes
  return REAL(copy_file_range)(from, from_offset, to, to_offset, size, flags);
}

SIM_CALL(int, ftruncate, int descriptor, off_t size) {
  if (!on() || !is_disk_file(descriptor)) return REAL(ftruncate)(descriptor, size);
  return size < 0 ? fail(EINVAL) : resize_on_disk(descriptor, size);
}

SIM_CALL(int, ftruncate64, int descriptor, off_t size) { return sim_ftruncate(descriptor, size); }

SIM_CALL(int, truncate, const char* path, off_t size) {
  if (!on() || !has_disk()) return REAL(truncate)(path, size);
  const int opened = open_on_disk(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
  if (opened < 0) return -1;
  const int status = sim_ftruncate(opened, size);
  const int error = errno;
  ::close(opened);
  errno = error;
  return status;
}

SIM_CALL(int, truncate64, const char* path, off_t size) { return sim_truncate(path, size); }

SIM_CALL(int, fallocate, int descriptor, int mode, off_t offset, off_t size) {
  if (!on() || !is_disk_file(descriptor)) return REAL(fallocate)(descriptor, mode, offset, size);
  if (mode != 0) return fail(EOPNOTSUPP);
  if (offset < 0 || size <= 0) return fail(EINVAL);
  const std::int64_t old_size = size_of(descriptor);
  return offset + size > old_size ? resize_on_disk(descriptor, offset + size) : 0;
}

SIM_CALL(int, fallocate64, int descriptor, int mode, off_t offset, off_t size) {
  return sim_fallocate(descriptor, mode, offset, size);
}

SIM_CALL(int, posix_fallocate, int descriptor, off_t offset, off_t size) {
  if (!on() || !is_disk_file(descriptor)) return REAL(posix_fallocate)(descriptor, offset, size);
  return sim_fallocate(descriptor, 0, offset, size) == 0 ? 0 : errno;
}

SIM_CALL(int, posix_fallocate64, int descriptor, off_t offset, off_t size) {
  return sim_posix_fallocate(descriptor, offset, size);
}

SIM_CALL(int, fsync, int descriptor) {
  return sync(descriptor, [&] { return REAL(fsync)(descriptor); });
}

SIM_CALL(int, fdatasync, int descriptor) {
  return sync(descriptor, [&] { return REAL(fdatasync)(descriptor); });
}

namespace {

/// Makes all files of the disk durable.
void sync_all() {
  point(call::file_sync);
  report(word::disk_sync, {.changes = disk().changes}, {}, {});
}

}  // namespace

SIM_CALL(void, sync, void) {
  if (!on() || !has_disk()) return REAL(sync)();
  sync_all();
}

SIM_CALL(int, syncfs, int descriptor) {
  if (!on() || !has_disk() || !disk_path(descriptor).is_on_disk()) return REAL(syncfs)(descriptor);
  sync_all();
  return 0;
}

}  // namespace sim
