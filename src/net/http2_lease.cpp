// src/net/http2_lease.cpp: sends a call on a stream of HTTP/2, and receives its answer.
#include "http2_lease.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>
#include <vector>

namespace braid::detail {
namespace {

/// Returns whether HTTP/2 forbids this field of HTTP/1.1. Source: RFC 9113, section 8.2.2.
auto is_left_out(std::string_view name, std::string_view value) noexcept -> bool {
  return name == "transfer-encoding" || is_of_connections(name) || (name == "te" && value != "trailers");
}

}  // namespace

class http2_lease::sending {
 public:
  sending(http2_lease& lease, std::string_view piece) noexcept : lease_(&lease) { lease.piece_ = piece; }
  sending(const sending&) = delete;
  auto operator=(const sending&) -> sending& = delete;
  ~sending() { lease_->piece_ = {}; }

 private:
  http2_lease* lease_;
};

http2_lease::http2_lease(http2_slot slot, std::shared_ptr<http_host> host)
    : host_(std::move(host)),
      slot_(std::move(slot)),
      was_used_(line().has_answered_),
      parser_(line().limits_),
      trailers_(line().limits_),
      input_waits_(*line().loop_),
      output_waits_(*line().loop_) {}

http2_lease::~http2_lease() {
  if (is_linked()) unlink();
  if (id_ == 0) return;
  http2_line& connection = line();
  static_cast<void>(connection.calls_->session_set_stream_user_data(connection.session_, id_, nullptr));
  if (kept_ > 0) static_cast<void>(connection.calls_->session_consume_connection(connection.session_, kept_));
  connection.wake();
  if (is_closed_) return;
  reset(NGHTTP2_CANCEL);
  if (!has_ended_) connection.ping();
}

// The functions below send the call.

auto http2_lease::converse(const http_url& url, std::string_view head_and_body, const http_client::call& call)
    -> task<result<void>> {
  const std::size_t head_size = head_and_body.find("\r\n\r\n") + 4;
  const sending body(*this, head_and_body.substr(head_size));
  is_opening_ = true;
  submit(url, head_and_body.substr(0, head_size), call, piece_);
  if (call.pieces) {
    auto both = [&](scope& children) -> task<void> {
      children.spawn(send_pieces(call));
      auto waiting = opened();
      co_await std::move(waiting);
      children.request_stop();  // no task waits for the rest of the call
    };
    auto whole = with_scope(std::ref(both));
    co_await std::move(whole);
  } else {
    auto waiting = opened();
    co_await std::move(waiting);
  }
  is_opening_ = false;
  if (source_error_) co_return fail(source_error_);
  if (!has_head_) co_return fail(error_);
  co_return result<void>();
}

/// Submits the head, converted from HTTP/1.1.
void http2_lease::submit(const http_url& url, std::string_view head, const http_client::call& call,
                         std::string_view body) {
  http2_line& connection = line();
  asked_ = call.method;
  if (connection.is_draining_) {  // since the call has got its place
    is_refused_ = true;
    return lost(http_errc::refused_stream);
  }
  std::string text(head);
  std::vector<nghttp2_nv> fields;
  fields.push_back(make_field(":method", name_of(call.method)));
  fields.push_back(make_field(":scheme", url.scheme == http_scheme::https ? "https" : "http"));
  fields.push_back(make_field(":authority", url.host));
  fields.push_back(make_field(":path", url.target));
  for (std::size_t at = text.find("\r\n") + 2; at + 2 < text.size();) {
    const std::size_t colon = text.find(':', at);
    const std::size_t end = text.find("\r\n", colon);
    std::transform(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(colon),
                   text.begin() + static_cast<std::ptrdiff_t>(at), [](char c) { return lower(c); });
    const std::string_view name = std::string_view(text).substr(at, colon - at);
    const std::string_view value = trimmed(std::string_view(text).substr(colon + 1, end - colon - 1));
    if (name != "host" && !is_left_out(name, value)) fields.push_back(make_field(name, value));
    at = end + 2;
  }
  is_whole_ = !call.pieces;
  const bool has_output = call.pieces || !body.empty();
  is_sent_ = !has_output;
  id_ = connection.submit(*this, fields, has_output);
  if (id_ != 0) return;
  connection.drain();
  is_refused_ = true;
  lost(http_errc::refused_stream);
}

auto http2_lease::is_opened() const noexcept -> bool {
  if (error_ || source_error_ || is_closed_) return true;
  return has_head_ && (is_sent_ || static_cast<int>(head_.status) >= first_refusing);
}

/// Waits until the head of the answer has arrived. Then also waits until the whole call is sent, unless the status
/// shows that the server does not need the rest of the call.
auto http2_lease::opened() -> task<void> {
  while (!is_opened()) {
    auto waiting = input_waits_.until(time_point::max());
    static_cast<void>(co_await std::move(waiting));
  }
}

auto http2_lease::send_pieces(const http_client::call& call) -> task<void> {
  for (;;) {
    const result<std::string> piece = co_await call.pieces();
    if (!piece) {
      source_error_ = piece.error();
      co_return input_waits_.notify();
    }
    is_whole_ = piece->empty();
    const sending begun(*this, *piece);
    resume_output();
    if (is_whole_) co_return;
    while (!piece_.empty()) {
      if (is_closed_) co_return;
      auto waiting = output_waits_.until(time_point::max());
      static_cast<void>(co_await std::move(waiting));
    }
  }
}

/// Tells libnghttp2 that there is more output for this stream, and wakes the task that writes.
void http2_lease::resume_output() noexcept {
  if (is_closed_) return;
  if (std::exchange(is_deferred_, false)) static_cast<void>(line().calls_->session_resume_data(line().session_, id_));
  line().wake();
}

auto http2_lease::take_output(char* room, std::size_t size) noexcept -> std::optional<std::size_t> {
  const std::size_t taken = std::min(size, piece_.size());
  if (taken != 0) std::memcpy(room, piece_.data(), taken);
  piece_.remove_prefix(taken);
  if (piece_.empty()) output_waits_.notify();
  if (is_output_over() && is_opening_) {
    is_sent_ = true;
    input_waits_.notify();
    return taken;
  }
  if (taken != 0) return taken;
  is_deferred_ = true;
  return std::nullopt;
}

auto http2_lease::may_repeat(const http_client::call& call) const noexcept -> bool {
  if (call.pieces) return false;
  return is_refused_ || (is_idempotent(call.method) && is_lost_ && was_used_ && !has_head_ && informational_ == 0);
}

void http2_lease::reset(std::uint32_t code) noexcept {
  if (is_closed_ || id_ == 0) return;
  static_cast<void>(line().calls_->submit_rst_stream(line().session_, NGHTTP2_FLAG_NONE, id_, code));
  line().wake();
}

// The functions below receive the answer.

void http2_lease::received_fields(const http2_answer_fields& fields, bool is_last) {
  if (error_) return;
  has_head_ ? received_trailers(fields) : received_head(fields, is_last);
}

void http2_lease::received_head(const http2_answer_fields& fields, bool is_last) {
  using kind = http_framing::kind;
  if (fields.error()) return fail_call(*fields.error());
  head_text_ = fields.head();
  parser_.reset();
  const http_progress parsed = parser_.parse(head_text_, asked_);
  if (parsed == http_progress::refused) return fail_call(parser_.error());
  if (parsed == http_progress::needs_more) return fail_call(http_errc::bad_start_line);
  if (is_informational(parser_.head().status)) {
    if (++informational_ > max_informational) fail_call(http_errc::too_many_responses);
    return;
  }
  head_ = parser_.head();
  if (head_.body.how == kind::until_close) head_.body.how = is_last ? kind::none : kind::chunked;
  head_.keep_alive = true;
  has_head_ = true;
  input_waits_.notify();
}

void http2_lease::received_trailers(const http2_answer_fields& fields) {
  if (fields.error()) return fail_call(http_errc::trailers_too_large);
  trailers_.start({http_framing::kind::chunked, 0});
  const std::string text = fields.trailers();
  for (std::string_view rest = text; !rest.empty() && !trailers_.finished();) {
    const auto piece = trailers_.next(rest);
    if (!piece) return fail_call(piece.error());
    rest.remove_prefix(piece->consumed);
  }
}

void http2_lease::received(std::string_view data) {
  http2_line& connection = line();
  received_ += data.size();
  if (!error_ && received_ > connection.limits_.body_bytes) fail_call(http_errc::body_too_large);
  if (error_) {
    static_cast<void>(connection.calls_->session_consume_connection(connection.session_, data.size()));
    return;
  }
  input_ += data;
  kept_ += data.size();
  // While the call is sent, no one reads the answer. If the server then waited for a larger window, both sides might
  // wait for ever.
  if (is_opening_ && !is_sent_) give_back();
  input_waits_.notify();
}

void http2_lease::input_ends() noexcept {
  if (error_ || !has_head_) return;
  has_ended_ = true;
  line().has_answered_ = true;
  line().account_.add();
  input_waits_.notify();
}

/// Ends the call because its answer is invalid.
void http2_lease::fail_call(std::error_code error) noexcept {
  if (error_ || has_ended_) return;
  error_ = error;
  reset(NGHTTP2_CANCEL);
  input_waits_.notify();
}

void http2_lease::closed(std::uint32_t code) noexcept {
  is_closed_ = true;
  is_refused_ = code == NGHTTP2_REFUSED_STREAM && !has_head_;
  if (!has_ended_ && !error_)
    error_ = is_refused_ ? http_errc::refused_stream : is_reset_ ? http_errc::reset_stream : http_errc::bad_frame;
  if (is_linked()) unlink();
  input_waits_.notify();
  output_waits_.notify();
  slot_.free();
}

void http2_lease::lost(std::error_code reason) noexcept {
  is_closed_ = is_lost_ = true;
  if (!has_ended_ && !error_) error_ = reason;
  input_waits_.notify();
  output_waits_.notify();
  slot_.free();
}

/// Lets the server send as many bytes as the call has read.
void http2_lease::give_back() noexcept {
  const std::size_t bytes = std::exchange(kept_, 0);
  if (bytes == 0) return;
  http2_line& connection = line();
  if (is_closed_)
    static_cast<void>(connection.calls_->session_consume_connection(connection.session_, bytes));
  else
    static_cast<void>(connection.calls_->session_consume(connection.session_, id_, bytes));
  connection.wake();
}

auto http2_lease::read_some() -> task<result<std::string_view>> {
  for (;;) {
    if (!input_.empty()) {
      read_.clear();
      read_.swap(input_);
      give_back();
      co_return std::string_view(read_);
    }
    if (has_ended_) co_return std::string_view();
    if (error_) co_return fail(error_);
    auto waiting = input_waits_.until(time_point::max());
    static_cast<void>(co_await std::move(waiting));
  }
}

}  // namespace braid::detail

#endif
