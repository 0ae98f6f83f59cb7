// sim/journal.cpp: undoes changes of a disk that were not durable when the machine lost its power.
#include <sim/journal.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {
namespace {

constexpr std::uint64_t sector = 512;  // which a disk writes as a whole

void write_all(int file, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void set_size(int file, std::uint64_t size) {
  while (::ftruncate(file, static_cast<off_t>(size)) != 0 && errno == EINTR) {}
}

auto size_of(int file) -> std::uint64_t {
  struct stat found{};
  return ::fstat(file, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

/// Removes a name and everything below it.
void remove_tree(int folder, const std::string& name) {  // NOLINT(misc-no-recursion): a folder contains folders
  if (::unlinkat(folder, name.c_str(), 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  const int opened = ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* listed = opened < 0 ? nullptr : ::fdopendir(opened);
  while (const dirent* each = listed == nullptr ? nullptr : ::readdir(listed))  // NOLINT(concurrency-mt-unsafe)
    if (std::strcmp(each->d_name, ".") != 0 && std::strcmp(each->d_name, "..") != 0)
      remove_tree(::dirfd(listed), each->d_name);
  if (listed != nullptr) ::closedir(listed);
  ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

void copy_file(int from, int to) {
  std::array<char, 65'536> block{};
  for (std::uint64_t at = 0;;) {
    const ssize_t count = ::pread(from, block.data(), block.size(), static_cast<off_t>(at));
    if (count <= 0) return;
    write_all(to, {block.data(), static_cast<std::size_t>(count)}, at);
    at += static_cast<std::uint64_t>(count);
  }
}

/// Restores the name of a removed file. A file that has no other name is created again with the same content.
void restore(int folder, const std::string& name, std::uint32_t mode, const handle* content,
             const std::string& target) {
  if (S_ISDIR(mode)) ::mkdirat(folder, name.c_str(), mode & 07777);
  if (S_ISLNK(mode)) static_cast<void>(::symlinkat(target.c_str(), folder, name.c_str()) == 0);
  if (!S_ISREG(mode) || content == nullptr) return;
  const std::string path = "/proc/self/fd/" + std::to_string(content->number());
  if (::linkat(AT_FDCWD, path.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  const int made = ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return;  // a later change of this name is durable
  copy_file(content->number(), made);
  ::fchmod(made, mode & 07777);
  ::close(made);
}

}  // namespace

handle::~handle() { ::close(number_); }

/// Returns the file of a descriptor. All changes of one file share one descriptor of the coordinator.
auto journal::keep(int descriptor) -> open_file {
  auto made = std::make_shared<const handle>(descriptor);
  struct stat found{};
  ::fstat(descriptor, &found);
  const file_id id(found.st_dev, found.st_ino);
  std::weak_ptr<const handle>& known = known_[id];
  if (auto before = known.lock()) return {id, std::move(before)};
  known = made;
  return {id, std::move(made)};
}

void journal::add(const packet& change, std::vector<int> files) {
  disk_change head;
  std::memcpy(&head, change.data.data(), sizeof(head));
  const std::string data(change.data.begin() + sizeof(head), change.data.end());
  const word what = change.head.what;
  if (what == word::disk_sync) return sync(head);
  ++total_;
  std::vector<open_file> opened;
  for (const int each : files) opened.push_back(keep(each));
  if (opened.empty()) return;
  if (what == word::disk_write || what == word::disk_resize) return add_write(what, head, data, opened[0]);
  renaming made{.number = total_,
                .what = what,
                .from = opened[0],
                .to = opened[0],
                .name = data.substr(0, head.length),
                .other = data.substr(head.length),
                .head = head,
                .lost = nullptr};
  if (what == word::disk_move && opened.size() > 1) made.to = opened[1];
  const std::size_t lost = what == word::disk_move ? 2 : 1;
  if (opened.size() > lost) made.lost = opened[lost].opened;
  names_.push_back(std::move(made));
}

void journal::add_write(word kind, const disk_change& head, const std::string& data, open_file file) {
  auto place = std::ranges::find(files_, file.id, [](const written_file& each) { return each.file.id; });
  if (place == files_.end()) place = files_.insert(place, written_file{.file = std::move(file), .writes = {}});
  write made{.number = total_,
             .is_resize = kind == word::disk_resize,
             .offset = head.offset,
             .old_size = head.old_size,
             .new_size = head.new_size,
             .before = data.substr(0, head.length),
             .after = data.substr(head.length),
             .is_durable = head.is_durable != 0};
  if (made.is_resize) made.offset = made.new_size;
  if (place->writes.empty() && made.is_durable) {
    files_.erase(place);
    return;
  }
  place->writes.push_back(std::move(made));
}

/// Makes changes durable: the changes of one file, the changes of the names in one folder, or all changes.
void journal::sync(const disk_change& head) {
  const std::uint64_t last = before_process_ + head.changes;
  const file_id wanted(head.device, head.inode);
  const bool is_for_all = head.inode == 0;
  for (written_file& file : files_) {
    if (!is_for_all && file.file.id != wanted) continue;
    for (write& each : file.writes) {
      if (each.number > last || each.is_durable) continue;
      if (head.fault == disk_fault::none)
        each.is_durable = !each.is_lost;
      else
        each.is_lost = true;
    }
    const auto first = std::ranges::find(file.writes, false, &write::is_durable);
    file.writes.erase(file.writes.begin(), first);
  }
  std::erase_if(files_, [](const written_file& each) { return each.writes.empty(); });
  if (head.fault != disk_fault::none) return;
  std::erase_if(names_, [&](const renaming& each) {
    return each.number <= last && (is_for_all || each.from.id == wanted || each.to.id == wanted);
  });
}

// --- the loss of power ---

void journal::take_back(const write& change, int file) {
  if (change.is_resize || change.offset + change.after.size() > change.old_size) set_size(file, change.old_size);
  write_all(file, change.before, change.offset);
}

void journal::repeat(const write& change, int file) {
  if (change.is_resize)
    set_size(file, change.new_size);
  else
    write_all(file, change.after, change.offset);
}

/// Applies a part of a write again: the seed decides for each sector whether the sector is kept or dropped.
void journal::tear(const write& change, int file, chances& seed) {
  const std::uint64_t end = change.offset + change.after.size();
  const bool has_new_size = seed.below(2) == 0;
  for (std::uint64_t at = change.offset; at < end;) {
    const std::uint64_t next = std::min((at / sector + 1) * sector, end);
    if (seed.below(2) == 0) write_all(file, std::string_view(change.after).substr(at - change.offset, next - at), at);
    at = next;
  }
  if (has_new_size && size_of(file) < end) set_size(file, end);
}

void journal::lose_writes(written_file& written, chances& seed) {
  const int file = written.file.opened->number();
  for (std::size_t at = written.writes.size(); at-- > 0;) take_back(written.writes[at], file);
  enum { drops_all, keeps_all, chooses };
  const std::uint64_t fate = seed.below(3);
  for (const write& each : written.writes) {
    const std::uint64_t chance = fate == chooses ? seed.below(3) : fate;
    if (each.is_durable || (chance == keeps_all && !each.is_lost))
      repeat(each, file);
    else if (chance == chooses && !each.is_resize)
      tear(each, file, seed);
  }
}

void journal::take_back(const renaming& change) {
  const int from = change.from.opened->number();
  const int to = change.to.opened->number();
  switch (change.what) {
    case word::disk_add: return remove_tree(from, change.name);
    case word::disk_remove: return restore(from, change.name, change.head.mode, change.lost.get(), change.other);
    case word::disk_move: break;
    default: return;
  }
  const unsigned exchange = change.head.flags & RENAME_EXCHANGE;
  if (::renameat2(to, change.other.c_str(), from, change.name.c_str(), exchange != 0 ? exchange : RENAME_NOREPLACE) ==
      0)
    restore(to, change.other, change.head.mode, change.lost.get(), "");
}

void journal::lose_power(chances& seed) {
  for (written_file& each : files_) lose_writes(each, seed);
  // A file system writes changes of names in their order, so all changes after some point are lost.
  const std::uint64_t fate = seed.below(3);
  const std::uint64_t kept = fate == 0 ? 0 : fate == 1 ? names_.size() : seed.below(names_.size() + 1);
  for (std::size_t at = names_.size(); at-- > kept;) take_back(names_[at]);
  files_.clear();
  names_.clear();
  known_.clear();
}

}  // namespace sim
