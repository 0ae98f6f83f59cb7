// src/net/http2_line.cpp: reads and writes a client's HTTP/2 connection, and passes frames to the calls that use the
// connection.
#include "http2_line.hpp"

#include "http2_lease.hpp"
#include "http_pool.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <new>
#include <span>
#include <utility>

namespace braid::detail {

#if defined(BRAID_NGHTTP2)

namespace {

// docs/design/constants.md gives the reason for this value.
constexpr duration max_farewell = std::chrono::seconds(1);  // for the last frames, after the last byte was read

/// A guard that calls a function at the end of a task, also if the task is stopped.
template <typename Fn>
class at_end {
 public:
  explicit at_end(Fn fn) noexcept : fn_(fn) {}
  at_end(const at_end&) = delete;
  auto operator=(const at_end&) -> at_end& = delete;
  ~at_end() { fn_(); }

 private:
  Fn fn_;
};

}  // namespace

// The functions below count the calls that use the connection.

http2_slot::http2_slot(std::shared_ptr<http2_line> line) noexcept : line_(std::move(line)), is_counted_(true) {
  line_->slot_used();
}

void http2_slot::free() noexcept {
  if (std::exchange(is_counted_, false)) line_->slot_freed();
}

void http2_line::slot_used() noexcept {
  if (used_++ > 0) return;
  last_heard_ = loop_->now();  // the silence before the call does not count
  arm();
}

void http2_line::slot_freed() noexcept {
  if (--used_ == 0) {
    idle_since_ = loop_->now();
    is_draining_ ? end_reads() : arm();
  }
  if (host_ != nullptr) host_->serve_waiting();
}

// The functions below collect the fields of answers.

void http2_answer_fields::reset() noexcept {
  status_.clear();
  fields_.clear();
  size_ = 0;
  error_.reset();
}

void http2_answer_fields::add(std::string_view name, std::string_view value, const http_limits& limits) {
  size_ += name.size() + value.size() + 4;
  if (size_ > limits.head_bytes) error_ = error_.value_or(http_errc::head_too_large);
  if (error_) return;
  // libnghttp2 has already refused such values. This check is repeated here, because a line end would turn a part of
  // the value into a field.
  if (find_control(value.data(), 0, value.size()) != value.size()) error_ = http_errc::bad_line_end;
  if (error_) return;
  if (name == ":status")
    status_ = value;
  else if (!name.starts_with(':'))
    fields_.append(name).append(": ").append(value) += "\r\n";
}

// The callbacks of libnghttp2. An exception must not pass through them.

struct http2_line::callbacks {
  template <typename Fn>
  static auto guarded(Fn fn) noexcept -> int {
    try {
      fn();
      return 0;
    } catch (...) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  static auto at(void* data) noexcept -> http2_line& { return *static_cast<http2_line*>(data); }

  static auto begin_headers(nghttp2_session*, const nghttp2_frame*, void* data) noexcept -> int {
    at(data).fields_.reset();
    return 0;
  }
  static auto header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                     const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* data) noexcept -> int {
    return guarded([&] {
      http2_line& self = at(data);
      self.fields_.add(as_text(name, name_size), as_text(value, value_size), self.limits_);
      if (self.fields_.size() / http2_max_head_sizes > self.limits_.head_bytes)
        self.refuse_server(NGHTTP2_ENHANCE_YOUR_CALM);
    });
  }
  static auto frame_received(nghttp2_session*, const nghttp2_frame* frame, void* data) noexcept -> int {
    return guarded([&] { receive(at(data), *frame); });
  }
  static auto data_received(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
                            std::size_t size, void* data) noexcept -> int {
    return guarded([&] {
      if (http2_lease* const lease = at(data).find(id))
        lease->received(as_text(bytes, size));
      else
        at(data).calls_->session_consume_connection(at(data).session_, size);
    });
  }
  static auto stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t code, void* data) noexcept -> int {
    if (http2_lease* const lease = at(data).find(id)) lease->closed(code);
    return 0;
  }

  static void receive(http2_line& self, const nghttp2_frame& frame);

