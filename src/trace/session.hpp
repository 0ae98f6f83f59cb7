// src/trace/session.hpp: the trace of the process: rings of threads, and the thread that writes them.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/trace/detail/hooks.hpp>
#include <braid/trace/detail/record_ring.hpp>
#include <braid/trace/detail/settings.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

namespace braid::detail {

/// A record of a thread: a time, a kind of event, and a number that describes it.
struct trace_record {
  std::uint64_t when_kind;  ///< ticks << 8 | kind
  std::uint64_t what;
};
static_assert(sizeof(trace_record) == 16);

/// The part of a ring that is in the trace.
struct ring_state {
  std::uint64_t read = 0;      ///< records
  std::uint64_t lost = 0;      ///< records that it says are missing
  std::uint64_t open = 0;      ///< slices without an end
  std::uint64_t last_ns = 0;   ///< when its last event was
  std::uint64_t hidden = 0;    ///< slices inside of those, for which the trace had no room
  std::uint32_t sequence = 0;  ///< of the thread in the trace; 0: it has nothing of it
};

/// The ring of one thread, with what its track is called.
struct thread_ring {
  static constexpr std::size_t capacity = std::size_t{1} << 16U;  // records: a megabyte

  record_ring<trace_record, capacity> records;
  ::pid_t thread;
  std::array<char, 16> name;  ///< written by the thread when it ends, and, in a file, when it begins
  atomic<bool> ended;         ///< set by the thread when it ends
  // Used only if the trace goes to a file:
  atomic<std::uint32_t> is_open;     ///< 1 while a thread has it, or the trace lacks some of it
  std::uint64_t place;               ///< in the file
  std::array<ring_state, 2> states;  ///< one counts; the writer prepares the other one
};

/// Names of tasks that have begun, by number.
using task_names = std::vector<std::pair<std::uint64_t, std::string>>;

/// Ticks of the time-stamp counter if it runs at a constant rate; otherwise nanoseconds.
class trace_clock {
 public:
  trace_clock() noexcept;
  [[nodiscard]] auto ticks() const noexcept -> std::uint64_t;

 private:
  bool is_counter_even_;
};

/// Returns the time since the machine started, which Perfetto's tracks are drawn by.
[[nodiscard]] auto boot_nanoseconds() noexcept -> std::uint64_t;

class ring_file;

/// Why and when a file of the last seconds was asked for, or its bytes.
struct save_request {
  std::string reason;
  std::uint64_t ticks;
  std::uint64_t ns;
  std::uint64_t span_ns = 0;                            // so much is wanted; 0: all
  std::optional<std::promise<std::string>> bytes = {};  // for a thread that waits for them, instead of a file
};

/// Registers a name that was created at run time.
/// Threads: any. Blocks: for a lock, if rings are in a file.
void note_trace_name(const char* text) noexcept;

/// Implements `trace::last`.
[[nodiscard]] auto read_last_of_trace(std::uint64_t span_ns) -> result<std::string>;

/// Returns whether everything was written.
[[nodiscard]] auto write_whole(int file, std::string_view bytes) noexcept -> bool;

/// The trace of the process, from the load of the library to the end of the process. Never destroyed, because threads
/// that outlive `finish` may have read `trace_is_on` before.
/// Threads: any, except `finish`, which the thread calls that ends the process.
class trace_session {
 public:
  /// `rings` is null if the rings are in memory.
  trace_session(trace_settings settings, int file, std::unique_ptr<ring_file> rings) noexcept;
  trace_session(const trace_session&) = delete;
  auto operator=(const trace_session&) -> trace_session& = delete;

  /// Starts the writer thread. Returns false if the system refuses it.
  [[nodiscard]] auto start() -> bool;
  /// Completes the file. Blocks: until what the threads have noted is written.
  void finish() noexcept;
  /// Called in the child of a fork: the file belongs to the parent.
  void forget() noexcept;

  [[nodiscard]] auto settings() const noexcept -> const trace_settings& { return settings_; }
  [[nodiscard]] auto clock() const noexcept -> const trace_clock& { return clock_; }

  /// Returns a ring for the calling thread; null out of memory.
  [[nodiscard]] auto open_ring() noexcept -> thread_ring*;
  void add_task(std::uint64_t number, std::string_view name);
  /// Registers a name that was created at run time.
  void add_name(const char* text) noexcept;

  /// Requests that the writer writes the last seconds soon. Blocks: for a lock. Errors: std::bad_alloc.
  void save(std::string_view reason);
  /// Returns the bytes of a file of the last `span_ns`.
  /// Blocks: until the writer has created them. Errors: errc::closed if the writer has ended; std::bad_alloc.
  [[nodiscard]] auto read_last(std::uint64_t span_ns) -> result<std::string>;
  /// Does the same as `save`, from a signal handler.
  void save_for_signal() noexcept;

  // --- the writer ---

  [[nodiscard]] auto take_rings() -> std::vector<thread_ring*>;
  [[nodiscard]] auto take_tasks() -> task_names;
  /// Returns false if the file accepts no more; the trace then ends.
  [[nodiscard]] auto write(std::string_view bytes) noexcept -> bool;
  /// Returns the file of the rings, or null.
  [[nodiscard]] auto rings() noexcept -> ring_file* { return rings_.get(); }
  /// All that has been written holds what the rings say has been read.
  void commit_rings() noexcept;
  /// Closes the ring of a thread that has ended, once all of its records are in the trace.
  void close_ring(thread_ring* ring) noexcept;

 private:
  static auto run_writer(void* self) -> void*;
  void write_until_stopped() noexcept;
  void write_all();
  void keep_last();
  void refuse_requests() noexcept;
  void remove_lock() const noexcept;
  template <typename Step>
  void step_until_stopped(const Step& step);
  void wake_writer() noexcept;

  const trace_settings settings_;
  int file_;
  const trace_clock clock_;
  ::pthread_t writer_{};
  atomic<bool> stop_{false};            // set by `finish`
  atomic<std::uint32_t> calls_{0};      // changes if the writer, which waits for it, has something to do
  atomic<std::uint32_t> signalled_{0};  // files that signals have asked for
  std::mutex lock_;                     // around what follows
  std::vector<thread_ring*> new_rings_;
  task_names new_tasks_;
  const std::unique_ptr<ring_file> rings_;
  std::uint64_t written_ = 0;           // bytes; the writer's
  std::vector<save_request> requests_;  // for the last seconds
  bool has_ended_ = false;              // the writer has ended, and answers no more requests
};

}  // namespace braid::detail
