// rankd/server/files/file_series.hpp: consecutive files in a folder. Bytes are appended only to the last file.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// A series of files `NAME-20260101T033609Z-PID-000001.ndjson`, then `…-000002.ndjson`, and so on. A file is never
/// written again once the next file exists. Threads: one at a time.
class file_series {
 public:
  struct options {
    std::filesystem::path folder = {};
    std::string name = {};
    std::uint64_t max_bytes = std::uint64_t{64}
                              << 20U;  ///< the maximum size of a file; a longer entry has its own file
    std::string suffix = ".ndjson";
  };

  /// Creates the first file, and the folder if it does not exist. Both are accessible to owner and group only.
  /// Errors: unwritable_file.
  static auto create(options settings) -> braid::checked<file_series>;

  /// Writes `last` at the end of the current file and continues with a new file. Returns false if no file can be
  /// created. In this case, the current file stays open.
  [[nodiscard]] auto open_next(std::string_view last = {}) noexcept -> bool;
  /// Writes `last` at the end of the file and closes it. An empty file is removed. After that, no file is open until
  /// `open_next` is called.
  void close(std::string_view last = {});

  /// Returns whether the file still has the name under which it was created.
  [[nodiscard]] auto is_in_place() const noexcept -> bool;
  [[nodiscard]] auto is_open() const noexcept -> bool { return static_cast<bool>(file_); }
  /// Returns the size of the file in bytes, without bytes that `keep` has not confirmed.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }
  /// Returns how many bytes may still be appended. Returns 0 if the file is full.
  [[nodiscard]] auto room() const noexcept -> std::uint64_t;

  /// Appends bytes to the file, and returns how many bytes the system has written. All bytes are written unless the
  /// disk is full.
  [[nodiscard]] auto append(std::string_view bytes) -> std::size_t;
  /// Confirms the first `bytes` of the `taken` bytes written last. Removes the remaining bytes, because readers could
  /// not continue after a partial entry. Returns false if these bytes cannot be removed.
  [[nodiscard]] auto keep(std::size_t bytes, std::size_t taken) -> bool;

 private:
  explicit file_series(options settings) : options_(std::move(settings)) {}
  auto open_new_name(std::string_view last) -> bool;

  options options_;
  std::filesystem::path path_;
  braid::descriptor file_;
  std::uint64_t size_ = 0;
  unsigned number_ = 0;
};

/// Opens a file for appending. Creates it, if necessary, accessible to owner and group only. `flags` are those of
/// open(2).
auto open_to_append(const std::filesystem::path& path, int flags = 0) -> braid::descriptor;
/// Writes as many bytes as the system accepts, and returns their number.
auto write_bytes(int file, std::string_view bytes) -> std::size_t;
/// Returns the diagnostic for a file that cannot be written. `error` is an `errno`.
auto unwritable_file(const std::filesystem::path& path, int error) -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