  static auto read_output(nghttp2_session*, std::int32_t id, std::uint8_t* room, std::size_t size, std::uint32_t* flags,
                          nghttp2_data_source*, void* data) -> ::ssize_t {
    http2_lease* const lease = at(data).find(id);
    if (lease == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const auto taken = lease->take_output(reinterpret_cast<char*>(room), size);
    if (!taken) return NGHTTP2_ERR_DEFERRED;
    if (lease->is_output_over()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<::ssize_t>(*taken);
  }
};

void http2_line::callbacks::receive(http2_line& self, const nghttp2_frame& frame) {
  const bool ends_stream = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const bool is_ack = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  http2_lease* const lease = frame.hd.stream_id == 0 ? nullptr : self.find(frame.hd.stream_id);
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      if (lease != nullptr) lease->received_fields(self.fields_, ends_stream);
      break;
    case NGHTTP2_DATA:
      if (is_empty_data(frame)) self.charge();
      break;
    case NGHTTP2_SETTINGS:
      if (is_ack) break;
      if (std::exchange(self.has_settings_, true)) self.charge();
      self.read_settings();
      break;
    case NGHTTP2_PING:
      if (!is_ack || !self.pinged_at_) self.charge();
      if (is_ack) self.pinged_at_.reset();
      break;
    case NGHTTP2_WINDOW_UPDATE:
      if (frame.window_update.window_size_increment < http2_min_window_update) self.charge();
      break;
    case NGHTTP2_GOAWAY: self.drain(); break;
    case NGHTTP2_RST_STREAM: lease != nullptr ? lease->server_resets() : self.charge(); break;
    case NGHTTP2_PRIORITY: self.charge(); break;
    default: break;
  }
  if (!ends_stream || (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA)) return;
  if (lease != nullptr) lease->input_ends();
}

// The functions below read from and write to the connection.

http2_line::http2_line(loop& home, const http_client::options& options, http_host& host, async_semaphore::permit permit,
                       std::variant<stream_socket, tls_stream> stream)
    : loop_(&home),
      limits_(options.limits),
      options_(options.http2),
      idle_timeout_(options.idle_timeout),
      host_(&host),
      permit_(std::move(permit)),
      stream_(std::move(stream)),
      calls_(find_nghttp2()),
      output_waits_(home),
      account_(home.now()),
      max_used_(options_.streams),
      last_heard_(home.now()),
      idle_since_(last_heard_) {
  open_session();
}

http2_line::~http2_line() {
  loop_->disarm(timer_);
  calls_->session_del(session_);
}

auto http2_line::open(loop& home, const http_client::options& options, http_host& host, async_semaphore::permit permit,
                      std::variant<stream_socket, tls_stream> stream) -> http2_slot {
  const auto line = std::make_shared<http2_line>(home, options, host, std::move(permit), std::move(stream));
  host.shared.push_back(line);
  http2_slot first(line);
  try {
    home.spawn(run(line));
  } catch (...) {
    line->has_ended();
    throw;
  }
  return first;
}

auto http2_line::lease(http2_slot slot, std::shared_ptr<http_host> host) -> std::unique_ptr<http_lease> {
  return std::make_unique<http2_lease>(std::move(slot), std::move(host));
}

void http2_line::open_session() {
  const auto check = [](int result) {
    if (result != 0) throw std::bad_alloc();
  };
  const nghttp2_calls& calls = *calls_;
  nghttp2_session_callbacks* raw_callbacks = nullptr;
  check(calls.session_callbacks_new(&raw_callbacks));
  const std::unique_ptr<nghttp2_session_callbacks, decltype(calls.session_callbacks_del)> set(
      raw_callbacks, calls.session_callbacks_del);
  calls.session_callbacks_set_on_begin_headers_callback(raw_callbacks, &callbacks::begin_headers);
  calls.session_callbacks_set_on_header_callback(raw_callbacks, &callbacks::header);
  calls.session_callbacks_set_on_frame_recv_callback(raw_callbacks, &callbacks::frame_received);
  calls.session_callbacks_set_on_data_chunk_recv_callback(raw_callbacks, &callbacks::data_received);
  calls.session_callbacks_set_on_stream_close_callback(raw_callbacks, &callbacks::stream_closed);
  nghttp2_option* raw_options = nullptr;
  check(calls.option_new(&raw_options));
  const std::unique_ptr<nghttp2_option, decltype(calls.option_del)> options(raw_options, calls.option_del);
  calls.option_set_no_auto_window_update(raw_options, 1);  // a window opens when a call has read
  check(calls.session_client_new2(&session_, raw_callbacks, this, raw_options));
  const auto bounded = [](std::size_t value) {
    constexpr std::size_t max_value = 0x7fff'ffff;
    return static_cast<std::uint32_t>(std::min(value, max_value));
  };
  const std::array<nghttp2_settings_entry, 3> settings{{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, bounded(options_.stream_window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, bounded(limits_.head_bytes)},
  }};
  const auto window = static_cast<std::int32_t>(bounded(options_.connection_window));
  if (calls.submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
      calls.session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, window) != 0) {
    calls.session_del(session_);
    throw std::bad_alloc();
  }
}

auto http2_line::run(std::shared_ptr<http2_line> self) -> task<void> {
  const at_end ending([&self]() noexcept { self->has_ended(); });
  try {
    auto body = [&self](scope& scope) -> task<void> { return self->work(scope); };
    auto all = with_scope(std::ref(body));
    co_await std::move(all);
  } catch (const std::bad_alloc&) {
    self->lose(std::make_error_code(std::errc::not_enough_memory));
  }
}

