// src/trace/session.hpp: declares the trace of the process: the rings of threads, and the thread that writes them to a
// file.
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

/// A record of a thread: a time, the kind of the event, and a number whose meaning depends on the kind.
struct trace_record {
  std::uint64_t when_kind;  ///< ticks << 8 | kind
  std::uint64_t what;
};
static_assert(sizeof(trace_record) == 16);

/// The numbers that show how many records of a thread's ring are already in the trace.
struct ring_state {
  std::uint64_t read = 0;      ///< the number of records in the trace
  std::uint64_t lost = 0;      ///< the number of records that the trace reports as missing
  std::uint64_t open = 0;      ///< the number of slices without an end
  std::uint64_t last_ns = 0;   ///< the time of its last event
  std::uint64_t hidden = 0;    ///< the number of nested slices for which the trace had no room
  std::uint32_t sequence = 0;  ///< the thread's sequence in the trace; 0: the trace contains nothing of the thread
};

/// The ring of records of one thread, and the name of the thread's track.
struct thread_ring {
  // docs/design/constants.md explains how this value was chosen.
  static constexpr std::size_t capacity = std::size_t{1} << 16U;  // the number of records; they need a megabyte

  record_ring<trace_record, capacity> records;
  ::pid_t thread;
  std::array<char, 16> name;  ///< written by the thread when it ends, and, in a file, when it begins
  atomic<bool> ended;         ///< set by the thread when it ends
  // The members below are used only if the trace is written to a file.
  atomic<std::uint32_t> is_open;     ///< 1 while a thread uses the ring, or the trace lacks records of it
  std::uint64_t place;               ///< the index of the ring in the file
  std::array<ring_state, 2> states;  ///< one is valid; the writer prepares the other one
};

/// The names of tasks that have begun, each with the number of the task.
using task_names = std::vector<std::pair<std::uint64_t, std::string>>;

/// A clock of ticks: the time-stamp counter if it runs at a constant rate, or else nanoseconds.
class trace_clock {
 public:
  trace_clock() noexcept;
  [[nodiscard]] auto ticks() const noexcept -> std::uint64_t;

 private:
  bool is_counter_even_;
};

/// Returns the nanoseconds since the machine started, which is the time axis of Perfetto's tracks.
[[nodiscard]] auto boot_nanoseconds() noexcept -> std::uint64_t;

class ring_file;

/// A request for the trace of the last seconds: its reason, its time, and whether a thread waits for the bytes.
struct save_request {
  std::string reason;
  std::uint64_t ticks;
  std::uint64_t ns;
  std::uint64_t span_ns = 0;                            // the requested span; 0: all
  std::optional<std::promise<std::string>> bytes = {};  // set if a thread waits for the bytes; no file is written then
};

/// Registers a name that was created at run time.
/// Threads: any. Blocks: for a lock, if the rings are in a file.
void note_trace_name(const char* text) noexcept;

/// Implements `trace::last`.
[[nodiscard]] auto read_last_of_trace(std::uint64_t span_ns) -> result<std::string>;

/// The trace of the process, from the loading of the library to the end of the process. It is never destroyed, because
/// threads that still run after `finish` may have read `trace_is_on` before `finish`.
/// Threads: any; `finish` is called only by the thread that ends the process.
class trace_session {
 public:
  /// Creates the session. `rings` is the ring file, or null if the rings are in private memory.
  trace_session(trace_settings settings, int file, std::unique_ptr<ring_file> rings) noexcept;
  trace_session(const trace_session&) = delete;
  auto operator=(const trace_session&) -> trace_session& = delete;

  /// Starts the writer thread. Returns false if the system cannot create a thread.
  [[nodiscard]] auto start() -> bool;
  /// Completes the file. Blocks: until all records of the threads are written.
  void finish() noexcept;
  /// Closes the file in the child of a fork, because the trace belongs to the parent.
  void forget() noexcept;

  [[nodiscard]] auto settings() const noexcept -> const trace_settings& { return settings_; }
  [[nodiscard]] auto clock() const noexcept -> const trace_clock& { return clock_; }

  /// Returns a ring for the calling thread, or null if the allocation fails.
  [[nodiscard]] auto open_ring() noexcept -> thread_ring*;
  void add_task(std::uint64_t number, std::string_view name);
  /// Registers a name that was created at run time.
  void add_name(const char* text) noexcept;

  /// Requests a file with the last seconds, which the writer thread writes soon. Blocks: for a lock. Errors:
  /// std::bad_alloc.
  void save(std::string_view reason);
  /// Returns the contents of a trace file that covers the last `span_ns` nanoseconds.
  /// Blocks: until the writer has created the contents. Errors: errc::closed if the writer has ended; std::bad_alloc.
  [[nodiscard]] auto read_last(std::uint64_t span_ns) -> result<std::string>;
  /// Does the same as `save`, but may be called by a signal handler.
  void save_for_signal() noexcept;

  // --- functions for the writer thread ---

  [[nodiscard]] auto take_rings() -> std::vector<thread_ring*>;
  [[nodiscard]] auto take_tasks() -> task_names;
  /// Appends bytes to the file. Returns false if the file accepts no more; the trace then ends.
  [[nodiscard]] auto write(std::string_view bytes) noexcept -> bool;
  /// Returns the ring file, or null if there is none.
  [[nodiscard]] auto rings() noexcept -> ring_file* { return rings_.get(); }
  /// Commits the state of all rings to the ring file. Called when all records that the rings count as read are in the
  /// trace file.
  void commit_rings() noexcept;
  /// Closes the ring of a thread that has ended, once all records of the thread are in the trace.
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
  atomic<std::uint32_t> calls_{0};      // a futex: its change wakes the writer
  atomic<std::uint32_t> signalled_{0};  // the number of files that signals have requested
  std::mutex lock_;                     // guards all members below
  std::vector<thread_ring*> new_rings_;
  task_names new_tasks_;
  const std::unique_ptr<ring_file> rings_;
  std::uint64_t written_ = 0;           // the number of bytes; used by the writer
  std::vector<save_request> requests_;  // requests for the last seconds
  bool has_ended_ = false;              // the writer has ended, and answers no more requests
};

}  // namespace braid::detail
