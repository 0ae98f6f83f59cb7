// braid/io/file.hpp: regular files and folders. Their calls block, and therefore run on an executor for blocking jobs.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/backend.hpp>
#include <braid/task/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid {

/// An open file. Its calls run on the executor with which the file was opened; jobs of that executor may block. Each
/// call gets the offset in the file as an argument, so several calls may run at once. A stop does not interrupt a call:
/// the task that awaits the call does not end before the call has ended.
/// Threads: any; several calls may run at a time. Blocks: only threads of the executor. Lifetime: the object and the
/// buffers must outlive the calls; the executor must outlive the object. Errors: system errors; invalid_argument for a
/// path with a zero byte; invalid_seek for a FIFO, which has no positions (use pipe_stream); not_enough_memory;
/// errc::closed if the executor accepts no more work. The static functions run on the executor that is passed to them.
/// The same rules for threads, blocking and errors apply to them.
class BRAID_API file {
 public:
  /// The mode in which a file is opened.
  enum class mode : std::uint8_t {
    read,      ///< an existing file, to be read
    write,     ///< an existing file, to be read and written
    create,    ///< like `write`; creates the file if it does not exist
    make,      ///< like `create`; refused if the file exists
    truncate,  ///< like `create`; empties the file if it exists
  };

  /// The type of an entry of a folder.
  enum class kind : std::uint8_t { file, folder, link, other };

  /// The status of a file or folder.
  struct status {
    file::kind kind = file::kind::other;
    std::uint64_t size = 0;  ///< the size in bytes; for a folder, the number that the system reports
    std::chrono::system_clock::time_point modified;
  };

  /// An entry of a folder.
  struct entry {
    std::string name;
    file::kind kind = file::kind::other;
    friend auto operator==(const entry&, const entry&) -> bool = default;
  };

  /// Selects what a call does if the path ends in a symbolic link.
  enum class links : std::uint8_t {
    follow,  ///< the target of the link
    stay,    ///< the link itself
  };

  /// Opens a file. New files are readable and writable by all users, except for permissions that the umask removes.
  [[nodiscard]] static auto open(executor& blocking, std::string path, mode access) -> task<result<file>>;

  /// Reads up to the size of `buffer`, and returns the number of bytes. The number is smaller than the size of `buffer`
  /// only if the read reaches the end of the file. At the end it is 0.
  [[nodiscard]] auto read_at(std::uint64_t offset, std::span<std::byte> buffer) const -> task<result<std::size_t>>;
  /// Writes all bytes at `offset`.
  [[nodiscard]] auto write_at(std::uint64_t offset, std::span<const std::byte> bytes) const -> task<result<void>>;
  [[nodiscard]] auto size() const -> task<result<std::uint64_t>>;
  [[nodiscard]] auto resize(std::uint64_t size) const -> task<result<void>>;
  /// Waits until the written bytes are on the disk.
  [[nodiscard]] auto sync() const -> task<result<void>>;

  /// The default limit of `read` in bytes.
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30U;

  /// Reads the whole file.
  /// Errors: file_too_large if the file does not end within `limit` bytes; not_enough_memory.
  [[nodiscard]] static auto read(executor& blocking, std::string path, std::uint64_t limit = max_bytes)
      -> task<result<std::string>>;

  /// Creates a file with the given content, or replaces the content of an existing file. The replacement is not atomic:
  /// a reader may find only a part of the content, and after an error the file may contain only a part. To replace a
  /// file atomically, write another file and `rename` it.
  [[nodiscard]] static auto write(executor& blocking, std::string path, std::span<const std::byte> bytes)
      -> task<result<void>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto write(executor& blocking, std::string path, std::string_view text)
      -> task<result<void>> {
    return write(blocking, std::move(path), std::as_bytes(std::span(text)));
  }

  /// Returns the status of a file or folder without opening it.
  /// Errors: no_such_file_or_directory.
  [[nodiscard]] static auto status_of(executor& blocking, std::string path, links at_end = links::follow)
      -> task<result<status>>;

  /// Removes a file or a link. Processes that have the file open can still use it. Errors: is_a_directory.
  [[nodiscard]] static auto remove(executor& blocking, std::string path) -> task<result<void>>;

  /// Renames a file or folder within the same file system. An existing file with the new name is replaced atomically: a
  /// reader finds either the old file or the new file. Errors: cross_device_link; directory_not_empty if a non-empty
  /// folder has the new name.
  [[nodiscard]] static auto rename(executor& blocking, std::string from, std::string to) -> task<result<void>>;

  /// Returns the entries of a folder, sorted by name, without `.` and `..`.
  /// Errors: not_a_directory; no_such_file_or_directory.
  [[nodiscard]] static auto list_folder(executor& blocking, std::string path) -> task<result<std::vector<entry>>>;

  /// Creates one folder with permissions for all users, except for those that the umask removes.
  /// Errors: file_exists; no_such_file_or_directory if its parent does not exist.
  [[nodiscard]] static auto make_folder(executor& blocking, std::string path) -> task<result<void>>;

  /// Removes an empty folder. Errors: directory_not_empty, not_a_directory.
  [[nodiscard]] static auto remove_folder(executor& blocking, std::string path) -> task<result<void>>;

 private:
  file(executor& blocking, descriptor opened) noexcept : blocking_(&blocking), opened_(std::move(opened)) {}

  executor* blocking_;
  descriptor opened_;
};

}  // namespace braid
