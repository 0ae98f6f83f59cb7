// braid/io/file.hpp: regular files and folders, by calls that block on threads that may.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace braid {

enum class file_mode : std::uint8_t {
  read,      ///< an existing file, to be read
  write,     ///< an existing file, to be read and written
  create,    ///< as `write`; made where it is not there
  make,      ///< as `create`; refused where it is there
  truncate,  ///< as `create`; emptied where it is there
};

/// An open file. Its calls run on the executor that it was opened with, whose jobs may block; positions are given, so
/// that several may run at once. A stop does not cut a call short: it is over before the task ends.
/// Lifetime: the object and the buffers outlive the calls; the executor outlives the object.
/// Errors: the system's; invalid_argument for a path with a zero byte; errc::closed where the executor takes nothing
/// more.
class BRAID_API file {
 public:
  /// New files can be read and written by all, less what the umask takes away.
  [[nodiscard]] static auto open(executor& blocking, std::string path, file_mode mode) -> task<result<file>>;

  /// Reads up to the size of `into`; less only at the end of the file, where it is 0.
  [[nodiscard]] auto read_at(std::uint64_t offset, std::span<std::byte> into) const -> task<result<std::size_t>>;
  /// Writes all of it.
  [[nodiscard]] auto write_at(std::uint64_t offset, std::span<const std::byte> bytes) const -> task<result<void>>;
  [[nodiscard]] auto size() const -> task<result<std::uint64_t>>;
  [[nodiscard]] auto resize(std::uint64_t size) const -> task<result<void>>;
  /// Returns when what was written is on the disk.
  [[nodiscard]] auto sync() const -> task<result<void>>;

 private:
  file(executor& blocking, descriptor opened) noexcept : blocking_(&blocking), opened_(std::move(opened)) {}

  executor* blocking_;
  descriptor opened_;
};

/// The whole of a file.
[[nodiscard]] BRAID_API auto read_file(executor& blocking, std::string path) -> task<result<std::string>>;

enum class entry_kind : std::uint8_t { file, folder, link, other };

struct folder_entry {
  std::string name;
  entry_kind kind = entry_kind::other;
  friend auto operator==(const folder_entry&, const folder_entry&) -> bool = default;
};

/// What a folder holds, by name, without `.` and `..`.
[[nodiscard]] BRAID_API auto list_folder(executor& blocking, std::string path)
    -> task<result<std::vector<folder_entry>>>;

}  // namespace braid
