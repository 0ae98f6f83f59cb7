// rankd/server/files/append_log.hpp: a queue of entries, and a thread that writes them to a disk.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/thread.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rankd {

/// The numbers of entries that a log has written and lost.
struct append_counts {
  std::uint64_t written = 0;  ///< entries that the system has accepted
  std::uint64_t lost = 0;     ///< entries for which the queue had no room, or that the system did not accept
};

/// States whether the encoder reopens its file after a batch.
enum class append_then : std::uint8_t { go_on, reopen };

struct append_options {
  std::string thread;                      ///< the name of the writing thread
  std::size_t batch_bytes = 0;             ///< a batch of this many bytes is written at once
  std::chrono::milliseconds max_delay{0};  ///< a smaller batch waits for more entries, but no longer than this
};

/// A queue between threads that must not wait for a disk, and a thread that writes the entries in batches. The encoder
/// defines the format and the files, and decides which entries are lost. It provides:
/// - `batch`, a container of entries in their order, with `empty()`, `size()` in bytes, and `clear()`
/// - `counts_type`, a struct of counters, such as `append_counts`
/// - `write(batch&, append_then)`, which writes the entries, and then reopens the file if requested
/// - `lose(batch&)`, which is called if `write` has thrown for lack of memory. It counts the entries that `write` has
///   not counted
/// - optionally `next_attempt()`, the time at which `write` is called again even if there are no entries
/// Only the writing thread calls the three functions. A log must be the last member of its encoder, so that the thread
/// ends before the members used by the thread are destroyed. Threads: any.
template <typename Encoder>
class append_log {
 public:
  append_log(Encoder& encoder, append_options options) : encoder_(&encoder), options_(std::move(options)) {}
  append_log(const append_log&) = delete;
  auto operator=(const append_log&) -> append_log& = delete;
  ~append_log() { finish(); }

  /// Starts the thread. Errors: those of braid::thread::create.
  auto start() -> braid::result<void>;

  /// Writes all accepted entries, and then ends the thread.
  void finish();

  /// Calls `change(waiting, counts)` under the mutex of the queue. Wakes the thread if there is something new to write.
  /// Blocks: only for a short time.
  template <typename Change>
  void locked(Change change);

  /// Makes the encoder reopen its file after it has written the waiting entries.
  void reopen();

  [[nodiscard]] auto counts() const -> typename Encoder::counts_type {
    const std::scoped_lock lock(mutex_);
    return counts_;
  }

 private:
  using batch = typename Encoder::batch;

  void write_until_end();
  void await_entries(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] auto has_enough() const -> bool {
    return ending_ || reopen_ || waiting_.size() >= options_.batch_bytes;
  }

  Encoder* encoder_;
  append_options options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  batch waiting_;
  typename Encoder::counts_type counts_;
  bool reopen_ = false;
  bool ending_ = false;
  std::optional<braid::thread> thread_;
};

template <typename Encoder>
auto append_log<Encoder>::start() -> braid::result<void> {
  auto made = braid::thread::create({.name = options_.thread, .on_refused = braid::refusal::ignore},
                                    [this] { write_until_end(); });
  if (!made) return braid::fail(made.error());
  thread_.emplace(std::move(*made));
  return {};
}

template <typename Encoder>
void append_log<Encoder>::finish() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.reset();  // joins it
}

template <typename Encoder>
template <typename Change>
void append_log<Encoder>::locked(Change change) {
  bool is_news = false;
  {
    const std::scoped_lock lock(mutex_);
    const bool was_empty = waiting_.empty();
    const bool was_enough = has_enough();
    change(waiting_, counts_);
    is_news = (was_empty && !waiting_.empty()) || (!was_enough && has_enough());
  }
  if (is_news) changed_.notify_one();
}

template <typename Encoder>
void append_log<Encoder>::reopen() {
  {
    const std::scoped_lock lock(mutex_);
    reopen_ = true;
  }
  changed_.notify_one();
}

/// Waits for the first entry, and then a short time for further entries, so that a busy server does not wake the thread
/// for each entry.
template <typename Encoder>
void append_log<Encoder>::await_entries(std::unique_lock<std::mutex>& lock) {
  const auto is_due = [this] { return ending_ || reopen_ || !waiting_.empty(); };
  std::optional<std::chrono::steady_clock::time_point> again;
  if constexpr (requires { encoder_->next_attempt(); }) again = encoder_->next_attempt();
  if (again)
    changed_.wait_until(lock, *again, is_due);
  else
    changed_.wait(lock, is_due);
  changed_.wait_for(lock, options_.max_delay, [this] { return has_enough(); });
}

template <typename Encoder>
void append_log<Encoder>::write_until_end() {
  batch taken;
  for (;;) {
    append_then then = append_then::go_on;
    {
      std::unique_lock lock(mutex_);
      await_entries(lock);
      if (ending_ && waiting_.empty() && !reopen_) return;
      std::swap(taken, waiting_);
      if (std::exchange(reopen_, false)) then = append_then::reopen;
    }
    try {
      encoder_->write(taken, then);
    } catch (...) {  // the thread continues, because there may be memory for the next entries
      encoder_->lose(taken);
    }
    taken.clear();
  }
}

}  // namespace rankd
