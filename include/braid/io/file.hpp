// braid/io/file.hpp: regular files and folders, by calls that block on threads that may.
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

/// An open file. Its calls run on the executor that it was opened with, whose jobs may block; positions are given, so
/// that several may run at once. A stop does not cut a call short: it is over before the task ends.
/// Threads: any; several calls may run at a time. Blocks: no thread but those of the executor.
/// Lifetime: the object and the buffers outlive the calls; the executor outlives the object.
/// Errors: the system's; invalid_argument for a path with a zero byte; invalid_seek for a FIFO, which has no positions
/// (pipe_stream reads it); not_enough_memory; errc::closed where the executor takes nothing more. Threads, blocks and
/// errors are the same for the static functions, which run on the executor that they are given.
class BRAID_API file {
 public:
  /// What a file is opened for.
  enum class mode : std::uint8_t {
    read,      ///< an existing file, to be read
    write,     ///< an existing file, to be read and written
    create,    ///< as `write`; made where it is not there
    make,      ///< as `create`; refused where it is there
    truncate,  ///< as `create`; emptied where it is there
  };

  /// What a name in a folder stands for.
  enum class kind : std::uint8_t { file, folder, link, other };

  /// What `status_of` gives.
  struct status {
    file::kind kind = file::kind::other;
    std::uint64_t size = 0;  ///< of a folder, what the system says
    std::chrono::system_clock::time_point modified;
  };

  /// One name in a folder.
  struct entry {
    std::string name;
    file::kind kind = file::kind::other;
    friend auto operator==(const entry&, const entry&) -> bool = default;
  };

  /// What a call does where the path ends in a symbolic link.
  enum class links : std::uint8_t {
    follow,  ///< what the link leads to
    stay,    ///< the link itself
  };

  /// New files can be read and written by all, less what the umask takes away.
  [[nodiscard]] static auto open(executor& blocking, std::string path, mode how) -> task<result<file>>;

  /// Reads up to the size of `into`; less only at the end of the file, where it is 0.
  [[nodiscard]] auto read_at(std::uint64_t offset, std::span<std::byte> into) const -> task<result<std::size_t>>;
  /// Writes all of it.
  [[nodiscard]] auto write_at(std::uint64_t offset, std::span<const std::byte> bytes) const -> task<result<void>>;
  [[nodiscard]] auto size() const -> task<result<std::uint64_t>>;
  [[nodiscard]] auto resize(std::uint64_t size) const -> task<result<void>>;
  /// Returns when what was written is on the disk.
  [[nodiscard]] auto sync() const -> task<result<void>>;

  /// The default limit of `read`.
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30U;

  /// The whole of a file. Errors: file_too_large for one that has more than `limit` bytes, or does not end before;
  /// not_enough_memory.
  [[nodiscard]] static auto read(executor& blocking, std::string path, std::uint64_t limit = max_bytes)
      -> task<result<std::string>>;

  /// Writes a whole file: creates it, or replaces what it holds. A reader may see a part of it, and an error may leave
  /// one: to replace a file in one step, write another one and `rename` it.
  [[nodiscard]] static auto write(executor& blocking, std::string path, std::span<const std::byte> bytes)
      -> task<result<void>>;
  BRAID_COROUTINE_WRAPPER [[nodiscard]] static auto write(executor& blocking, std::string path, std::string_view text)
      -> task<result<void>> {
    return write(blocking, std::move(path), std::as_bytes(std::span(text)));
  }

  /// What is known of a file or folder without opening it. Errors: no_such_file_or_directory.
  [[nodiscard]] static auto status_of(executor& blocking, std::string path, links at_end = links::follow)
      -> task<result<status>>;

  /// Removes the name of a file, or a link; processes that have it open keep it. Errors: is_a_directory.
  [[nodiscard]] static auto remove(executor& blocking, std::string path) -> task<result<void>>;

  /// Gives a file or folder another name on the same file system. A file that has the name is replaced atomically: a
  /// reader sees one or the other. Errors: cross_device_link; directory_not_empty for a folder that is in the way.
  [[nodiscard]] static auto rename(executor& blocking, std::string from, std::string to) -> task<result<void>>;

  /// What a folder holds, by name, without `.` and `..`. Errors: not_a_directory; no_such_file_or_directory.
  [[nodiscard]] static auto list_folder(executor& blocking, std::string path) -> task<result<std::vector<entry>>>;

  /// Makes one folder, for all, less what the umask takes away. Errors: file_exists; no_such_file_or_directory where
  /// the one around it is not there.
  [[nodiscard]] static auto make_folder(executor& blocking, std::string path) -> task<result<void>>;

  /// Removes an empty folder. Errors: directory_not_empty, not_a_directory.
  [[nodiscard]] static auto remove_folder(executor& blocking, std::string path) -> task<result<void>>;

 private:
  file(executor& blocking, descriptor opened) noexcept : blocking_(&blocking), opened_(std::move(opened)) {}

  executor* blocking_;
  descriptor opened_;
};

}  // namespace braid
