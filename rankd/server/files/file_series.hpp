// rankd/server/files/file_series.hpp: files of a folder that follow each other, of which the last one is written.
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

/// Writes `NAME-20260101T033609Z-PID-000001.ndjson`, then `…-000002.ndjson`, and so on. A file is never written again
/// once the next one is there. Threads: one at a time.
class file_series {
 public:
  struct options {
    std::filesystem::path folder = {};
    std::string name = {};
    std::uint64_t max_bytes = std::uint64_t{64} << 20U;  ///< of one file; what is longer has a file to itself
    std::string suffix = ".ndjson";
  };

  /// Makes the folder where it is missing, and the first file, for their owner and group only.
  /// Errors: unwritable_file.
  static auto create(options of) -> braid::checked<file_series>;

  /// Goes on with a new file, after `last` at the end of the one before. False where none can be made; then the file
  /// stays as it is.
  [[nodiscard]] auto open_next(std::string_view last = {}) -> bool;
  /// Lets the file go, after `last` at its end; one without bytes is removed. There is none until `open_next`.
  void close(std::string_view last = {});

  /// Returns whether the file still has the name that it was made with.
  [[nodiscard]] auto is_in_place() const noexcept -> bool;
  [[nodiscard]] auto is_open() const noexcept -> bool { return static_cast<bool>(file_); }
  /// Of the file, as it counts with what `append` has kept.
  [[nodiscard]] auto size() const noexcept -> std::uint64_t { return size_; }
  /// How much may still be appended; 0 where it is full.
  [[nodiscard]] auto room() const noexcept -> std::uint64_t;

  /// Appends to the file. Gives how many bytes the system has taken: all, unless the disk is full.
  [[nodiscard]] auto append(std::string_view bytes) -> std::size_t;
  /// Says how many of the bytes that were taken last are to stay; the others are cut off again, since what comes after
  /// them could not be read. False where that fails.
  [[nodiscard]] auto keep(std::size_t bytes, std::size_t taken) -> bool;

 private:
  explicit file_series(options of) : of_(std::move(of)) {}

  options of_;
  std::filesystem::path path_;
  braid::descriptor file_;
  std::uint64_t size_ = 0;
  unsigned number_ = 0;
};

/// Opens a file to append to it, which is made where it is missing, for its owner and group only; `flags` as of
/// open(2).
auto open_to_append(const std::filesystem::path& path, int flags = 0) -> braid::descriptor;
/// Writes all bytes, or as many as the system takes, which it gives.
auto write_bytes(int file, std::string_view bytes) -> std::size_t;
/// The diagnostic for a file that cannot be written, of an `errno`.
auto unwritable_file(const std::filesystem::path& path, int why) -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