auto http2_line::work(scope& scope) -> task<void> {
  around_ = &scope;
  const at_end ending([this]() noexcept { around_ = nullptr; });
  auto talking = std::holds_alternative<tls_stream>(stream_) ? talk(std::get<tls_stream>(stream_), scope)
                                                             : talk(std::get<stream_socket>(stream_), scope);
  co_await std::move(talking);
}

template <transport Stream>
auto http2_line::talk(const Stream& stream, scope& scope) -> task<void> {
  scope.spawn(write_all(stream));
  auto reading = read_all(stream);
  co_await std::move(reading);
  is_reading_over_ = true;
  lose(is_refused_ ? make_error_code(http_errc::bad_frame) : make_error_code(http_errc::truncated));
  cut_soon();
  wake();
}

template <transport Stream>
auto http2_line::read_all(const Stream& stream) -> task<void> {
  std::vector<std::byte> room(http2_read_size);
  for (;;) {
    const result<std::size_t> got = co_await stream.read_some(room);
    const bool is_ended = !got && got.error() == std::errc::operation_canceled;
    if (!got && !is_ended && got.error() != tls_errc::truncated) lose(got.error());
    if (!got || *got == 0) co_return;
    if (!parse({reinterpret_cast<const char*>(room.data()), *got})) co_return;
    co_await yield();
  }
}

template <transport Stream>
auto http2_line::write_all(const Stream& stream) -> task<void> {
  for (;;) {
    collect_output();
    if (!output_.empty()) {
      is_writing_ = true;
      const result<void> sent = co_await stream.write_all(bytes_of(output_));
      is_writing_ = !sent.has_value();
      if (sent) continue;
      lose(sent.error());
      cut();
      co_return;
    }
    if (is_reading_over_) co_return;
    check_end();
    auto waiting = output_waits_.until(time_point::max());
    static_cast<void>(co_await std::move(waiting));
  }
}

/// Returns whether the first bytes from the server show that it answers with HTTP/1. These bytes may arrive one at a
/// time; libnghttp2 refuses them only after more bytes have arrived.
auto http2_line::is_http1(std::string_view bytes) noexcept -> bool {
  constexpr std::string_view beginning = "HTTP/1.";
  if (has_settings_) return false;
  const std::string_view expected = beginning.substr(http1_heard_, bytes.size());
  http1_heard_ = bytes.starts_with(expected) ? http1_heard_ + expected.size() : 0;
  return http1_heard_ == beginning.size();
}

