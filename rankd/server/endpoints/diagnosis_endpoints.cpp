// rankd/server/endpoints/diagnosis_endpoints.cpp: GET /v1/tasks and /v1/trace: returns the running tasks of the
// process, and a trace of its last seconds.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/routes.hpp>

#include <rankd/registry/names.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/coro/dump.hpp>
#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr int max_trace_seconds = 600;  // the most that BRAID_TRACE can keep

/// Parses a number of whole seconds. Returns nothing for any other text.
auto trace_seconds(std::string_view text) -> std::optional<std::chrono::seconds> {
  const auto number = braid::detail::number_in<int>(text);
  if (!number || *number < 1 || *number > max_trace_seconds) return std::nullopt;
  return std::chrono::seconds(*number);
}

}  // namespace

/// Waits on a thread that may block, because all loops, including this loop, must report their tasks.
auto answer_tasks(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  auto asking = braid::offload(context.runtime->blocking(), [] { return braid::dump().to_text(); });
  const std::string text = co_await std::move(asking);
  reply(context, x, endpoint::tasks, http_status::ok, "text/plain; charset=utf-8", text);
}

/// Sends the trace of the flight recorder in pieces, because the trace may be large. A thread that may block waits
/// until the recording thread has written the trace. Only one trace is in memory at a time.
auto answer_trace(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const std::string_view id = given_request_id(x.request());
  const auto asked = braid::http_url::query_value(x.request().query, "seconds");
  const auto seconds = asked ? trace_seconds(*asked) : std::chrono::seconds(max_trace_seconds);
  if (!seconds)
    co_return reply(context, x, endpoint::trace,
                    answer_error(http_status::bad_request, "bad_seconds",
                                 "seconds=" + quote_name(*asked) + " is not an integer from 1 to 600", id));
  const auto only = enter_route(context, endpoint::trace);
  if (!only) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(context, x, endpoint::trace,
                    answer_error(http_status::too_many_requests, "trace_busy",
                                 "another call is reading the trace; try again later", id));
  }
  auto reading = braid::offload(context.runtime->blocking(),
                                [read = context.options().last_seconds, span = *seconds] { return read(span); });
  const braid::result<std::string> bytes = co_await std::move(reading);
  if (!bytes)
    co_return reply(context, x, endpoint::trace,
                    answer_error(http_status::conflict, "trace_off",
                                 "the server keeps no trace of the last seconds; to enable this, start it with the "
                                 "variable BRAID_TRACE=FILE,last=8s",
                                 id));
  context.metrics.count_answer(endpoint::trace, http_status::ok);
  static_cast<void>(x.set_field("Content-Disposition", "attachment; filename=\"rankd.pftrace\""));
  x.begin(http_status::ok, "application/octet-stream", bytes->size());
  for (std::string_view left = *bytes; !left.empty();) {
    constexpr std::size_t piece = 256 * 1024;
    const braid::result<void> sent = co_await x.write(left.substr(0, piece));
    if (!sent) co_return;
    left.remove_prefix(std::min(left.size(), piece));
  }
}

}  // namespace rankd::detail
