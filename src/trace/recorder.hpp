// src/trace/recorder.hpp: declares the flight recorder, which stores the trace of the last seconds, and writes it to a
// file on request.
#pragma once

#include "encoder.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace braid::detail {

/// The flight recorder. The writer thread uses it if only the last seconds of the trace are stored. Records stay
/// unchanged in memory until a file is requested. When records are dropped, the recorder remembers which slices they
/// have left open, and the states of tasks. So a file also contains the start of everything that was in progress.
/// Threads: one at a time. Errors: std::bad_alloc.
class flight_recorder {
 public:
  explicit flight_recorder(trace_session& session);
  flight_recorder(const flight_recorder&) = delete;
  auto operator=(const flight_recorder&) -> flight_recorder& = delete;

  /// Moves all new records from the rings of threads, and drops records that are too old at the time `now`, which is in
  /// ticks. Returns whether there were new records.
  auto take_new(std::uint64_t now) -> bool;
  /// Writes the next of the files FILE.1 to FILE.10; after FILE.10, the next file is FILE.1 again. Reports the file on
  /// stderr. Ignores a request during the time that the last file covers, unless `by_hand`. `asked_ns` is the time of
  /// the request, in the nanoseconds of `boot_nanoseconds`. The caller passes this time because the writer may process
  /// the request late.
  void save(std::string_view reason, std::uint64_t asked_ns, bool by_hand);
  /// Returns the contents of a trace file that covers the `span_ns` nanoseconds before the time `asked`, which is in
  /// ticks.
  [[nodiscard]] auto read(std::string_view reason, std::uint64_t asked, std::uint64_t span_ns) -> std::string;

 private:
  using chunk = std::vector<trace_record>;
  struct begun_slice {
    std::uint64_t subject;
    trace_record record;
  };
  struct past {                 // the state of a thread after its earlier records
    std::uint64_t subject = 0;  // the subject of the next record
    std::vector<begun_slice> open;
  };
  struct thread_state {
    thread_ring* ring = nullptr;  // null once the thread has ended
    ::pid_t id = 0;
    std::string name;          // set once the thread has ended
    std::deque<chunk> chunks;  // never contains an empty chunk
    past dropped;
    std::uint64_t lost = 0;
    std::uint64_t lost_saved = 0;
  };
  struct task_state {
    std::uint64_t ticks;
    std::uint64_t number;
    trace_kind kind;
    std::uint64_t wait;
  };
  using task_states = std::unordered_map<std::uint64_t, task_state>;  // states by the number of the task
  struct thread_part {  // the part of a thread that a file contains: its records from a position on
    thread_state* of;
    past before;
    std::size_t chunk = 0;
    std::size_t record = 0;  // the index within that chunk
    bool is_all = true;      // the file contains all kept records
  };

  auto drain(thread_state& state) -> bool;
  void drop_old(std::uint64_t now);
  void drop_first(thread_state& state, std::vector<task_state>& tasks);
  static void pass(std::span<const trace_record> records, past& state, std::vector<task_state>& tasks);
  static void merge(std::vector<task_state> tasks, task_states& into);
  void keep_states(std::vector<task_state> tasks, std::uint64_t now);
  auto write_file(const std::string& path, std::string_view reason) -> std::uint64_t;
  static auto part_from(thread_state& state, std::optional<std::uint64_t> from, std::vector<task_state>& tasks)
      -> thread_part;
  [[nodiscard]] static auto find_first(const thread_part& part) -> const trace_record*;
  void encode(trace_encoder& encoder, std::string_view reason, std::optional<std::uint64_t> from);
  void encode_thread(trace_encoder& encoder, trace_encoder::thread& out, const thread_part& part);
  [[nodiscard]] auto name_of(std::uint64_t task) -> std::string;

  trace_session& session_;
  tick_line line_;
  bool is_measured_ = false;
  symbol_table symbols_;
  std::uint64_t kept_ = 0;       // the number of kept records
  std::uint64_t forget_at_ = 0;  // when old states of ended tasks are dropped next, in ticks
  std::vector<std::unique_ptr<thread_state>> threads_;
  task_states states_;                                    // the states of tasks after the dropped records
  std::unordered_map<std::uint64_t, std::string> names_;  // the names of tasks that were not dropped completely
  std::uint64_t files_ = 0;
  std::uint64_t quiet_until_ns_ = 0;
};

}  // namespace braid::detail
