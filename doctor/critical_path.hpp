// doctor/critical_path.hpp: finds what a request waited for, by following the wake-ups in a trace.
#pragma once

#include <doctor/trace_file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::doctor {

/// A part of a trace with a beginning and an end: a request of rankd, an activity, a task or a span.
struct traced_request {
  std::string name;
  trace_place first;
  trace_place last;

  [[nodiscard]] auto length() const noexcept -> std::uint64_t { return last.when - first.when; }
};

/// The reason why a request had not ended yet during a step of its critical path.
enum class path_kind : std::uint8_t {
  cpu,      ///< a thread ran the request, or the work for which it waited
  queued,   ///< the request was ready, but no thread had started it
  io,       ///< the request waited for the kernel or a server
  lock,     ///< the request waited for a semaphore that another task held
  timer,    ///< the request waited for a sleep or a timeout
  blocked,  ///< a thread was blocked and waited for a future
  unknown,  ///< the trace does not contain the reason
};
inline constexpr std::size_t path_kinds = 7;

struct path_step {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  path_kind kind = path_kind::unknown;
  std::size_t thread = 0;  ///< the thread on which it happened
  std::string what;        ///< the function or span; or the awaited work; or the previous job in the queue

  [[nodiscard]] auto length() const noexcept -> std::uint64_t { return end - begin; }
};

/// Returns the requests whose name is `id` or contains it as a word. If no request matches, returns the activities and
/// tasks that match, or else the spans of threads that match. Without an id, returns the requests of rankd, or else all
/// activities, or else all tasks. The slowest are first in the list.
auto find_requests(const trace_file& trace, std::string_view id) -> std::vector<traced_request>;

/// Returns the steps of the request in order, without gaps. The lengths of the steps add up exactly to the length of
/// the request.
auto critical_path(const trace_file& trace, const traced_request& request) -> std::vector<path_step>;

auto name_of(path_kind kind) -> const char*;

}  // namespace braid::doctor
