// src/net/http2_connection.cpp: passes frames to the requests of a connection, and ends the connection at its
// deadlines.
#include "http2_connection.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <span>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reason for this value.
constexpr duration min_wait_before_cut = std::chrono::seconds(1);
constexpr std::array<std::uint8_t, 8> ping_of_goodbye{'g', 'o', 'o', 'd', 'b', 'y', 'e', '!'};

}  // namespace

/// Clients number their streams 1, 3, 5 and so on. A client may skip numbers, but must not use the skipped numbers
/// later.
auto http2_stream_numbers::add(std::uint32_t id) noexcept -> bool {
  const std::uint32_t half = id / 2;
  if (half < last_) return last_ - half >= kept || used_[half % kept];
  const std::uint32_t skipped = std::min<std::uint32_t>(half - last_, kept);
  for (std::uint32_t each = half - skipped + 1; each <= half; ++each) used_[each % kept] = reset_[each % kept] = false;
  used_[half % kept] = true;
  last_ = half;
  return true;
}

// The callbacks of libnghttp2. An exception must not pass through them.

struct http2_connection::callbacks {
  template <typename Fn>
  static auto guarded(Fn fn) noexcept -> int {
    try {
      fn();
      return 0;
    } catch (...) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  static auto at(void* data) noexcept -> http2_connection& { return *static_cast<http2_connection*>(data); }

  /// Refuses stream numbers that are lower than an earlier number, and frames of streams that the client has reset.
  /// libnghttp2 itself would ignore such frames.
  static auto begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* data) noexcept -> int {
    if (head->type != NGHTTP2_HEADERS && head->type != NGHTTP2_DATA) return 0;
    const auto id = static_cast<std::uint32_t>(head->stream_id);
    http2_stream_numbers& numbers = at(data).numbers_;
    if (numbers.was_reset(id)) at(data).refuse_client(NGHTTP2_STREAM_CLOSED);
    if (head->type == NGHTTP2_HEADERS && id % 2 == 1 && !numbers.add(id))
      at(data).refuse_client(NGHTTP2_PROTOCOL_ERROR);
    return 0;
  }
  static auto begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* data) noexcept -> int {
    at(data).begin_head(frame->hd.stream_id);
    return 0;
  }
  static auto header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                     const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* data) noexcept -> int {
    return guarded([&] {
      const http_limits& limits = at(data).service_->options.limits;
      http2_head& head = at(data).head_;
      head.add(as_text(name, name_size), as_text(value, value_size), limits);
      if (head.size() / http2_max_head_sizes > limits.head_bytes) at(data).refuse_client(NGHTTP2_ENHANCE_YOUR_CALM);
    });
  }
  static auto frame_received(nghttp2_session*, const nghttp2_frame* frame, void* data) noexcept -> int {
    return guarded([&] { at(data).frame_received(*frame); });
  }
  static auto frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* data) noexcept -> int {
    const bool is_answer = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (!is_answer || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    if (http2_stream* const stream = at(data).find(frame->hd.stream_id)) stream->answer_sent();
    return 0;
  }
  static auto data_received(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                            std::size_t size, void* data) noexcept -> int {
    return guarded([&] {
      if (http2_stream* const stream = at(data).find(id))
        stream->received(as_text(bytes, size));
      else
        at(data).calls_->session_consume_connection(at(data).session_, size);
    });
  }
  static auto stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t, void* data) noexcept -> int {
    if (at(data).head_id_ == id) at(data).head_since_.reset();
    if (http2_stream* const stream = at(data).find(id)) stream->closed();
    return 0;
  }
};

auto http2_connection::find(std::int32_t id) const noexcept -> http2_stream* {
  return static_cast<http2_stream*>(calls_->session_get_stream_user_data(session_, id));
}

http2_connection::http2_connection(http_service& service, const stream_socket& socket)
    : service_(&service),
      output_waits_(service.on),
      now_(service.on.now()),
      calls_(find_nghttp2()),
      socket_(&socket),
      account_(now_),
      idle_since_(now_) {
  open_session();
  add_to_count(service.counts.open);
  add_to_count(service.counts.http2);
}

