// sim/journal.hpp: stores the changes of a machine's disk that are not durable yet. A crash of the machine undoes some
// of these changes.
#pragma once

#include <sim/links.hpp>
#include <sim/wire.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// A file descriptor that the destructor closes.
class handle {
 public:
  explicit handle(int number) : number_(number) {}
  handle(const handle&) = delete;
  auto operator=(const handle&) -> handle& = delete;
  ~handle();
  [[nodiscard]] auto number() const -> int { return number_; }

 private:
  int number_;
};

/// The changes of a disk since its files and folders were synced. Each change stores what is needed to undo it.
class journal {
 public:
  /// Called when the machine's program starts. The new process numbers its changes from the beginning again.
  void begin_process() { before_process_ = total_; }
  /// Adds a change that the process has reported, with the descriptors of the changed files.
  void add(const packet& change, std::vector<int> files);
  /// Simulates a loss of power. The seed decides for each change that is not durable whether it is kept, dropped or
  /// torn. Everything that is left is durable.
  void lose_power(chances& seed);

 private:
  using file_id = std::pair<std::uint64_t, std::uint64_t>;  // device and inode
  struct open_file {
    file_id id;
    std::shared_ptr<const handle> opened;
  };
  /// A write to a file, or a change of the file's size.
  struct write {
    std::uint64_t number = 0;
    bool is_resize = false;
    std::uint64_t offset = 0;
    std::uint64_t old_size = 0;
    std::uint64_t new_size = 0;
    std::string before;
    std::string after;
    bool is_durable = false;
    bool is_lost = false;  ///< a sync has failed, so that no later sync writes it
  };
  struct written_file {
    open_file file;
    std::vector<write> writes;
  };
  /// A change of the names in one folder or in two folders.
  struct renaming {
    std::uint64_t number = 0;
    word what = word::disk_add;
    open_file from;
    open_file to;
    std::string name;
    std::string other;  ///< the new name, or the target of a removed symbolic link
    disk_change head;
    std::shared_ptr<const handle> lost;  ///< the file that was removed or replaced
  };

  auto keep(int descriptor) -> open_file;
  void add_write(word kind, const disk_change& head, const std::string& data, open_file file);
  void sync(const disk_change& head);
  static void lose_writes(written_file& written, chances& seed);
  static void take_back(const write& change, int file);
  static void repeat(const write& change, int file);
  static void tear(const write& change, int file, chances& seed);
  static void take_back(const renaming& change);

  std::uint64_t total_ = 0;           // changes since the start of the world
  std::uint64_t before_process_ = 0;  // of them, those of earlier processes
  std::vector<written_file> files_;   // in the order of their first writes
  std::vector<renaming> names_;
  std::map<file_id, std::weak_ptr<const handle>> known_;
};

}  // namespace sim
