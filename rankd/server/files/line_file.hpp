// rankd/server/files/line_file.hpp: writes lines to a file, or to a series of files, on a separate thread.
#pragma once

#include <rankd/server/files/append_log.hpp>
#include <rankd/server/files/file_series.hpp>
#include <rankd/server/files/reopening.hpp>

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rankd {

/// A writer of lines. A separate thread writes the lines of loops, because a loop must not wait for a disk. If the disk
/// is too slow or full, lines are lost and counted. Accepted lines are written before the object is destroyed.
/// Threads: any.
class line_file {
 public:
  /// The maximum number of bytes that wait to be written.
  static constexpr std::size_t max_waiting = std::size_t{16} << 20U;

  /// Appends to `path`. Creates the file, if necessary, accessible to owner and group only.
  /// Errors: unwritable_file, no_runtime.
  static auto open(const std::filesystem::path& path) -> braid::checked<std::unique_ptr<line_file>>;
  /// Writes to a series of files, beginning with a new file. Errors: unwritable_file, no_runtime.
  static auto series(file_series::options options) -> braid::checked<std::unique_ptr<line_file>>;
  /// Writes to standard error. Errors: no_runtime.
  static auto standard_error() -> braid::checked<std::unique_ptr<line_file>>;

  ~line_file();
  line_file(const line_file&) = delete;
  auto operator=(const line_file&) -> line_file& = delete;

  /// Queues one line, without its line feed. The line is lost if it cannot be copied for lack of memory. Blocks: only
  /// for a short time.
  void add(std::string_view line) noexcept;
  /// Counts a lost line, which could not be built because memory ran out.
  void lose() noexcept;

  /// The time that the writer waits before it tries again to reopen a file.
  static constexpr std::chrono::milliseconds default_retry{1000};

  /// Reopens the path before the next lines are written, for log rotation by rename. A series continues with a new
  /// file. If reopening fails, lines are written to the previous file, and the writer tries again after `retry`.
  void reopen(std::chrono::milliseconds retry = default_retry);

  /// Returns the outcome of the last attempt to reopen the file.
  [[nodiscard]] auto reopened() noexcept -> reopening& { return reopening_; }
  [[nodiscard]] auto reopened() const noexcept -> const reopening& { return reopening_; }

  /// Returns how many lines were lost.
  [[nodiscard]] auto lost() const -> std::uint64_t { return log_.counts().lost; }
  /// Returns how many lines the system has accepted.
  [[nodiscard]] auto written() const -> std::uint64_t { return log_.counts().written; }

 private:
  friend append_log<line_file>;
  using batch = std::string;
  using counts_type = append_counts;

  line_file(std::filesystem::path path, braid::descriptor file);
  static auto start(std::unique_ptr<line_file> made) -> braid::checked<std::unique_ptr<line_file>>;
  void write(const batch& lines, append_then then);
  void lose(const batch& lines) noexcept;
  [[nodiscard]] auto next_attempt() const -> std::optional<std::chrono::steady_clock::time_point>;
  void write_lines(std::string_view text);
  [[nodiscard]] auto write_whole(std::string_view lines) -> bool;
  void open_anew(reopening::attempt kind);

  std::filesystem::path path_;  // empty for standard error, and for a series
  braid::descriptor file_;      // used by the writing thread; the series replaces it
  std::optional<file_series> series_;
  std::chrono::steady_clock::time_point next_try_;  // used by the writing thread while a reopening is pending
  std::size_t settled_ = 0;  // the number of bytes of the batch that have been counted; used by the writing thread
  std::chrono::milliseconds retry_ = default_retry;  // guarded by the mutex of the log
  reopening reopening_;
  append_log<line_file> log_{*this, {.thread = "lines"}};
};

}  // namespace rankd