http2_connection::~http2_connection() {
  take_from_count(service_->counts.open);
  take_from_count(service_->counts.http2);
  service_->on.disarm(timer_);
  is_reading_over_ = true;
  ready_.clear();
  if (is_linked()) unlink();
  calls_->session_del(session_);
}

void http2_connection::open_session() {
  const auto check = [](int result) {
    if (result != 0) throw std::bad_alloc();
  };
  const nghttp2_calls& calls = *calls_;
  nghttp2_session_callbacks* raw_callbacks = nullptr;
  check(calls.session_callbacks_new(&raw_callbacks));
  const std::unique_ptr<nghttp2_session_callbacks, decltype(calls.session_callbacks_del)> set(
      raw_callbacks, calls.session_callbacks_del);
  calls.session_callbacks_set_on_begin_frame_callback(raw_callbacks, &callbacks::begin_frame);
  calls.session_callbacks_set_on_begin_headers_callback(raw_callbacks, &callbacks::begin_headers);
  calls.session_callbacks_set_on_header_callback(raw_callbacks, &callbacks::header);
  calls.session_callbacks_set_on_frame_recv_callback(raw_callbacks, &callbacks::frame_received);
  calls.session_callbacks_set_on_frame_send_callback(raw_callbacks, &callbacks::frame_sent);
  calls.session_callbacks_set_on_data_chunk_recv_callback(raw_callbacks, &callbacks::data_received);
  calls.session_callbacks_set_on_stream_close_callback(raw_callbacks, &callbacks::stream_closed);
  nghttp2_option* raw_options = nullptr;
  check(calls.option_new(&raw_options));
  const std::unique_ptr<nghttp2_option, decltype(calls.option_del)> options(raw_options, calls.option_del);
  calls.option_set_no_auto_window_update(raw_options, 1);  // a window is opened when a handler has read
  check(calls.session_server_new2(&session_, raw_callbacks, this, raw_options));
  const http_server::http2_options& limits = service_->options.http2;
  constexpr std::size_t max_value = 0x7fff'ffff;
  const auto bounded = [=](std::size_t value) { return static_cast<std::uint32_t>(std::min(value, max_value)); };
  const std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bounded(limits.stream_window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, bounded(service_->options.limits.head_bytes)},
  }};
  const auto window = static_cast<std::int32_t>(bounded(limits.connection_window));
  if (calls.submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      calls.session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window) != 0) {
    calls.session_del(session_);
    throw std::bad_alloc();
  }
}

// The functions below handle frames that arrive or are sent.

auto http2_connection::parse(std::string_view bytes) -> bool {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const ::ssize_t parsed = calls_->session_mem_recv(session_, data, bytes.size());
  if (parsed == NGHTTP2_ERR_NOMEM || parsed == NGHTTP2_ERR_CALLBACK_FAILURE) throw std::bad_alloc();
  if (parsed < 0) refuse_client(parsed == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
  wake();
  if (!is_refused_ && calls_->session_want_read(session_) != 0) return true;
  session_ends();
  return false;
}

/// Called if libnghttp2 will not accept any more frames: after an error of the client, or if one side has sent GOAWAY
/// and all requests are answered.
void http2_connection::session_ends() noexcept {
  if (!has_said_goodbye_ && !has_left_ && !std::exchange(is_refused_, true)) add_to_count(service_->counts.refused);
  lose_streams();
}

void http2_connection::begin_head(std::int32_t id) noexcept {
  head_.reset();
  head_id_ = id;
  head_since_ = service_->on.now();
  arm_for(deadline_of_client());
}

void http2_connection::frame_received(const nghttp2_frame& frame) {
  head_since_.reset();  // no other frame may arrive within a head
  const bool ends_stream = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const bool is_ack = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  const std::int32_t id = frame.hd.stream_id;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) return begin_stream(id, !ends_stream);
      if (http2_stream* const stream = find(id)) stream->received_trailers(head_);
      break;
    case NGHTTP2_DATA:
      if (is_empty_data(frame)) charge();
      break;
    case NGHTTP2_SETTINGS:
      if (is_ack) break;
      if (has_settings_) charge();
      has_settings_ = true;
      break;
    case NGHTTP2_PING:
      if (!is_ack) charge();
      if (is_ack && std::ranges::equal(frame.ping.opaque_data, ping_of_goodbye)) say_goodbye();
      break;
    case NGHTTP2_WINDOW_UPDATE:
      if (frame.window_update.window_size_increment < http2_min_window_update) charge();
      break;
    case NGHTTP2_GOAWAY: has_left_ = true; break;
    case NGHTTP2_RST_STREAM:
      numbers_.reset(static_cast<std::uint32_t>(id));
      charge();
      break;
    case NGHTTP2_PRIORITY: charge(); break;
    default: break;
  }
  if (!ends_stream || (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA)) return;
  if (http2_stream* const stream = find(id)) stream->input_ends();
}