auto http2_line::parse(std::string_view bytes) -> bool {
  last_heard_ = loop_->now();
  if (is_http1(bytes)) {
    lose(http_errc::speaks_http1);
    return false;
  }
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const ::ssize_t parsed = calls_->session_mem_recv(session_, data, bytes.size());
  if (parsed == NGHTTP2_ERR_NOMEM || parsed == NGHTTP2_ERR_CALLBACK_FAILURE) throw std::bad_alloc();
  if (parsed < 0) refuse_server(parsed == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
  wake();
  return !is_refused_ && calls_->session_want_read(session_) != 0;
}

/// Ends the wait for bytes if libnghttp2 reads no more frames: after an error of the server, or after the last frame of
/// a connection that is closing.
void http2_line::check_end() noexcept {
  if (calls_->session_want_read(session_) != 0) return;
  is_refused_ |= !is_draining_;
  end_reads();
}

void http2_line::collect_output() {
  output_.clear();
  while (output_.size() < http2_write_size) {
    const std::uint8_t* bytes = nullptr;
    const ::ssize_t size = calls_->session_mem_send(session_, &bytes);
    if (size < 0) throw std::bad_alloc();
    if (size == 0) return;
    output_ += as_text(bytes, static_cast<std::size_t>(size));
  }
}

// The functions below end a connection.

/// Fails all calls. Only the first reason counts.
void http2_line::lose(std::error_code reason) noexcept {
  drain();
  if (!reason_) reason_ = reason;
  while (http2_lease* const lease = leases_.pop_front()) lease->lost(reason_);
}

/// Called when the tasks of the connection have ended or were stopped.
void http2_line::has_ended() noexcept {
  lose(http_errc::truncated);
  loop_->disarm(timer_);
  const auto* const secure = std::get_if<tls_stream>(&stream_);
  // The close notice of TLS is not sent in the middle of a write, so that the server can see that the write was cut.
  if (secure != nullptr && !is_writing_) static_cast<void>(secure->try_shutdown());
  std::visit([](auto& open) { open.close(); }, stream_);
  permit_.reset();
  if (host_ == nullptr) return;
  http_host& host = *std::exchange(host_, nullptr);
  std::erase_if(host.shared, [this](const auto& each) { return each.get() == this; });
  host.serve_waiting();
}

void http2_line::give_up() noexcept {
  host_ = nullptr;
  permit_.reset();
  drain();
  const auto* const secure = std::get_if<tls_stream>(&stream_);
  if (secure != nullptr && !is_writing_) static_cast<void>(secure->try_shutdown());
  is_writing_ = true;  // what is not sent now is not sent
  cut();
  if (around_ != nullptr) around_->request_stop();
}

/// Refuses further calls on the connection, and ends it after the last call.
void http2_line::drain() noexcept {
  is_draining_ = true;
  if (used_ == 0) end_reads();
}

void http2_line::end_reads() noexcept {
  if (is_reading_over_ || around_ == nullptr) return;
  socket().end_read_waits();
  cut_soon();
}

/// Ends a connection whose last frames cannot be sent, or whose last read does not end.
void http2_line::cut_soon() noexcept {
  if (!cut_at_) cut_at_ = after(loop_->now(), max_farewell);
  arm();
}

void http2_line::cut() noexcept { static_cast<void>(socket().shutdown(stream_socket::side::both)); }

auto http2_line::socket() const noexcept -> const stream_socket& {
  const auto* const secure = std::get_if<tls_stream>(&stream_);
  return secure != nullptr ? secure->socket() : *std::get_if<stream_socket>(&stream_);
}

// The functions below limit how much useless work a server may cause.

void http2_line::charge() noexcept {
  if (!account_.charge(loop_->now())) refuse_server(NGHTTP2_ENHANCE_YOUR_CALM);
}

void http2_line::refuse_server(std::uint32_t code) noexcept {
  if (std::exchange(is_refused_, true)) return;
  static_cast<void>(calls_->session_terminate_session(session_, code));
  wake();
}

void http2_line::read_settings() noexcept {
  const std::uint32_t allowed = calls_->session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  max_used_ = std::min<std::size_t>(options_.streams, allowed);
  if (host_ != nullptr) host_->serve_waiting();
}

auto http2_line::submit(http2_lease& lease, std::span<const nghttp2_nv> fields, bool has_output) -> std::int32_t {
  nghttp2_data_provider output{};
  output.read_callback = &callbacks::read_output;
  const std::int32_t id =
      calls_->submit_request(session_, nullptr, fields.data(), fields.size(), has_output ? &output : nullptr, &lease);
  if (id == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
  if (id < 0) return 0;
  leases_.push_back(lease);
  wake();
  return id;
}

auto http2_line::find(std::int32_t id) const noexcept -> http2_lease* {
  return static_cast<http2_lease*>(calls_->session_get_stream_user_data(session_, id));
}

// The functions below handle deadlines.

void http2_line::ping() noexcept {
  if (pinged_at_ || is_draining_) return;
  if (calls_->submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr) != 0) return;
  pinged_at_ = loop_->now();
  arm();
  wake();
}

auto http2_line::next_deadline() const noexcept -> time_point {
  if (cut_at_) return *cut_at_;
  if (pinged_at_) return after(*pinged_at_, options_.ping_interval);
  if (used_ > 0) return after(last_heard_, options_.ping_interval);
  return after(idle_since_, idle_timeout_);
}

/// Arms the timer for the next deadline, unless the timer is already armed for an earlier time.
void http2_line::arm() noexcept {
  const time_point next = next_deadline();
  if (next == time_point::max() || (timer_.is_armed() && armed_for_ <= next)) return;
  armed_for_ = next;
  loop_->arm(timer_, next);
}

void http2_line::check_deadlines() noexcept {
  if (loop_->now() < next_deadline()) return arm();
  if (cut_at_) return cut();
  if (pinged_at_) {
    lose(std::make_error_code(std::errc::timed_out));
    return cut();
  }
  if (used_ > 0) return ping();
  static_cast<void>(calls_->session_terminate_session(session_, NGHTTP2_NO_ERROR));  // idle for too long
  drain();
  wake();
}

#else

http2_slot::http2_slot(std::shared_ptr<http2_line> line) noexcept : line_(std::move(line)) {}
void http2_slot::free() noexcept {}
void http2_line::give_up() noexcept {}
auto http2_line::open(loop& /*on*/, const http_client::options& /*options*/, http_host& /*host*/,
                      async_semaphore::permit /*permit*/, std::variant<stream_socket, tls_stream> /*stream*/)
    -> http2_slot {
  return {};
}
auto http2_line::lease(http2_slot /*slot*/, std::shared_ptr<http_host> /*host*/) -> std::unique_ptr<http_lease> {
  return nullptr;
}

#endif

}  // namespace braid::detail
