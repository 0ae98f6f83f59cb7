// rankd/server/endpoints/event_endpoint.cpp: POST /v1/events: writes events about users' actions to the disk, and then
// answers.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/rank_request.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/events/event_rules.hpp>

#include <braid/coro/bridge.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

auto wall_clock() -> std::chrono::milliseconds {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

auto read_events(endpoint_context& context, served_request call) -> braid::task<void> {
  std::optional<braid::result<void>> read = call.body.read_now(*call.exchange);
  if (!read) read = co_await call.body.read(*call.exchange);
  if (!*read) co_return call.fail_body(read->error());
  const auto outcome = co_await write_events(context, call, call.body.text());
  if (!outcome) co_return;
  call.exchange->reply(http_status::ok, json_type,
                       "{\"accepted\":" + std::to_string(outcome->accepted) +
                           ",\"duplicates\":" + std::to_string(outcome->duplicates) + "}\n");
}

}  // namespace

auto write_events(endpoint_context& context, served_request& request, std::string_view text)
    -> braid::task<std::optional<event_outcome>> {
  const std::chrono::milliseconds now = wall_clock();
  const serve_context& serving = context.serving();
  const event_rules& rules = *serving.rules;
  const auto events = parse_events(text, rules, *serving.declared, context.options().max_events, now);
  if (!events) {
    const bool is_large = events.error().front().code == "events_too_large";
    const http_status status = is_large ? http_status::content_too_large : http_status::bad_request;
    request.fail(answer_error(status, events.error(), request.record.request_id));
    co_return std::nullopt;
  }
  const event_outcome outcome = co_await serving.events->add(*events, rules, now);
  if (outcome.result != event_outcome::result_kind::written) {
    const bool is_full = outcome.result == event_outcome::result_kind::full;
    request.fail(
        answer_error(http_status::service_unavailable, is_full ? "events_overloaded" : "events_not_written",
                     is_full ? "too many events are waiting to be written to the disk; send these events again later"
                             : "the events could not be written to the disk; send these events again",
                     request.record.request_id));
    co_return std::nullopt;
  }
  request.record.status = http_status::ok;
  request.record.code = "ok";
  co_return outcome;
}

auto may_send_events(endpoint_context& context, served_request& request) -> bool {
  if (context.serving().events == nullptr) {
    request.fail(answer_error(http_status::not_found, "no_events",
                              "this server accepts no events: start it with --events", request.record.request_id));
    return false;
  }
  if (!request.record.may_send_events) {
    request.fail(answer_error(http_status::forbidden, "events_forbidden",
                              "only a client whose token has the right `events` may send events",
                              request.record.request_id));
    return false;
  }
  return true;
}

auto answer_events(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  served_request call(context, endpoint::events, x);
  if (!call.check_head() || !may_send_events(context, call)) return {};
  return read_events(context, std::move(call));
}

}  // namespace rankd::detail
