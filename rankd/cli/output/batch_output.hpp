// rankd/cli/output/batch_output.hpp: the output file of a batch, and its saved progress.
#pragma once

#include <rankd/cli/atomic_file.hpp>
#include <rankd/store/line_reader.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// The progress of a batch, as it is saved with the output.
struct batch_progress {
  line_position read;          ///< all requests before this position have been answered
  std::uint64_t answered = 0;  ///< the number of lines that were written for these requests
  std::uint64_t failed = 0;    ///< the number of errors among these lines
};

/// States what to do if an earlier batch with the same output file did not finish.
enum class unfinished : std::uint8_t {
  refuse,
  resume,   ///< continue at the last known position
  restart,  ///< ignore the earlier output
};

/// A file of answers. It is written as OUT.part, and renamed when it is complete. OUT.part.state, next to it, records
/// how much of the output is on the disk, and from which inputs the answers were made. An interrupted batch can be
/// continued only if these inputs have not changed.
/// Threads: a single thread. Blocks: on the disk.
class batch_output {
 public:
  /// Opens the output. `made_from` is a JSON object with everything on which the answers depend. Its names are
  /// readable, because error messages show them. If the path is a symbolic link, the output is the file that the link
  /// points to. An output that is not a regular file is written directly, and the batch cannot be resumed.
  /// Errors: output_unwritable, output_busy (another process writes the file), batch_unfinished (with
  /// unfinished::refuse), resume_mismatch (the message names what has changed), resume_corrupt.
  static auto open(std::filesystem::path out, const nlohmann::json& made_from, unfinished earlier)
      -> braid::checked<batch_output>;
  /// Writes to standard output, which cannot be resumed. Errors: output_unwritable.
  static auto standard_output() -> braid::checked<batch_output>;

  /// Returns the progress at the beginning of this batch. If an earlier batch is continued, this is the progress of
  /// that batch, otherwise 0.
  [[nodiscard]] auto progress() const noexcept -> const batch_progress& { return progress_; }

  /// Appends lines, and regularly flushes them to the disk. `now` is the progress of the batch after these lines.
  /// Errors: output_unwritable; lines that were flushed before are kept.
  auto write(std::string_view lines, const batch_progress& now) -> braid::checked<void>;

  /// Renames the part file to its final name, with the mode of the replaced file. Errors: output_unwritable.
  auto finish() -> braid::checked<void>;

 private:
  explicit batch_output(atomic_file file) : file_(std::move(file)) {}

  auto begin(std::string made_from, unfinished earlier) -> braid::checked<void>;
  auto resume(std::string_view state, const std::string& made_from) -> braid::checked<void>;
  auto save_state() -> braid::result<void>;
  [[nodiscard]] auto failure(std::error_code error) const -> std::unexpected<braid::diagnostics>;
  [[nodiscard]] auto state() const -> std::filesystem::path;

  atomic_file file_;
  batch_progress progress_;
  std::uint64_t bytes_ = 0;       ///< bytes that were written
  std::uint64_t bytes_safe_ = 0;  ///< of these, bytes that are known to be on the disk
  std::string made_from_;
};

}  // namespace rankd
