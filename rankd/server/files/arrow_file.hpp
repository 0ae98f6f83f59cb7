// rankd/server/files/arrow_file.hpp: writes captured rows to a series of Arrow IPC files on a separate thread.
#pragma once

#include <rankd/server/files/append_log.hpp>
#include <rankd/server/sinks/captured_copy.hpp>
#include <rankd/server/files/file_series.hpp>
#include <rankd/server/files/reopening.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rankd {

/// A writer of captured rows. Loops pass rows to the writer, and a separate thread writes the rows in batches, because
/// a loop must not wait for a disk. If the disk is too slow or full, row sets are lost and counted. Accepted rows are
/// written before the object is destroyed. A file has one schema, so rows with a new column begin a new file. A file is
/// created when its first batch is written. It ends with `arrow_end`, unless the process was killed.
/// Threads: any.
class arrow_file {
 public:
  struct options {
    file_series::options series = {};
    std::size_t batch_bytes = std::size_t{1} << 20U;  ///< a batch of this many bytes is written at once
    std::chrono::milliseconds max_delay{
        1000};  ///< a smaller batch is written at the latest this long after its first rows arrived
  };

  /// The maximum number of bytes that wait to be written.
  static constexpr std::size_t max_waiting = std::size_t{16} << 20U;

  /// Creates the folder if it does not exist. Errors: unwritable_file, no_runtime.
  static auto open(options options) -> braid::checked<std::unique_ptr<arrow_file>>;

  ~arrow_file();
  arrow_file(const arrow_file&) = delete;
  auto operator=(const arrow_file&) -> arrow_file& = delete;

  /// Queues a row set. Blocks: only for a short time.
  void add(captured_copy rows);
  /// Counts a lost row set, which could not be copied because memory ran out.
  void lose() noexcept;

  /// Writes the waiting rows, and continues with a new file. If no new file can be opened, rows are written to the
  /// previous file, and the writer tries again with each further batch.
  void reopen() { log_.reopen(); }

  /// Returns the outcome of the last attempt to open a new file.
  [[nodiscard]] auto reopened() noexcept -> reopening& { return reopening_; }
  [[nodiscard]] auto reopened() const noexcept -> const reopening& { return reopening_; }

  /// Returns how many row sets were lost.
  [[nodiscard]] auto lost() const -> std::uint64_t { return log_.counts().lost; }
  /// Returns how many row sets the system has accepted.
  [[nodiscard]] auto written() const -> std::uint64_t { return log_.counts().written; }

 private:
  friend append_log<arrow_file>;
  struct batch {
    std::vector<captured_copy> sets;
    std::size_t bytes = 0;

    [[nodiscard]] auto empty() const noexcept -> bool { return sets.empty(); }
    [[nodiscard]] auto size() const noexcept -> std::size_t { return bytes; }
    void clear() { *this = {}; }
  };
  using counts_type = append_counts;

  arrow_file(file_series files, options options);
  void write(const batch& taken, append_then then);
  void lose(const batch& taken) noexcept;
  void write_batch(std::span<const captured_copy> sets);
  [[nodiscard]] auto make_room(std::size_t bytes) -> bool;

  options options_;
  file_series files_;               // only the writing thread uses this member and the next members
  std::vector<captured_key> keys_;  // columns of all rows so far
  std::vector<captured_key> keys_of_file_;
  bool is_ended_ = false;    // whether the next batch must begin a new file
  std::size_t settled_ = 0;  // the number of row sets of the batch that have been counted
  reopening reopening_;
  append_log<arrow_file> log_;
};

}  // namespace rankd
