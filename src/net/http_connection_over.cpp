// src/net/http_connection_over.cpp: receives, handles and answers the requests of one connection, one after the other.
#include "http_connection_over.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/io/tls.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t copied_piece = 8 * 1024;  // a larger piece is sent without a copy
constexpr unsigned max_consecutive = 64;

}  // namespace

template <transport Stream>
http_connection_over<Stream>::http_connection_over(http_service& service, Stream stream)
    : http_connection(service, !announces_its_end), stream_(std::move(stream)) {
  go_through(socket_of(stream_));
}

/// Converts the error of a TLS stream that was cut without a close notice to a normal end. A server need not
/// distinguish a cut from a normal end, because an incomplete request is refused in both cases.
template <transport Stream>
auto http_connection_over<Stream>::cut_is_end(result<std::size_t> got) noexcept -> result<std::size_t> {
  if constexpr (announces_its_end)
    if (!got && got.error() == tls_errc::truncated) return 0;
  return got;
}

template <transport Stream>
auto http_connection_over<Stream>::run() -> task<bool> {
  for (;;) {
    const next what = look_at_input();
    if (what == next::refuse) break;
    if (what == next::http2) co_return true;
    if (what == next::serve) {
      begin_request();
      const trace::activity activity = shown();
      http_exchange exchange = open_exchange();
      called handled = call_handler(exchange);
      if (handled.rest) {
        handled.ended = co_await as_outcome(std::move(handled.rest));
        now_ = service_->on.now();
      }
      finish_answer(handled.ended);
      if (!after_request()) break;
      if (++in_succession_ < max_consecutive && work_->output.size() < max_output) continue;
    }
    const bool has_output = work_ && !work_->output.empty();
    if (has_output) {
      wait_until(wait::write, after(now_, service_->options.write_timeout));
      const result<void> sent = co_await stream_.write_all(bytes_of(work_->output));
      stop_waiting();
      clear(work_->output);
      if (!sent) co_return false;
    }
    if (what == next::read) rest();
    if (has_output && is_held_back()) co_await wait_for_pacer();
    if (what == next::serve) co_await yield();
    now_ = service_->on.now();
    if (what != next::serve) {
      wait_for_request();
      const result<std::size_t> got = cut_is_end(co_await stream_.read_some(input_.room()));
      stop_waiting();
      now_ = service_->on.now();
      if (!got || *got == 0) {
        const bool by_us = was_ended(got);
        if (by_us && !give_up_head()) continue;
        if (by_us && work_) break;
        if (!got && !by_us) co_return false;
        if constexpr (announces_its_end) co_await announce_end();
        co_return false;
      }
      received(*got);
    }
    in_succession_ = 0;
  }
  co_await linger();
  co_return false;
}

template <transport Stream>
auto http_connection_over<Stream>::take_received() -> std::string {
  std::string out(input_.view());
  input_.consume(out.size());
  rest();
  return out;
}

template <transport Stream>
auto http_connection_over<Stream>::read_body() -> task<result<std::string_view>> {
  if (is_reading_) co_return fail(http_errc::used_twice);
  const reading alone(*this);
  for (;;) {
    if (work_->body_error) co_return fail(*work_->body_error);
    if (!input_.empty() && !work_->body.finished()) {
      continue_due_ = false;  // the client has not waited for 100
      const auto piece = work_->body.next(input_.view());
      if (!piece) co_return body_failed(piece.error());
      input_.consume(piece->consumed);
      if (!piece->data.empty()) co_return piece->data;
      continue;  // if memory was short, there is more input
    }
    if (work_->body.finished()) co_return std::string_view();
    if (std::exchange(continue_due_, false) && !is_answered()) work_->output += "HTTP/1.1 100 Continue\r\n\r\n";
    if (!is_sending_)
      if (const result<void> sent = co_await flush(); !sent) co_return body_failed(http_errc::truncated);
    if (!work_->body_deadline) work_->body_deadline = after(service_->on.now(), service_->options.body_timeout);
    wait_until(wait::body, *work_->body_deadline);
    const result<std::size_t> got = cut_is_end(co_await stream_.read_some(input_.room()));
    stop_waiting();
    if (was_ended(got) && !is_late()) {
      socket_->allow_read_waits();  // the end was requested for the wait for a head
      continue;
    }
    if (!got || *got == 0) co_return body_failed(was_ended(got) ? http_errc::too_slow : http_errc::truncated);
    input_.received(*got);
  }
}

template <transport Stream>
auto http_connection_over<Stream>::flush() -> task<result<void>> {
  if (work_->output.empty()) co_return result<void>();
  sending begun(*this);
  work_->output.swap(work_->sent);  // other tasks of the handler may append meanwhile
  wait_for_write();
  const result<void> sent = co_await stream_.write_all(bytes_of(work_->sent));
  begun.over();
  clear(work_->sent);
  co_return sent;
}

/// Sends the close notice of TLS when an idle connection is closed, so that the client does not mistake the regular end
/// for a cut.
template <transport Stream>
auto http_connection_over<Stream>::announce_end() -> task<void> {
  wait_until(wait::linger, after(service_->on.now(), service_->options.linger_timeout));
  static_cast<void>(co_await end_writing(stream_));
  stop_waiting();
}

template <transport Stream>
void http_connection_over<Stream>::break_off() const noexcept {
  reset_on_close(socket_of(stream_));
}

/// Sends the remaining output, and drops further input until the client closes the connection. If an answer is
/// incomplete, resets the connection instead.
template <transport Stream>
auto http_connection_over<Stream>::linger() -> task<void> {
  if (answer_ == answer::broken) {
    break_off();
    co_return;
  }
  if (const result<void> sent = co_await flush(); !sent) co_return;
  wait_until(wait::linger, after(service_->on.now(), service_->options.linger_timeout));
  auto dropping = drop_input(stream_);
  co_await std::move(dropping);
  stop_waiting();
}

template <transport Stream>
auto http_connection_over<Stream>::write(std::string_view piece) -> task<result<void>> {
  if (answer_ != answer::pieces) co_return fail(errc::finished);
  if (is_sending_) co_return fail(http_errc::used_twice);
  if (!sends_body() || piece.empty()) co_return co_await flush();
  using kind = http_framing::kind;
  if (work_->framing.how == kind::length && work_->framing.length - work_->written < piece.size()) {
    answer_ = answer::broken;
    co_return fail(errc::full);
  }
  const bool chunked = work_->framing.how == kind::chunked;
  result<void> sent;
  if (piece.size() <= copied_piece) {
    task<result<void>> flushing = flush();  // may throw, so it is called before the piece is appended
    if (chunked)
      append_chunk(work_->output, piece);
    else
      work_->output += piece;
    work_->written += piece.size();
    sent = co_await std::move(flushing);
  } else {
    if (chunked) append_chunk_size(work_->output, piece.size());
    work_->written += piece.size();
    sending begun(*this);
    work_->output.swap(work_->sent);
    const std::array parts{bytes_of(work_->sent), bytes_of(piece), bytes_of(chunked ? std::string_view("\r\n") : "")};
    wait_for_write();
    sent = co_await stream_.write_all(parts);
    begun.over();
    clear(work_->sent);
  }
  if (!sent) answer_ = answer::broken;
  co_return sent;
}

template class http_connection_over<stream_socket>;
template class http_connection_over<tls_stream>;

}  // namespace braid::detail
