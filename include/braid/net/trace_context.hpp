// braid/net/trace_context.hpp: W3C Trace Context: the trace of a request across processes.
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

/// One span of a trace across several processes: the content of the request fields `traceparent` and `tracestate`.
/// Source: W3C Recommendation "Trace Context", 23 November 2021.
struct trace_context {
  std::array<std::uint64_t, 2> trace_id{};  ///< the id of all spans of the trace, the high half first; never both zero
  std::uint64_t span_id = 0;                ///< never zero
  std::uint64_t parent_id = 0;              ///< the parent span; zero for the first span of the trace
  bool is_sampled = false;                  ///< the caller may have recorded it
  std::string state = {};                   ///< `tracestate` as it was received, or empty

  /// Returns the first span of a new trace, with random numbers. Threads: any.
  [[nodiscard]] BRAID_API static auto begin() -> trace_context;
  /// Parses the value of a field `traceparent`. If the version is above 00, it parses only the parts that version 00
  /// defines. Threads: any. Errors: returns nothing for a value that the recommendation calls invalid, such as a value
  /// with upper-case letters.
  [[nodiscard]] BRAID_API static auto parse(std::string_view traceparent) -> std::optional<trace_context>;
  /// Returns a span for the work on a request with these fields. It is a child of the span in these fields. If the
  /// fields contain no span, several spans, or an invalid span, the returned span is the first span of a new trace. An
  /// invalid `tracestate` is ignored. From a `tracestate` with more than 512 characters, whole members are removed, as
  /// the recommendation requires.
  /// Threads: any.
  [[nodiscard]] BRAID_API static auto of(const http_fields& fields) -> trace_context;

  /// Returns a new child span of this span, in the same trace.
  [[nodiscard]] BRAID_API auto child() const -> trace_context;
  /// Returns the value of the field `traceparent`, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
  [[nodiscard]] BRAID_API auto traceparent() const -> std::string;
  /// Returns the id of the trace as logs and collectors show it: 32 digits.
  [[nodiscard]] BRAID_API auto trace_id_text() const -> std::string;

  /// The span of the current task. `http_server::options::traces` binds it for handlers; a program can bind it by
  /// `trace_context::current.bind(trace_context::begin(), work())`. Calls of an `http_client` in such tasks send the
  /// `traceparent` and `tracestate` of this span. A call that has its own field `traceparent` sends that field instead.
  BRAID_API static const task_local<trace_context> current;
};

}  // namespace braid
