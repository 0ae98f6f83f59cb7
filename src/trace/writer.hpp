// src/trace/writer.hpp: turns the records of threads into tracks, slices and arrows.
#pragma once

#include "session.hpp"

#include <braid/trace/detail/perfetto.hpp>
#include <braid/trace/detail/symbols.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace braid::detail {

/// The work of the writer thread. Records carry addresses; here they get names, and ticks become nanoseconds.
/// Errors: std::bad_alloc, std::system_error when the file takes no more.
class trace_writer {
 public:
  explicit trace_writer(trace_session& of);
  ~trace_writer();
  trace_writer(const trace_writer&) = delete;
  auto operator=(const trace_writer&) -> trace_writer& = delete;

  /// Writes what threads have noted since the last call. Whether there was anything.
  auto write_new() -> bool;
  /// The same for the last time: what is open is closed.
  void finish();

 private:
  struct thread_state;

  void measure_clock();
  auto drain(thread_state& of) -> bool;
  void encode(thread_state& of, const trace_record& record);
  void encode_task(thread_state& of, trace_kind kind, std::uint64_t when, std::uint64_t number, std::uint32_t state);
  void emit(thread_state& of, std::uint64_t when, const trace_event& what);
  [[nodiscard]] auto is_full() const noexcept -> bool;
  void report_losses(thread_state& of);
  void close_open(thread_state& of, std::uint64_t when);
  void flush();
  auto nanoseconds(std::uint64_t ticks) const noexcept -> std::uint64_t;
  auto name_of_code(std::uint64_t address) -> std::uint32_t;
  auto name_of_text(std::uint64_t address) -> std::uint32_t;
  auto own_name(const char* text) -> std::uint32_t { return name_of_text(trace_number(text)); }
  auto task_track(std::uint64_t number) -> std::uint64_t;
  auto counter_track(std::uint64_t name) -> std::uint64_t;

  trace_session& session_;
  perfetto_writer out_;
  symbol_table symbols_;
  const std::uint64_t first_ticks_;
  const std::uint64_t first_ns_;
  double ns_per_tick_ = 0;  // 0: not yet measured
  std::uint64_t written_ = 0;
  std::uint32_t last_sequence_ = 1;
  std::vector<thread_state*> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;     // by address of code or text
  std::unordered_map<std::uint64_t, std::uint64_t> counters_;  // tracks, by address of the name
  std::unordered_map<std::uint64_t, std::string> task_names_;
  std::unordered_map<std::uint64_t, int> tasks_;  // begun and not ended, of those that have a track
};

}  // namespace braid::detail
