// src/net/http_events.cpp: formats server-sent events, and sends comments that keep the connection open.
#include <braid/net/http_events.hpp>

#include "http_call.hpp"

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_server.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace braid {
namespace {

/// Appends `field: line` for each line of the text. A line ends with CR LF, CR or LF.
void append_lines(std::string& out, std::string_view field, std::string_view text) {
  for (;;) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    out.append(field).append(": ").append(text.substr(0, end)) += '\n';
    if (end == text.size()) return;
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
}

auto text_of_event(const http_event& event) -> std::string {
  std::string out;
  if (!event.type.empty()) append_lines(out, "event", event.type);
  if (!event.id.empty()) append_lines(out, "id", event.id);
  if (event.retry) append_lines(out, "retry", std::to_string(event.retry->count()));
  append_lines(out, "data", event.data);
  out += '\n';
  return out;
}

auto is_one_line(std::string_view text) noexcept -> bool {
  return text.find_first_of("\r\n") == std::string_view::npos;
}

}  // namespace

auto http_events::send(http_event event) -> task<result<void>> {
  if (!is_one_line(event.type) || !is_one_line(event.id) || event.id.find('\0') != std::string_view::npos ||
      (event.retry && event.retry->count() < 0))
    co_return fail(errc::invalid_argument);
  const std::string text = text_of_event(event);
  const result<void> sent = co_await write(text);
  if (sent) detail::add_to_count(exchange_->call_->counts().events);
  co_return sent;
}

auto http_events::last_id() const noexcept -> std::string_view {
  return exchange_->request().fields.find("last-event-id").value_or(std::string_view());
}

auto http_events::write(std::string_view text) -> task<result<void>> {
  const auto alone = co_await lock_.lock();
  if (!sent_) co_return sent_;
  last_ = around_->where().now();
  sent_ = co_await exchange_->write(text);
  if (!sent_) around_->request_stop();
  co_return sent_;
}

/// Stops the tasks of the stream, but not in the middle of a write, because that would break the answer.
auto http_events::stop() -> task<void> {
  const auto alone = co_await lock_.lock();
  around_->request_stop();
}

/// Sends comments that keep the connection open. Ends the stream if the server stops, so that clients connect to
/// another server.
auto http_events::keep_alive() -> task<void> {
  const bool comments = options_.keep_alive > duration::zero();
  const duration tick = comments ? std::min(options_.keep_alive, detail::max_stream_tick) : detail::max_stream_tick;
  for (;;) {
    co_await sleep_for(tick);
    if (exchange_->call_->is_server_stopping()) co_await stop();
    if (comments && around_->where().now() - last_ >= options_.keep_alive)
      if (const result<void> sent = co_await write(":\n\n"); !sent) co_return;
  }
}

auto http_exchange::events(http_events_options options, std::function<task<void>(http_events&)> produce)
    -> task<result<void>> {
  if (const auto set = set_field("Cache-Control", "no-store"); !set && set.error() == errc::finished)
    throw std::system_error(make_error_code(http_errc::answered_twice));
  begin(http_status::ok, "text/event-stream");
  if (request().method == http_method::head) co_return result<void>();
  http_events out(*this, options);
  const detail::counted_open counted(call_->counts().event_streams);
  auto body = [&](scope& scope) -> task<void> {
    out.around_ = &scope;
    scope.spawn(out.keep_alive());
    if (const result<void> head = co_await out.write({}); !head) co_return;
    co_await produce(out);
    co_await out.stop();  // no more comments
  };
  auto ended = with_scope(body);
  co_await std::move(ended);
  co_return out.sent_;
}

}  // namespace braid
