// braid/net/trace_context.hpp: the trace that a request belongs to, across processes: W3C Trace Context.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_message.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid {

/// One span of a trace that goes through several processes: what the fields `traceparent` and `tracestate` of a request
/// carry. Source: W3C Recommendation "Trace Context", 23 November 2021.
struct trace_context {
  std::array<std::uint64_t, 2> trace_id{};  ///< of all spans of the trace, the high half first; never both zero
  std::uint64_t span_id = 0;                ///< never zero
  std::uint64_t parent_id = 0;              ///< the span that contains this one; zero for the first of the trace
  bool is_sampled = false;                  ///< the caller may have recorded it
  std::string state = {};                   ///< `tracestate` as it was received, or empty

  /// Returns the first span of a new trace, with random numbers. Threads: any.
  [[nodiscard]] BRAID_API static auto begin() -> trace_context;
  /// Parses the value of a field `traceparent`. For a version above 00 it reads the fields of version 00.
  /// Threads: any. Errors: nothing for a value that the recommendation calls invalid, such as one with upper-case
  /// letters.
  [[nodiscard]] BRAID_API static auto parse(std::string_view traceparent) -> std::optional<trace_context>;
  /// Returns a span for the work on a request with these fields: a child of the span that they name, or the first span
  /// of a new trace if they name no span, several spans, or an invalid one. An invalid `tracestate` is left out; from
  /// one with more than 512 characters whole members are left out, as the recommendation says.
  /// Threads: any.
  [[nodiscard]] BRAID_API static auto of(const http_fields& fields) -> trace_context;

  /// Returns a new span of the same trace, inside this one.
  [[nodiscard]] BRAID_API auto child() const -> trace_context;
  /// Returns the value of the field: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
  [[nodiscard]] BRAID_API auto traceparent() const -> std::string;
  /// Returns the number of the trace, as logs and collectors show it: 32 digits.
  [[nodiscard]] BRAID_API auto trace_id_text() const -> std::string;

  /// The span that a task works for. `http_server::options::traces` binds it for handlers, and a program by
  /// `trace_context::current.bind(trace_context::begin(), work())`. Each call of an `http_client` in it carries its
  /// `traceparent` and `tracestate`, unless the call has a `traceparent` of its own.
  BRAID_API static const task_local<trace_context> current;
};

}  // namespace braid
