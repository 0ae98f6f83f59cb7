// src/trace/encoder.hpp: converts the records of threads to the tracks, slices and arrows of a trace file.
#pragma once

#include "session.hpp"

#include <braid/trace/detail/perfetto.hpp>
#include <braid/base/detail/symbols.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sys/types.h>

namespace braid::detail {

/// A linear conversion of ticks to nanoseconds since the machine started. The offset is measured only once, so that a
/// measurement error shifts all times equally.
class tick_line {
 public:
  explicit tick_line(const trace_clock& clock) noexcept : first_ticks_(clock.ticks()), first_ns_(boot_nanoseconds()) {}
  /// Creates the conversion from values that another process has measured and stored.
  tick_line(std::uint64_t first_ticks, std::uint64_t first_ns, double ns_per_tick) noexcept
      : first_ticks_(first_ticks), first_ns_(first_ns), ns_per_tick_(ns_per_tick) {}

  /// Measures the speed of the clock since construction, which is usually ten milliseconds ago, or less in a short
  /// program.
  /// Blocks: for a millisecond if less than that has passed since construction.
  void measure(const trace_clock& clock);
  [[nodiscard]] auto nanoseconds(std::uint64_t ticks) const noexcept -> std::uint64_t;
  /// Restarts the conversion at the current time, with the speed measured since construction, because clocks drift
  /// apart over days.
  void move_to_now(const trace_clock& clock) noexcept;
  /// Returns the number of ticks in `nanoseconds`.
  [[nodiscard]] auto ticks_in(std::uint64_t nanoseconds) const noexcept -> std::uint64_t;

  [[nodiscard]] auto first_ticks() const noexcept -> std::uint64_t { return first_ticks_; }
  [[nodiscard]] auto first_ns() const noexcept -> std::uint64_t { return first_ns_; }
  [[nodiscard]] auto ns_per_tick() const noexcept -> double { return ns_per_tick_; }

 private:
  std::uint64_t first_ticks_;
  std::uint64_t first_ns_;
  std::uint64_t made_ticks_ = first_ticks_;
  std::uint64_t made_ns_ = first_ns_;
  double ns_per_tick_ = 0;  // 0: not yet measured
};

/// Data about a process that has ended and whose trace must be completed.
struct left_process {
  std::uint64_t id = 0;
  std::function<std::string(std::uint64_t address)> text_at;    ///< returns the text of a name
  std::unordered_map<std::uint64_t, std::int64_t> open_states;  ///< the open states by the track of a task
};

/// The destination of the bytes of a trace.
struct trace_output {
  std::string file;         ///< the name in messages
  std::uint64_t max_bytes;  ///< beyond this size, only ends of slices are written
  std::function<bool(std::string_view bytes)> write;
  std::function<std::string(std::uint64_t task)> take_name;  ///< returns the name of a task, or an empty string
  std::string process_name = {};                             ///< if empty, the system's name of the process
  std::optional<left_process> of = {};                       ///< the traced process, if it is not this one
};

/// Encodes records as Perfetto events. Replaces the addresses in records by names, and ticks by nanoseconds.
/// Threads: one at a time. Errors: std::bad_alloc; std::system_error if the file accepts no more data.
class trace_encoder {
 public:
  /// The state of the encoder for one thread.
  struct thread {
    perfetto_writer::sequence sequence;
    std::uint64_t subject = 0;    // the subject of the next record
    std::uint64_t open = 0;       // the number of slices in the file without an end
    std::uint64_t hidden = 0;     // the number of nested slices that the full file does not contain
    std::uint64_t lost_here = 0;  // the number of records for which the file had no room

    [[nodiscard]] auto has_begun() const noexcept -> bool { return sequence.id != 0; }
  };

  trace_encoder(trace_output to, const tick_line& line, symbol_table& symbols);

  /// Begins the track of a thread. Called before the thread's first record.
  void begin(thread& thread, ::pid_t id, std::string_view name, std::uint64_t ticks);
  void add(thread& thread, const trace_record& record);
  /// Continues the track of a thread of which the file already contains the beginning. Called instead of `begin` for
  /// this thread, and before `begin` is called for any other thread.
  void go_on(thread& thread, const ring_state& from);
  /// Begins the track of a task whose first records were dropped. `kind` and `wait` describe its state before the first
  /// remaining record.
  void begin_task(thread& thread, std::uint64_t ticks, std::uint64_t number, trace_kind kind, std::uint64_t wait);
  void mark(thread& thread, std::uint64_t ns, std::string text);
  /// Writes into the file that `records` records of the thread are missing before this point.
  void lost(thread& thread, std::uint64_t records);
  void end(thread& thread, std::uint64_t ns);
  /// Ends the tracks of all tasks that are still open. The events are written to the sequence of `thread`, which may be
  /// any thread.
  void end_tasks(thread& thread, std::uint64_t ns);
  void flush();
  [[nodiscard]] auto is_full() const noexcept -> bool { return written_ >= output_.max_bytes; }

 private:
  void task(thread& thread, trace_kind kind, std::uint64_t time, std::uint64_t number, std::uint32_t state);
  void emit(thread& thread, std::uint64_t time, const trace_event& event);
  auto find_state(trace_kind kind, std::uint64_t wait) -> std::uint32_t;
  auto name_of_code(std::uint64_t address) -> std::uint32_t;
  auto name_of_text(std::uint64_t address) -> std::uint32_t;
  auto own_name(const char* literal) -> std::uint32_t;
  [[nodiscard]] auto text_at(std::uint64_t address) const -> std::string;
  auto task_track(std::uint64_t number) -> std::uint64_t;
  auto counter_track(std::uint64_t name) -> std::uint64_t;

  trace_output output_;
  std::uint64_t process_;
  const tick_line& line_;
  perfetto_writer out_;
  symbol_table& symbols_;
  std::uint64_t written_ = 0;
  std::uint32_t last_sequence_ = 1;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;     // numbers of names by the address of code or text
  std::unordered_map<const char*, std::uint32_t> own_names_;   // numbers of the encoder's own names
  std::unordered_map<std::uint64_t, std::uint64_t> counters_;  // tracks by the address of the counter's name
  std::unordered_map<std::uint64_t, std::int64_t> tasks_;      // tasks with a track that have begun and not ended
};

/// Returns the name of a thread. The name of an ended thread is read from its ring, and the name of a running thread
/// from the system.
[[nodiscard]] auto thread_name(const thread_ring& ring, bool has_ended) -> std::string;

}  // namespace braid::detail