void http2_connection::begin_stream(std::int32_t id, bool has_body) {
  if (is_refused_) return;
  // A stream that the client has reset still counts towards the limit until its handler has ended. A stream whose
  // answer was sent no longer counts, although its handler may still run. In total, at most twice as many handlers as
  // the limit may run.
  const std::size_t limit = service_->options.http2.streams;
  if (running_ - answered_ >= limit || running_ / 2 >= limit) {
    charge();
    static_cast<void>(calls_->submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM));
    return;
  }
  auto stream = std::make_unique<http2_stream>(*this, id, head_, has_body);
  calls_->session_set_stream_user_data(session_, id, stream.get());
  ready_.push_back(std::move(stream));
  if (service_->stopping && !is_retired_) retire();
}

/// Serves a stream. This task owns the stream, and destroys the stream when the task ends.
auto http2_connection::serve(std::unique_ptr<http2_stream> stream) -> task<void> {
  auto serving = stream->serve();
  co_await std::move(serving);
}

void http2_connection::start_ready(scope& scope) {
  for (std::unique_ptr<http2_stream>& each : std::exchange(ready_, {})) scope.spawn(serve(std::move(each)));
}

void http2_connection::begins(http2_stream& stream) noexcept {
  if (running_++ == 0) {
    if (is_linked()) unlink();
    service_->busy.push_back(*this);
  }
  streams_.push_back(stream);
}

void http2_connection::ends(http2_stream& stream) noexcept {
  stream.unlink();
  wake();
  if (stream.is_sent()) --answered_;
  if (--running_ > 0) return;
  if (is_linked()) unlink();
  idle_since_ = service_->on.now();
  if (is_reading_over_) return;
  rest();
  check_end();
}

void http2_connection::charge() noexcept {
  if (!account_.charge(service_->on.now())) refuse_client(NGHTTP2_ENHANCE_YOUR_CALM);
}

void http2_connection::refuse_client(std::uint32_t code) noexcept {
  if (std::exchange(is_refused_, true)) return;
  add_to_count(service_->counts.refused);
  static_cast<void>(calls_->session_terminate_session(session_, code));
  wake();
}

void http2_connection::collect_output() {
  output_.clear();
  while (output_.size() < http2_write_size) {
    const std::uint8_t* bytes = nullptr;
    const ::ssize_t size = calls_->session_mem_send(session_, &bytes);
    if (size < 0) throw std::bad_alloc();
    if (size == 0) return;
    output_ += as_text(bytes, static_cast<std::size_t>(size));
  }
}

// The functions below handle the deadlines and the end of a connection.

void http2_connection::rest() noexcept {
  if (running_ > 0 || is_linked()) return;
  arm_for(deadline_of_client());
  service_->idle.push_back(*this);
  if (service_->stopping || service_->wants_room) close_idle();
}

void http2_connection::close_idle() noexcept {
  unlink();
  close_requested_ = true;
  end_reads();
}

