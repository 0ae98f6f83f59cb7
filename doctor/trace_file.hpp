// doctor/trace_file.hpp: parses a file that BRAID_TRACE has written: the slices of threads, and the arrows between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace braid::doctor {

/// The value of an index if there is no slice.
inline constexpr std::size_t no_slice = ~std::size_t{0};

/// A point in time on a thread.
struct trace_place {
  std::size_t thread = 0;        ///< position in `trace_file::threads`
  std::uint64_t when = 0;        ///< the time in nanoseconds
  std::size_t slice = no_slice;  ///< the innermost slice that is open there: an index in `recorded_thread::slices`
};

/// A slice of a thread, with a beginning and an end. Slices of one thread are nested.
struct recorded_slice {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t parent = no_slice;
  std::uint32_t name = 0;   ///< position in `trace_file::names`
  std::uint64_t cause = 0;  ///< the number of the arrow that ends at its begin: odd for a wait, even for a job

  [[nodiscard]] auto is_job() const noexcept -> bool { return cause != 0 && cause % 2 == 0; }
  [[nodiscard]] auto is_coroutine() const noexcept -> bool { return cause % 2 == 1; }
};

struct recorded_thread {
  std::string name;
  std::vector<recorded_slice> slices;            ///< sorted by begin
  std::map<std::uint64_t, std::uint64_t> woken;  ///< the times of wakes, with the numbers of the workers

  /// Returns the innermost slice that contains the point in time `time`.
  [[nodiscard]] auto innermost(std::uint64_t time) const noexcept -> std::size_t;
};

/// The point at which a coroutine began to wait.
struct recorded_wait {
  trace_place at;
  std::uint32_t name = 0;
  std::uint64_t due = 0;  ///< nanoseconds until its timer; 0 if it has none
};

/// An activity, such as a request of rankd, or a spawned task. Each activity has a track of its own.
struct recorded_track {
  std::string name;
  trace_place first;  ///< the place at which it began
  trace_place last;   ///< the place at which it ended
  bool is_activity = false;
  std::int64_t open = 0;  ///< the number of states without an end, in a trace that was cut
};

struct trace_file {
  std::vector<std::string> names;
  std::vector<recorded_thread> threads;
  std::unordered_map<std::uint64_t, recorded_track> tracks;
  // The starting points of arrows. The key is the number of the arrow, whose points are in the order of their times.
  std::unordered_map<std::uint64_t, std::vector<trace_place>> posts;
  std::unordered_map<std::uint64_t, std::vector<trace_place>> readies;
  std::unordered_map<std::uint64_t, std::vector<trace_place>> wakes;
  std::unordered_map<std::uint64_t, std::vector<recorded_wait>> waits;
  std::uint64_t lost = 0;  ///< the number of records that are missing in the trace
  bool is_cut = false;     ///< the file ends within a packet, as after the program was killed
  bool has_paths = false;  ///< the paths of requests were added to it
};

/// The number of the first track that `braid-doctor trace --tracks` adds. This number is larger than all numbers that
/// the writer of traces uses.
inline constexpr std::uint64_t first_path_track = std::uint64_t{1} << 60U;
inline constexpr std::uint32_t first_path_sequence = 0x7000'0000;

/// Returns the bytes of a file.
/// Errors: std::system_error with the path.
auto read_trace(const std::string& file) -> std::string;

/// Parses the bytes of a trace.
/// Errors: std::runtime_error with a message if the bytes are not a trace.
auto parse_trace(std::string_view bytes) -> trace_file;

}  // namespace braid::doctor
