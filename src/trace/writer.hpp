// src/trace/writer.hpp: writes the records of threads to the trace file continuously.
#pragma once

#include "encoder.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace braid::detail {

/// Writes the trace of a whole run of the program. Only the writer thread uses this class. Errors: the same as for
/// `trace_encoder`.
class trace_writer {
 public:
  explicit trace_writer(trace_session& traced);
  ~trace_writer();
  trace_writer(const trace_writer&) = delete;
  auto operator=(const trace_writer&) -> trace_writer& = delete;

  /// Writes all records that were added since the last call. Returns whether there were any.
  auto write_new() -> bool;
  /// Writes the remaining records, and ends all tracks.
  void finish();

 private:
  struct thread_state;

  auto drain(thread_state& state) -> bool;
  void commit();
  auto take_name(std::uint64_t task) -> std::string;

  trace_session& session_;
  tick_line line_;
  bool is_measured_ = false;
  symbol_table symbols_;
  trace_encoder out_;
  std::vector<thread_state*> threads_;
  std::unordered_map<std::uint64_t, std::string> task_names_;
};

}  // namespace braid::detail