/// Asks the client to send no more requests, by GOAWAY and a ping. Requests that arrive before the answer to the ping
/// are still answered, because the client sent them before it had received GOAWAY.
void http2_connection::retire() noexcept {
  if (is_linked()) unlink();
  if (std::exchange(is_retired_, true)) return;
  static_cast<void>(calls_->submit_shutdown_notice(session_));
  static_cast<void>(calls_->submit_ping(session_, NGHTTP2_FLAG_NONE, ping_of_goodbye.data()));
  goodbye_at_ = after(service_->on.now(), service_->options.linger_timeout);
  arm_for(goodbye_at_);
  wake();
}

/// Refuses new requests, by GOAWAY with the number of the last request.
void http2_connection::say_goodbye() noexcept {
  goodbye_at_ = time_point::max();
  if (is_refused_ || std::exchange(has_said_goodbye_, true)) return;
  const std::int32_t last = calls_->session_get_last_proc_stream_id(session_);
  static_cast<void>(calls_->submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0));
  wake();
}

auto http2_connection::deadline_of_client() const noexcept -> time_point {
  const http_server::options& options = service_->options;
  if (!has_settings_) return after(idle_since_, options.head_timeout);
  if (head_since_) return after(*head_since_, options.head_timeout);
  return running_ > 0 ? time_point::max() : after(idle_since_, options.idle_timeout);
}

void http2_connection::arm_for(time_point deadline) noexcept {
  if (deadline == time_point::max() || (timer_.is_armed() && armed_for_ <= deadline)) return;
  armed_for_ = deadline;
  service_->on.arm(timer_, deadline);
}

void http2_connection::check_deadlines() noexcept {
  const time_point now = service_->on.now();
  if (now >= write_deadline_) {
    add_to_count(service_->counts.timeouts);
    return static_cast<void>(socket_->shutdown(stream_socket::side::both));
  }
  if (cut_at_ && now >= *cut_at_) return static_cast<void>(socket_->shutdown(stream_socket::side::both));
  if (now >= goodbye_at_) {
    say_goodbye();
    check_end();
  }
  if (!is_reading_over_ && !has_said_goodbye_ && now >= deadline_of_client()) {
    if (!has_settings_ || head_since_) add_to_count(service_->counts.timeouts);
    if (is_linked()) unlink();
    say_goodbye();
    end_reads();
  }
  arm_for(std::min({write_deadline_, cut_at_.value_or(time_point::max()), goodbye_at_,
                    is_reading_over_ || has_said_goodbye_ ? time_point::max() : deadline_of_client()}));
}

void http2_connection::cut_after(duration span) noexcept {
  cut_at_ = after(service_->on.now(), span);
  arm_for(*cut_at_);
}

/// Ends the wait for bytes. Bytes that have already arrived are still read.
void http2_connection::end_reads() noexcept {
  socket_->end_read_waits();
  cut_after(std::max(service_->options.linger_timeout, min_wait_before_cut));
}

auto http2_connection::continues_to_read() noexcept -> bool {
  const bool ends = calls_->session_want_read(session_) == 0 || is_refused_ ||
                    (running_ == 0 && (close_requested_ || has_said_goodbye_));
  if (ends || (has_said_goodbye_ && head_since_)) {
    say_goodbye();
    return false;
  }
  close_requested_ = false;
  socket_->allow_read_waits();
  return true;
}

void http2_connection::input_ends() noexcept {
  is_reading_over_ = true;
  if (is_linked()) unlink();
  streams_.for_each([](http2_stream& each) { each.input_is_lost(); });
  wake();
}

void http2_connection::lose_streams() noexcept {
  streams_.for_each([](http2_stream& each) { each.closed(); });
}

/// Ends the wait for bytes if the connection has nothing more to do.
void http2_connection::check_end() noexcept {
  if (is_reading_over_) return;
  const bool is_over = calls_->session_want_read(session_) == 0;
  if (is_over) session_ends();
  if (is_over || (running_ == 0 && (has_said_goodbye_ || is_refused_))) end_reads();
}

void http2_connection::wait_for_write() noexcept {
  write_deadline_ = after(service_->on.now(), service_->options.write_timeout);
  arm_for(write_deadline_);
}

}  // namespace braid::detail

#endif
