// src/net/http_connection.cpp: the parts of a server's connection that plain sockets and TLS share.
#include "http_connection.hpp"

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/base/detail/memory_shortage.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_date.hpp>
#include <braid/net/trace_context.hpp>
#include <braid/task/detail/report_exception.hpp>

#include <algorithm>
#include <chrono>
#include <limits>

namespace braid::detail {
namespace {

constexpr std::size_t room_for_body = 16 * 1024;
constexpr duration min_before_cut = std::chrono::seconds(1);

/// Returns whether an answer may have this status. After an informational one, a client waits for another answer.
constexpr auto is_final(http_status status) noexcept -> bool {
  return !is_informational(status) && static_cast<int>(status) <= 999;
}

}  // namespace

auto http_service::date(time_point now) -> std::string_view {
  if (now >= date_until_) {
    using namespace std::chrono;
    const auto today = system_clock::now();
    const auto second = floor<seconds>(today);
    date_ = http_date(second);
    date_until_ = now + (second + 1s - today);
  }
  return date_;
}

void http_service::report(std::exception_ptr error) noexcept {
  report_job_exception(options.on_error, std::move(error), {.what = "an HTTP server"});
}

void http_service::report(std::exception_ptr error, const http_request_head& of, std::string_view route) noexcept {
  constexpr std::size_t max_path = 200;
  std::string what = "an HTTP handler";
  try {
    what = "the handler ";
    if (!route.empty()) (what += '`').append(route) += "` ";
    what += "of " + std::string(name_of(of.method)) + " " + std::string(of.path.substr(0, max_path));
  } catch (const std::bad_alloc&) {  // without the request, then
  }
  report_job_exception(options.on_error, std::move(error), {.what = what.c_str()});
}

/// Adds the metrics of a server.
/// Threads: any.
void http_service::add_metrics(const void* self, metric_list& metrics) {
  const http_server::totals& counts = static_cast<const http_service*>(self)->counts;
  const auto now = [](const auto& count) { return static_cast<double>(read_count(count)); };
  metrics.counter("braid_http_connections_accepted", "Connections that HTTP servers accepted.", now(counts.accepted));
  metrics.gauge("braid_http_connections", "Connections of HTTP servers that are open.", now(counts.open));
  metrics.counter("braid_http_requests", "Requests, including those without a handler.", now(counts.requests));
  metrics.counter("braid_http_refused_requests", "Requests that were refused because they are invalid.",
                  now(counts.refused));
  metrics.counter("braid_http_timeouts", "Connections that were cut because a deadline passed.", now(counts.timeouts));
  metrics.counter("braid_http_failed_handlers", "Handlers that threw an exception or did not answer.",
                  now(counts.failed));
  metrics.gauge("braid_http_tls_handshakes", "TLS handshakes of servers that are in progress.", now(counts.handshakes));
  metrics.counter("braid_http_failed_tls_handshakes", "TLS handshakes that failed, were too slow or were abandoned.",
                  now(counts.failed_handshakes));
  metrics.counter("braid_http_resumed_tls_sessions", "Connections that resumed an earlier TLS session.",
                  now(counts.resumed));
  metrics.gauge("braid_http_event_streams", "Streams of server-sent events that are open.", now(counts.event_streams));
  metrics.counter("braid_http_events", "Server-sent events that were sent.", now(counts.events));
  metrics.gauge("braid_http_websockets", "WebSockets that are open.", now(counts.websockets));
  metrics.counter("braid_http_websocket_messages", "Messages that WebSockets received.",
                  now(counts.websocket_messages));
}

// The deadlines of a connection.

http_connection::http_connection(http_service& service) : service_(&service), now_(service.on.now()) {
  head_deadline_ = after(now_, service.options.head_timeout);
  add_to_count(service.counts.open);
}

http_connection::~http_connection() {
  take_from_count(service_->counts.open);
  service_->on.disarm(timer_);
  if (is_linked()) unlink();
}

/// Sets the deadline of the current wait. An armed timer is not re-armed if the deadline moves to a later time, as it
/// does with each request; the deadline is checked when the timer fires.
void http_connection::wait_until(wait what, time_point deadline) noexcept {
  waits_for_ = what;
  deadline_ = deadline;
  if (deadline != time_point::max()) arm_for(deadline);
}

void http_connection::wait_for_write() noexcept {
  write_deadline_ = after(service_->on.now(), service_->options.write_timeout);
  if (write_deadline_ != time_point::max()) arm_for(write_deadline_);
}

void http_connection::arm_for(time_point deadline) noexcept {
  if (timer_.is_armed() && armed_for_ <= deadline) return;
  armed_for_ = deadline;
  service_->on.arm(timer_, deadline);
}

void http_connection::stop_waiting() noexcept {
  waits_for_ = wait::none;
  cut_at_.reset();
  if (is_linked()) unlink();
}

void http_connection::fired(timer& self) noexcept {
  http_connection& late = *static_cast<deadline_timer&>(self).owner;
  if (late.service_->on.now() >= late.write_deadline_) {
    add_to_count(late.service_->counts.timeouts);
    return static_cast<void>(late.socket_->shutdown(stream_socket::side::both));
  }
  if (late.write_deadline_ != time_point::max()) late.arm_for(late.write_deadline_);
  if (late.waits_for_ == wait::none) return;
  if (late.cut_at_) return late.cut();
  if (late.service_->on.now() < late.deadline_) return late.wait_until(late.waits_for_, late.deadline_);
  const bool sends = late.waits_for_ == wait::write || late.waits_for_ == wait::linger;
  const bool was_notified = late.waits_for_ == wait::linger || late.waits_for_ == wait::idle;
  if (!was_notified) add_to_count(late.service_->counts.timeouts);
  if (sends)
    static_cast<void>(late.socket_->shutdown(stream_socket::side::both));
  else
    late.end_read();
}

/// Ends the wait for bytes; bytes that have already arrived are still read. A TLS read may itself be sending to a
/// client that does not read, so the connection is also cut after a while.
void http_connection::end_read() noexcept {
  socket_->end_read_waits();
  cut_at_ = after(service_->on.now(), std::max(service_->options.linger_timeout, min_before_cut));
  cut();
}

/// Shuts the socket down if it is time for that; otherwise arms the timer.
void http_connection::cut() noexcept {
  if (service_->on.now() >= *cut_at_) return static_cast<void>(socket_->shutdown(stream_socket::side::both));
  arm_for(*cut_at_);
}

void http_connection::close_idle() noexcept {
  unlink();
  close_requested_ = true;
  end_read();
}

/// Returns whether a deadline or `close_idle` ended the wait for bytes, instead of the client.
auto http_connection::was_ended(const result<std::size_t>& got) noexcept -> bool {
  return !got && got.error() == std::errc::operation_canceled;
}

// The states of a connection from its first byte to its end.

void http_connection::received(std::size_t bytes) {
  // This connection was about to be closed to make room, but a request has arrived on it. Another idle connection is
  // closed instead.
  if (close_requested_ && !work_ && service_->wants_room && !service_->idle.empty())
    service_->idle.front().close_idle();
  input_.received(bytes);
  if (!work_) work_ = service_->workspaces.take();
}

/// Returns the workspace to the pool if all received requests are answered and no further bytes have arrived.
void http_connection::rest() noexcept {
  if (work_ && input_.empty()) service_->workspaces.give_back(std::move(work_));
}

auto http_connection::look_at_input() -> next {
  if (input_.empty()) return next::read;
  switch (work_->parser.parse(input_.view())) {
    case http_progress::needs_more: return next::read;
    case http_progress::complete:
      if (head().body.length <= max_body()) return next::serve;
      refuse(http_errc::body_too_large);
      return next::refuse;
    case http_progress::refused: break;
  }
  refuse(work_->parser.error());
  return next::refuse;
}

/// Returns the maximum size of this request's body. If the request has no body, as most have, no route is looked up.
auto http_connection::max_body() const noexcept -> std::uint64_t {
  const std::uint64_t usual = service_->options.limits.body_bytes;
  if (head().body.how == http_framing::kind::none) return usual;
  const http_router::route_options* const route = service_->routes.find(head().method, head().path).options();
  return route == nullptr ? usual : route->body_bytes.value_or(usual);
}

void http_connection::wait_for_request() noexcept {
  const bool nothing_yet = input_.empty();
  if (!nothing_yet && !head_deadline_) head_deadline_ = after(now_, service_->options.head_timeout);
  if (head_deadline_)
    wait_until(wait::head, *head_deadline_);
  else
    wait_until(wait::idle, after(now_, service_->options.idle_timeout));
  if (!nothing_yet) return;
  service_->idle.push_back(*this);
  if (service_->stopping || service_->wants_room) close_idle();
}

/// Decides whether the connection ends because no complete request arrived before a deadline, or because the server
/// wanted to close it. Returns false if the connection continues to wait: part of a request has arrived, or the
/// deadline belonged to an earlier wait.
auto http_connection::give_up_head() -> bool {
  const bool late = is_late();
  if (!late && (work_ || !close_requested_)) {
    close_requested_ = false;
    socket_->allow_read_waits();
    return false;
  }
  if (work_) refuse(http_errc::too_slow);
  return true;
}

void http_connection::refuse(http_errc error) {
  add_to_count(service_->counts.refused);
  keep_ = false;
  work_->own_fields.clear();
  answer_ = answer::none;
  say(status_of(error), error);
}

/// Sends an answer that no handler has written, such as an error.
void http_connection::say(http_status status, std::error_code error) {
  http_server::refusal_text text;
  if (service_->options.format_refusal)
    text =
        service_->options.format_refusal({.status = status, .why = error, .request = in_request_ ? &head() : nullptr});
  else
    text.body = std::string(reason_phrase(status)) + '\n';
  reply(status, text.type, text.body);
}

void http_connection::begin_request() {
  add_to_count(service_->counts.requests);
  in_request_ = true;
  work_->body.start(work_->parser.head().body, max_body());
  continue_due_ = work_->parser.head().expects_continue && !work_->body.finished();
  const std::size_t size = work_->parser.size();
  const bool more_comes = !work_->body.ends_within(input_.view().size() - size);
  const char* const was_at = input_.view().data();
  input_.hold(size, more_comes ? room_for_body : 0);
  if (input_.held().data() != was_at)
    static_cast<void>(work_->parser.parse(input_.held()));  // the views now refer to the moved bytes
  work_->match = service_->routes.find(head().method, head().path);
  keep_ = head().keep_alive;
  answer_ = answer::none;
  is_late_ = false;
  work_->own_fields.clear();
  work_->written = 0;
  work_->status = http_status::internal_server_error;
  work_->body_error.reset();
  work_->body_deadline.reset();
}

/// Returns the activity that represents the request in a trace. Paths without a handler are not named, because clients
/// choose them, and each name uses memory.
auto http_connection::shown() const noexcept -> trace::activity {
  if (!trace::is_on() || !service_->options.activities) return {};
  try {
    const std::string_view name = route();
    return trace::activity(
        std::string(name_of(head().method)).append(" ").append(name.empty() ? "(no handler)" : name));
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Returns the name of the route, or its pattern if it has no name. Returns an empty text if no route matches the
/// request.
auto http_connection::route() const noexcept -> std::string_view {
  const http_router::route_options* const options = match().options();
  return options == nullptr || options->name.empty() ? match().pattern() : std::string_view(options->name);
}

/// Runs the handler, and stops it at the deadline of its route.
auto http_connection::limited(task<void> handler, duration deadline) -> task<void> {
  task<result<void>> within = with_timeout(deadline, std::move(handler));
  if (const result<void> ended = co_await std::move(within); !ended) {
    is_late_ = true;
    throw std::system_error(ended.error(), "the handler took longer than the deadline of its route");
  }
}

auto http_connection::call_handler(http_exchange& exchange) -> called {
  called out;
  const http_router::handler* const handler = work_->match.handler();
  if (handler == nullptr) {
    answer_without_handler();
    out.ended.set_value();
    return out;
  }
  try {
    if (const auto* const plain = std::get_if<0>(handler))
      (*plain)(exchange);
    else
      out.rest = std::get<1>(*handler)(exchange);
    const duration deadline = match().options()->deadline;
    if (out.rest && deadline != duration::max()) out.rest = limited(std::move(out.rest), deadline);
    if (!out.rest)
      out.ended.set_value();
    else if (service_->options.traces)
      out.rest = trace_context::current.bind(trace_context::of(head().fields), std::move(out.rest));
  } catch (...) {
    out.ended.set_exception(std::current_exception());
  }
  return out;
}

void http_connection::answer_without_handler() {
  const http_router::method_set allowed = work_->match.allowed();
  if (head().path == "*") return reply(http_status::no_content, {}, {});
  if (allowed.empty()) return say(http_status::not_found);
  work_->own_fields.emplace_back("Allow", allowed.to_string());
  if (head().method == http_method::options) return reply(http_status::no_content, {}, {});
  say(http_status::method_not_allowed);
}

void http_connection::finish_answer(const outcome<void>& ended) {
  const std::string_view route = match().options() == nullptr ? std::string_view() : match().options()->name;
  if (ended.has_exception()) service_->report(ended.exception(), head(), route);
  if (!ended.has_value()) add_to_count(service_->counts.failed);
  if (answer_ == answer::pieces) {
    if (ended.has_value() || switched_) return end_pieces();
    answer_ = answer::broken;
  }
  if (answer_ != answer::none) return;
  work_->own_fields.clear();
  if (work_->body_error && ended.has_value()) {
    keep_ = false;
    return say(status_of(*work_->body_error), *work_->body_error);
  }
  if (ended.has_value()) {
    service_->report(std::make_exception_ptr(std::system_error(make_error_code(http_errc::no_answer))), head(), route);
    add_to_count(service_->counts.failed);
  }
  if (is_late_) return say(http_status::service_unavailable, errc::deadline_exceeded);
  if (ended.has_exception() && is_memory_shortage(ended.exception()))
    return say(http_status::service_unavailable, std::make_error_code(std::errc::not_enough_memory));
  say(http_status::internal_server_error);
}

void http_connection::end_pieces() {
  using kind = http_framing::kind;
  answer_ = answer::whole;
  if (!sends_body()) return;
  if (work_->framing.how == kind::chunked) static_cast<void>(append_last_chunk(work_->output));
  if (work_->framing.how == kind::length && work_->written != work_->framing.length) answer_ = answer::broken;
}

/// Prepares the connection for the next request. Returns false if the connection must be closed.
auto http_connection::after_request() -> bool {
  discard_body();
  if (!work_->body.finished()) keep_ = false;
  input_.release();
  in_request_ = false;
  if (answer_ == answer::broken) return false;
  if (!keep_) return false;
  work_->parser.reset();
  head_deadline_.reset();
  return true;
}

/// Charges the pacer for refused requests. Returns true if the connection must wait before it is read again. The
/// charged time began when the last bytes arrived, or when the last handler that waited has ended.
auto http_connection::is_held_back() noexcept -> bool {
  if (!std::exchange(paced_, false)) return false;
  const time_point sent = service_->on.now();
  return service_->pacer.charge(sent - now_, sent);
}

auto http_connection::wait_for_pacer() -> task<void> {
  http_pacer::waiter mine(service_->pacer, service_->on.now());
  co_await mine.comes;
  now_ = service_->on.now();
}

// The bodies of requests.

auto http_connection::read_body_now() -> std::optional<std::string_view> {
  if (work_->body_error || !has_whole_body()) return std::nullopt;
  continue_due_ = false;                               // it did not wait
  const auto piece = work_->body.next(input_.view());  // it has a length, so nothing is wrong with it
  input_.consume(piece->consumed);
  return piece->data;
}

void http_connection::discard_body() noexcept {
  while (!input_.empty() && !work_->body.finished() && !work_->body_error) {
    const auto piece = work_->body.next(input_.view());
    if (!piece)
      work_->body_error = piece.error();
    else
      input_.consume(piece->consumed);
  }
}

auto http_connection::body_failed(http_errc error) noexcept -> std::unexpected<std::error_code> {
  work_->body_error = error;
  keep_ = false;
  return fail(error);
}

/// Clears the output. Frees its memory if an answer was large, because small answers do not need it.
void http_connection::clear(std::string& output) noexcept {
  if (output.capacity() > 2 * max_output)
    output = std::string();
  else
    output.clear();
}

// The answers to requests.

auto http_connection::sends_body() const noexcept -> bool {
  const bool asked_for_head = in_request_ && head().method == http_method::head;
  return switched_ || (!asked_for_head && !is_bodiless(work_->status));
}

auto http_connection::append_answer(http_status status, http_framing framing, std::string_view type) -> bool {
  if (service_->stopping || !work_->body.finished()) keep_ = false;
  work_->status = status;
  work_->framing = framing;
  work_->fields.clear();
  for (const auto& [name, value] : work_->own_fields) work_->fields.push_back({name, value});
  const bool old = in_request_ && head().minor_version == 0;
  const auto connection = !keep_ ? http_persistence::close
                          : old  ? http_persistence::keep_alive
                                 : http_persistence::unsaid;
  const std::string_view date = service_->date(now_);
  if (is_bodiless(status)) framing = {};
  if (is_final(status) &&
      append_head(work_->output, http_response_start{status, framing, connection, date, type, work_->fields}))
    return true;
  work_->status = http_status::internal_server_error;
  static_cast<void>(append_head(work_->output, http_response_start{work_->status, {}, connection, date}));
  return false;
}

auto http_connection::set_field(std::string_view name, std::string_view value) -> result<void> {
  if (answer_ != answer::none) return fail(errc::finished);
  if (const auto fine = check_field({name, value}); !fine) return fail(fine.error());
  work_->own_fields.emplace_back(name, value);
  return {};
}

void http_connection::reply(http_status status, std::string_view type, std::string_view body) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  discard_body();
  const std::size_t before = work_->output.size();
  try {
    if (append_answer(status, {http_framing::kind::length, body.size()}, type) && sends_body()) work_->output += body;
  } catch (...) {  // a head without its body would keep the client waiting
    work_->output.resize(before);
    throw;
  }
  answer_ = answer::whole;
}

void http_connection::switch_protocol(std::string_view fields) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  const http_framing as_it_is{http_framing::kind::until_close, 0};
  discard_body();
  BRAID_EXPECTS(work_->body.finished(),
                "a connection can switch its protocol only after the whole body of the request has arrived");
  work_->output.append("HTTP/1.1 101 Switching Protocols\r\n").append(fields);
  for (const auto& [name, value] : work_->own_fields)
    work_->output.append(name).append(": ").append(value).append("\r\n");
  work_->output += "\r\n";
  work_->status = http_status::switching_protocols;
  work_->framing = as_it_is;
  work_->body.start(as_it_is, std::numeric_limits<std::uint64_t>::max());
  answer_ = answer::pieces;
  switched_ = true;
  keep_ = false;
}

void http_connection::begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  using kind = http_framing::kind;
  const bool old = head().minor_version == 0;
  const http_framing framing = length ? http_framing{kind::length, *length}
                               : old  ? http_framing{kind::until_close, 0}
                                      : http_framing{kind::chunked, 0};
  if (framing.how == kind::until_close) keep_ = false;
  answer_ = append_answer(status, framing, type) ? answer::pieces : answer::whole;
}

}  // namespace braid::detail
