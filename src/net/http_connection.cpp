// src/net/http_connection.cpp: implements the parts of a server's connection that plain sockets and TLS share.
#include "http_connection.hpp"

#include "http2.hpp"

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t room_for_body = 16 * 1024;
constexpr duration min_before_cut = std::chrono::seconds(1);

}  // namespace

// The functions below handle the deadlines of a connection.

http_connection::http_connection(http_service& service, bool may_be_http2)
    : http_call(service), may_be_http2_(may_be_http2 && service.options.http2.enabled), now_(service.on.now()) {
  head_deadline_ = after(now_, service.options.head_timeout);
  add_to_count(service.counts.open);
}

http_connection::~http_connection() {
  take_from_count(service_->counts.open);
  service_->on.disarm(timer_);
  if (is_linked()) unlink();
}

/// Sets the deadline of the current wait. An armed timer is not re-armed if the deadline moves to a later time, which
/// happens with each request; instead, the deadline is checked when the timer fires.
void http_connection::wait_until(wait reason, time_point deadline) noexcept {
  waits_for_ = reason;
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

/// Ends the wait for bytes; bytes that have already arrived are still read. The connection is also cut after a while,
/// because a TLS read may itself be sending to a client that does not read.
void http_connection::end_read() noexcept {
  socket_->end_read_waits();
  cut_at_ = after(service_->on.now(), std::max(service_->options.linger_timeout, min_before_cut));
  cut();
}

/// Shuts the socket down if the time to cut the connection has come. Otherwise arms the timer for that time.
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

// The functions below change the state of a connection, from its first byte to its end.

void http_connection::received(std::size_t bytes) {
  // This connection was about to be closed to make room for others, but a request has arrived on it. So another idle
  // connection is closed instead.
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
  if (may_be_http2_) {
    const http2_guess guess = guess_http2(input_.view());
    if (guess == http2_guess::more) return next::read;
    may_be_http2_ = false;
    if (guess == http2_guess::yes && speaks_http2(*service_)) return next::http2;
  }
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
  find_route();
}

void http_connection::end_pieces() {
  using kind = http_framing::kind;
  answer_ = answer::whole;
  if (!sends_body()) return;
  if (work_->framing.how == kind::chunked) append_end();
  if (work_->framing.how == kind::length && work_->written != work_->framing.length) answer_ = answer::broken;
}

/// Prepares the connection for the next request. Returns false if the connection must be closed.
auto http_connection::after_request() -> bool {
  try {
    discard_body();
  } catch (const std::bad_alloc&) {}  // trailers need memory; the connection is closed, because its body has not ended
  if (!work_->body.finished()) keep_ = false;
  input_.release();
  in_request_ = false;
  if (answer_ == answer::broken) return false;
  if (!keep_) return false;
  work_->parser.reset();
  head_deadline_.reset();
  return true;
}

/// Charges the pacer for refused requests. Returns true if the connection must wait before it is read again. Charges
/// the time since the last bytes arrived, or since the end of the last handler that had to wait if that was later.
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

// The functions below handle the bodies of requests.

auto http_connection::read_body_now() -> std::optional<std::string_view> {
  if (work_->body_error || !has_whole_body()) return std::nullopt;
  continue_due_ = false;                               // the client has not waited for 100
  const auto piece = work_->body.next(input_.view());  // the body has a length, so no error is possible
  input_.consume(piece->consumed);
  return piece->data;
}

void http_connection::discard_body() {
  while (!input_.empty() && !work_->body.finished() && !work_->body_error) {
    const auto piece = work_->body.next(input_.view());
    if (!piece)
      work_->body_error = piece.error();
    else
      input_.consume(piece->consumed);
  }
}

/// Clears the output. Frees its memory if an answer was large, because small answers do not need so much memory.
void http_connection::clear(std::string& output) noexcept {
  if (output.capacity() > 2 * max_output)
    output = std::string();
  else
    output.clear();
}

// The functions below write the answers to requests.

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

/// Appends the end of a chunked body, with the trailers.
void http_connection::append_end() {
  work_->fields.clear();
  for (const auto& [name, value] : work_->own_trailers) work_->fields.push_back({name, value});
  static_cast<void>(append_last_chunk(work_->output, work_->fields));
}

void http_connection::reply(http_status status, std::string_view type, std::string_view body) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  discard_body();
  const std::size_t before = work_->output.size();
  try {
    const bool has_trailers = !work_->own_trailers.empty();
    const http_framing framing = has_trailers ? http_framing{http_framing::kind::chunked, 0}
                                              : http_framing{http_framing::kind::length, body.size()};
    const bool has_body = append_answer(status, framing, type) && sends_body();
    if (has_body && has_trailers) {
      append_chunk(work_->output, body);
      append_end();
    } else if (has_body) {
      work_->output += body;
    }
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
  if (!work_->own_trailers.empty()) length.reset();
  const bool old = head().minor_version == 0;
  const http_framing framing = length ? http_framing{kind::length, *length}
                               : old  ? http_framing{kind::until_close, 0}
                                      : http_framing{kind::chunked, 0};
  if (framing.how == kind::until_close) keep_ = false;
  answer_ = append_answer(status, framing, type) ? answer::pieces : answer::whole;
}

}  // namespace braid::detail
