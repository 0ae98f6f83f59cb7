// rankd/server/events/event_log.hpp: a write-ahead log for events, with group commit. Each event is logged once.
#pragma once

#include <rankd/server/files/append_log.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/task/future.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rankd {

/// A position in a log: a file, and a number of bytes in this file.
struct event_position {
  unsigned file = 0;  ///< the number of the file; 0 stands for the position before the first file
  std::uint64_t bytes = 0;

  auto operator<=>(const event_position&) const = default;
};

struct event_log_options {
  std::filesystem::path folder;
  std::uint64_t max_bytes = std::uint64_t{64} << 20U;  ///< the maximum size of a file, after which the next file begins
  std::chrono::milliseconds window = std::chrono::hours(1);  ///< the time during which an event_id counts once
  /// The maximum number of event ids that are remembered to detect repeated events. The oldest ids are forgotten first.
  std::size_t max_ids = std::size_t{1} << 20U;
  std::size_t max_waiting = std::size_t{16} << 20U;  ///< bytes that wait to be written
  /// Receives the changes that written events cause by rules, and the position after these events in the log. The list
  /// of changes may be empty. Called by the writing thread, before the events are reported as written.
  std::function<void(std::vector<rule_step>, event_position)> on_written = {};
  /// Called after the last call of `on_written`, while the folder is still locked.
  std::function<void()> on_end = {};
  std::function<int(int)> sync = {};  ///< replaces fdatasync(2)
  /// Receives messages about damaged lines (`events_damaged`), removed bytes (`events_cut`), and files that have
  /// disappeared (`events_misplaced`) or returned (`events_back`).
  serve_log log = {};
};

/// The result of a call that sends events.
struct event_outcome {
  enum class result_kind : std::uint8_t {
    written,  ///< the events are on the disk
    full,     ///< too many events wait for the disk; nothing was accepted
    failed,   ///< the disk did not write the events, or may not have written them
  };

  result_kind result = result_kind::written;
  std::size_t accepted = 0;
  std::size_t duplicates = 0;  ///< events that are already in the log, or that occur twice in the call
};

struct event_counts {
  std::uint64_t accepted = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t refused = 0;  ///< events of calls that exceeded the queue
  std::uint64_t failed = 0;   ///< events that the disk did not write
  std::uint64_t syncs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t forgotten = 0;  ///< ids that were forgotten too early, because there were too many
};

/// A log of events in a folder of files `events-000001.ndjson`, … A line is an event with its checksum. Events are
/// synced before they are reported as written. One sync serves many calls: events that arrive while the disk is busy
/// form the next group. After a crash, opening the log removes a partial line at the end, and reads the ids of the last
/// `window` from the files. If there are undamaged lines after a damaged one, the file stays unchanged, and the log
/// continues in another file. If the folder, its file `lock` or the current file is deleted, moved or replaced, all
/// calls fail until the files are back. Otherwise, events might be written to files that nobody can find, or another
/// process might write to the log as well.
/// Threads: any. Lifetime: the file of `event_log_options::log` outlives it.
class event_log {
 public:
  /// Opens the log. Creates the folder, accessible to owner and group only, if it does not exist. Blocks: on the disk.
  /// Errors: unwritable_file, folder_in_use if another process writes there, no_runtime.
  static auto open(event_log_options options) -> braid::checked<std::unique_ptr<event_log>>;

  /// Writes all accepted events, and closes the log.
  ~event_log();
  event_log(const event_log&) = delete;
  auto operator=(const event_log&) -> event_log& = delete;

  /// Accepts the events of a call that arrived at `now`: either all events, or no event. Blocks: only for a short time.
  auto add(const std::vector<event>& events, const event_rules& rules, std::chrono::milliseconds now)
      -> braid::future<event_outcome>;

  [[nodiscard]] auto counts() const -> event_counts { return log_.counts(); }

 private:
  friend append_log<event_log>;
  using counts_type = event_counts;
  struct waiter {
    braid::promise<event_outcome> done;
    event_outcome outcome;
  };
  /// The events that one sync makes durable.
  struct batch {
    std::string bytes;
    std::vector<std::string> ids;
    std::vector<rule_step> steps;
    std::vector<waiter> waiters;

    [[nodiscard]] auto empty() const noexcept -> bool { return waiters.empty(); }
    [[nodiscard]] auto size() const noexcept -> std::size_t { return bytes.size(); }
    void clear() { *this = {}; }
  };

  /// The sizes of the waiting group and of `ages_`, which `take_back` restores if an allocation fails.
  struct queue_sizes {
    std::size_t bytes = 0;
    std::size_t ids = 0;
    std::size_t steps = 0;
    std::size_t ages = 0;
  };

  explicit event_log(event_log_options options) : options_(std::move(options)) {}
  auto start() -> braid::checked<void>;
  auto recover(std::chrono::milliseconds now) -> braid::checked<void>;
  [[nodiscard]] auto open_file(unsigned number) noexcept -> bool;
  [[nodiscard]] auto find_path(unsigned number) const -> std::filesystem::path;
  void forget(std::chrono::milliseconds now, event_counts& counts);
  void write(batch& taken, append_then then);
  void lose(batch& taken) noexcept;
  void count(std::vector<rule_step> steps) noexcept;
  [[nodiscard]] auto cut() -> bool;
  [[nodiscard]] auto write_in_place(std::string_view bytes) -> bool;
  [[nodiscard]] auto append(std::string_view bytes) -> bool;
  [[nodiscard]] auto is_in_place() noexcept -> bool;
  auto take(const event& one, const std::string& line, const event_rules& rules, std::chrono::milliseconds now,
            batch& waiting) -> bool;
  void take_back(const queue_sizes& before, batch& waiting) noexcept;
  void settle(batch& taken, event_outcome::result_kind result) noexcept;
  void drop(const batch& taken, event_counts& counts);

  event_log_options options_;
  braid::descriptor lock_;
  braid::descriptor file_;  // only the writing thread uses this member and the next members
  std::uint64_t size_ = 0;  // bytes that are known to be on the disk
  unsigned number_ = 0;
  bool is_misplaced_ = false;  // whether the file or the lock was deleted or moved
  // True if the file may end with events that were not reported as written, or if syncing the file has failed.
  bool is_broken_ = false;

  std::unordered_set<std::string> ids_;  // the mutex of the log guards this member and the next
  // The ids in `ids_` with their times, oldest first.
  std::deque<std::pair<std::chrono::milliseconds, std::string>> ages_;
  bool is_open_ = false;
  append_log<event_log> log_{*this, {.thread = "events"}};
};

/// Returns a line of the log without its checksum, or nothing if the checksum is wrong.
[[nodiscard]] auto checked_event_line(std::string_view line) -> std::optional<std::string>;

/// Returns the number of a log file, or 0 if the file is not a log file.
[[nodiscard]] auto event_file_number(const std::filesystem::path& file) -> unsigned;

/// Returns the files of a log in the order of their numbers. Blocks: on the disk.
[[nodiscard]] auto event_files(const std::filesystem::path& folder) -> std::vector<std::filesystem::path>;

}  // namespace rankd
