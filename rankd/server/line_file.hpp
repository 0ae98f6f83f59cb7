// rankd/server/line_file.hpp: a file that grows by lines, written by a thread of its own.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/thread/thread.hpp>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace rankd {

/// Takes lines from loops, which must not wait for a disk. A disk that is too slow, or full, costs lines, which are
/// counted; what was taken is written before the object is gone.
/// Threads: any.
class line_file {
 public:
  /// How many bytes may wait to be written.
  static constexpr std::size_t max_waiting = std::size_t{16} << 20U;

  /// Appends to `path`, which is made where it is missing, for its owner and group only.
  /// Errors: unwritable_file, no_runtime.
  static auto open(const std::filesystem::path& path) -> braid::checked<std::unique_ptr<line_file>>;
  /// Writes to standard error. Errors: no_runtime.
  static auto standard_error() -> braid::checked<std::unique_ptr<line_file>>;

  ~line_file();
  line_file(const line_file&) = delete;
  auto operator=(const line_file&) -> line_file& = delete;

  /// Takes one line, without its line feed. Blocks: never for long.
  void add(std::string_view line);

  /// Opens the path anew before the next lines, for log rotation by rename. Where that fails, it goes on with the file
  /// that it has.
  void reopen();

  /// How many lines were lost.
  [[nodiscard]] auto lost() const -> std::uint64_t;

 private:
  line_file(std::filesystem::path path, braid::descriptor file);
  static auto start(std::unique_ptr<line_file> made) -> braid::checked<std::unique_ptr<line_file>>;
  void write_until_end();
  void write(std::string_view text);

  std::filesystem::path path_;  // empty for standard error
  braid::descriptor file_;      // of the writing thread

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  std::uint64_t lost_ = 0;
  bool reopen_ = false;
  bool ending_ = false;
  std::optional<braid::thread> writer_;
};

}  // namespace rankd
