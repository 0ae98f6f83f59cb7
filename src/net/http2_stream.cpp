// src/net/http2_stream.cpp: handles the head, body and answer of one HTTP/2 request.
#include "http2_stream.hpp"

#include "http2_connection.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace braid::detail {
namespace {

auto read_output(nghttp2_session* /*session*/, std::int32_t id, std::uint8_t* room, std::size_t size,
                 std::uint32_t* flags, nghttp2_data_source* /*source*/, void* connection) -> ::ssize_t {
  http2_stream* const stream = static_cast<const http2_connection*>(connection)->find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const auto taken = stream->take_output(reinterpret_cast<char*>(room), size);
  if (!taken) return NGHTTP2_ERR_DEFERRED;
  if (stream->is_output_over()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!stream->is_output_over() || !stream->has_trailers()) return static_cast<::ssize_t>(*taken);
  *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  try {
    stream->submit_trailers();
  } catch (...) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  return static_cast<::ssize_t>(*taken);
}

/// Returns whether an answer may have this status and type.
auto is_sendable(http_status status, std::string_view type) -> bool {
  return is_final(status) && (type.empty() || check_field({"content-type", type}));
}

}  // namespace

// The functions below collect the heads of requests.

void http2_head::reset() noexcept {
  for (std::string* const each : {&method_, &target_, &authority_, &host_, &cookie_, &content_type_, &fields_})
    each->clear();
  size_ = 0;
  has_length_ = false;
  error_.reset();
}

void http2_head::append(std::string_view name, std::string_view value) {
  fields_.append(name).append(": ").append(value) += "\r\n";
}

void http2_head::add(std::string_view name, std::string_view value, const http_limits& limits) {
  size_ += name.size() + value.size() + 4;
  if (name == "content-type" && content_type_.empty()) content_type_ = value.substr(0, limits.head_bytes);
  if (size_ > limits.head_bytes) error_ = error_.value_or(http_errc::head_too_large);
  if (error_) return;
  // libnghttp2 has already refused such values. This check is repeated here, because a line end would turn a part of
  // the value into a field.
  if (find_control(value.data(), 0, value.size()) != value.size()) error_ = http_errc::bad_line_end;
  if (error_) return;
  if (name == ":method") {
    method_ = value;
  } else if (name == ":path") {
    target_ = value;
  } else if (name == ":authority") {
    authority_ = value;
  } else if (name == "host") {
    if (!host_.empty()) error_ = http_errc::bad_host;
    host_ = value;
  } else if (name == "cookie") {
    if (!cookie_.empty()) cookie_ += "; ";  // RFC 9113, section 8.2.3
    cookie_ += value;
  } else if (!name.starts_with(':')) {
    has_length_ |= name == "content-length";
    append(name, value);
  }
  if (!host_.empty() && !authority_.empty() && host_ != authority_) error_ = http_errc::bad_host;
}

auto http2_head::text(bool has_body) const -> std::string {
  std::string out;
  out.reserve(size_ + 64);
  const bool is_connect = method_ == "CONNECT";
  out.append(method_).append(" ").append(is_connect ? authority_ : target_).append(" HTTP/1.1\r\n");
  const std::string& host = authority_.empty() ? host_ : authority_;
  if (!host.empty()) out.append("host: ").append(host) += "\r\n";
  out += fields_;
  if (!cookie_.empty()) out.append("cookie: ").append(cookie_) += "\r\n";
  if (has_body && !has_length_) out += "transfer-encoding: chunked\r\n";
  return out += "\r\n";
}

// The functions below handle a stream from its request to the end of its answer.

http2_stream::http2_stream(http2_connection& connection, std::int32_t id, const http2_head& head, bool has_body)
    : http_call(connection.service()),
      connection_(&connection),
      id_(id),
      text_(head.text(has_body)),
      head_error_(head.error()),
      has_ended_(!has_body),
      input_waits_(connection.service().on),
      output_waits_(connection.service().on) {
  work_ = service_->workspaces.take();
  work_->body.start({});
  work_->output.clear();
  work_->body_error.reset();
  work_->body_deadline.reset();
  if (!head_error_) {
    const http_progress parsed = work_->parser.parse(text_);
    if (parsed == http_progress::needs_more) head_error_ = http_errc::bad_start_line;
    if (parsed == http_progress::refused) head_error_ = work_->parser.error();
  }
  if (head_error_) content_type_ = head.content_type();
  connection_->begins(*this);
}

http2_stream::~http2_stream() {
  discard_input();
  connection_->calls().session_set_stream_user_data(connection_->session(), id_, nullptr);
  if (!is_closed_) reset(NGHTTP2_CANCEL);
  connection_->ends(*this);
}

auto http2_stream::serve() -> task<void> {
  if (!head_error_ && head().body.length > max_body()) {
    head_error_ = http_errc::body_too_large;
    content_type_ = head().fields.find("Content-Type").value_or(std::string_view());
  }
  if (head_error_) {
    refuse(*head_error_);
  } else {
    task<void> answering = answer_request();
    co_await std::move(answering);
  }
  if (paced_) connection_->pace();
  discard_input();
  if (answer_ == answer::broken) co_return reset(NGHTTP2_INTERNAL_ERROR);
  if (is_sent_ && !has_ended_) reset(NGHTTP2_NO_ERROR);
  resume();
  const time_point deadline = after(service_->on.now(), service_->options.write_timeout);
  while (!is_closed_) {
    task<bool> waiting = output_waits_.until(deadline);
    if (co_await std::move(waiting)) continue;
    add_to_count(service_->counts.timeouts);
    co_return reset(NGHTTP2_CANCEL);
  }
  work_->parser.reset();
  work_->output.clear();
  if (work_->output.capacity() <= 128 * 1024) service_->workspaces.give_back(std::move(work_));
}

auto http2_stream::answer_request() -> task<void> {
  add_to_count(service_->counts.requests);
  in_request_ = true;
  continue_due_ = head().expects_continue && !has_ended_;
  const std::optional<http_errc> error = work_->body_error;
  find_route();
  max_body_ = max_body();
  work_->body_error = received_ > max_body_ ? http_errc::body_too_large : error;
  const trace::activity activity = shown();
  http_exchange exchange = open_exchange();
  called handled = call_handler(exchange);
  const http_router::route_options* const options = match().options();
  if (handled.rest && options != nullptr && options->stops_with_client)
    handled.rest = run_while_client_stays(std::move(handled.rest));
  if (handled.rest) handled.ended = co_await as_outcome(std::move(handled.rest));
  if (handled.ended.has_value() && is_stopped_ && answer_ != answer::whole) {
    answer_ = answer::broken;
    co_return reset(NGHTTP2_CANCEL);
  }
  finish_answer(handled.ended);
}

/// Runs a handler in a scope that `stop_handler` stops.
auto http2_stream::run_while_client_stays(task<void> handler) -> task<void> {
  struct leaves {
    http2_stream* stream;
    explicit leaves(http2_stream& s) noexcept : stream(&s) {}
    leaves(const leaves&) = delete;
    auto operator=(const leaves&) -> leaves& = delete;
    ~leaves() { stream->handler_scope_ = nullptr; }
  };
  auto body = [this, &handler](scope& around) -> task<void> {
    const leaves at_end(*this);
    handler_scope_ = &around;
    if (is_closed_ || is_lost_) stop_handler();
    co_await std::move(handler);
  };
  auto running = with_scope(std::ref(body));
  co_await std::move(running);
}

void http2_stream::stop_handler() noexcept {
  if (handler_scope_ == nullptr || answer_ == answer::whole) return;
  is_stopped_ = true;
  handler_scope_->request_stop();
}

void http2_stream::end_pieces() {
  answer_ = answer::whole;
  if (sends_body() && work_->framing.how == http_framing::kind::length && work_->written != work_->framing.length)
    answer_ = answer::broken;
}

void http2_stream::reset(std::uint32_t code) noexcept {
  if (is_closed_) return;
  static_cast<void>(connection_->calls().submit_rst_stream(connection_->session(), NGHTTP2_FLAG_NONE, id_, code));
  connection_->wake();
}

void http2_stream::closed() noexcept {
  is_closed_ = true;
  if (!has_ended_) is_lost_ = true;
  input_waits_.notify();
  output_waits_.notify();
  stop_handler();
}

void http2_stream::answer_sent() noexcept {
  if (!std::exchange(is_sent_, true)) connection_->answered();
  if (ignores_input_ && !has_ended_) reset(NGHTTP2_NO_ERROR);  // the rest of the body is not needed
}

auto http2_stream::peer() const -> result<socket_address> { return connection_->socket().peer_address(); }

// The functions below receive the body of the request.

void http2_stream::received(std::string_view data) {
  received_ += data.size();
  const bool is_too_much = received_ > max_body_;
  if (is_too_much && !work_->body_error) work_->body_error = http_errc::body_too_large;
  if (ignores_input_ || is_too_much) {
    // The window of this stream stays closed. The window of the connection is opened again, because other streams share
    // it.
    connection_->calls().session_consume_connection(connection_->session(), data.size());
  } else {
    input_ += data;
  }
  input_waits_.notify();
}

void http2_stream::received_trailers(const http2_head& fields) {
  work_->body.start({http_framing::kind::chunked, 0});
  const std::string text = fields.trailers();
  for (std::string_view rest = text; !rest.empty() && !work_->body.finished();) {
    const auto piece = work_->body.next(rest);
    if (!piece) {
      work_->body_error = piece.error();
      return;
    }
    rest.remove_prefix(piece->consumed);
  }
  if (fields.error()) work_->body_error = http_errc::trailers_too_large;
}

void http2_stream::input_ends() noexcept {
  has_ended_ = true;
  input_waits_.notify();
}

void http2_stream::input_is_lost() noexcept {
  if (!has_ended_) is_lost_ = true;
  input_waits_.notify();
  stop_handler();
}

/// Lets the client send `bytes` more bytes.
void http2_stream::give_back(std::size_t bytes) noexcept {
  if (bytes == 0) return;
  const nghttp2_calls& calls = connection_->calls();
  if (is_closed_)
    calls.session_consume_connection(connection_->session(), bytes);
  else
    calls.session_consume(connection_->session(), id_, bytes);
  connection_->wake();
}

/// Drops the bytes that the handler has not read, and bytes that arrive later.
void http2_stream::discard_input() noexcept {
  ignores_input_ = true;
  if (!input_.empty()) connection_->calls().session_consume_connection(connection_->session(), input_.size());
  input_.clear();
  connection_->wake();
}

auto http2_stream::take_input() noexcept -> std::string_view {
  read_.clear();
  read_.swap(input_);
  give_back(read_.size());
  continue_due_ = false;  // the client did not wait
  return read_;
}

auto http2_stream::read_body_now() -> std::optional<std::string_view> {
  if (work_->body_error || !has_ended_) return std::nullopt;
  return take_input();
}

auto http2_stream::read_body() -> task<result<std::string_view>> {
  if (is_reading_) co_return fail(http_errc::used_twice);
  const reading alone(*this);
  for (;;) {
    if (work_->body_error) co_return fail(*work_->body_error);
    if (!input_.empty()) co_return take_input();
    if (has_ended_ || ignores_input_) co_return std::string_view();
    if (is_lost_) co_return body_failed(http_errc::truncated);
    if (std::exchange(continue_due_, false) && !is_answered()) {
      const nghttp2_nv status = make_field(":status", "100");
      static_cast<void>(connection_->calls().submit_headers(connection_->session(), NGHTTP2_FLAG_NONE, id_, nullptr,
                                                            &status, 1, nullptr));
      connection_->wake();
    }
    if (!work_->body_deadline) work_->body_deadline = after(service_->on.now(), service_->options.body_timeout);
    task<bool> waiting = input_waits_.until(*work_->body_deadline);
    if (co_await std::move(waiting)) continue;
    add_to_count(service_->counts.timeouts);
    co_return body_failed(http_errc::too_slow);
  }
}

// The functions below send the answer.

class http2_stream::sending {
 public:
  sending(http2_stream& stream, std::string_view piece) noexcept : stream_(&stream) {
    stream.is_sending_ = true;
    stream.piece_ = piece;
  }
  sending(const sending&) = delete;
  auto operator=(const sending&) -> sending& = delete;
  ~sending() {
    stream_->is_sending_ = false;
    if (stream_->piece_.empty()) return;
    stream_->piece_ = {};
    stream_->answer_ = answer::broken;
  }

 private:
  http2_stream* stream_;
};

/// Sends the head of the answer. If `has_output`, a body follows.
void http2_stream::submit(http_status status, std::string_view type, std::optional<std::uint64_t> length,
                          bool has_output) {
  std::array<char, 20> digits{};
  std::array<char, 20> code{};
  const auto text = [](std::array<char, 20>& room, std::uint64_t number) {
    return std::string_view(room.data(), std::to_chars(room.data(), room.data() + room.size(), number).ptr);
  };
  std::vector<nghttp2_nv> fields;
  fields.reserve(work_->own_fields.size() + 4);
  fields.push_back(make_field(":status", text(code, static_cast<std::uint64_t>(status))));
  fields.push_back(make_field("date", service_->date(service_->on.now())));
  if (length && !is_bodiless(status)) fields.push_back(make_field("content-length", text(digits, *length)));
  if (!type.empty()) fields.push_back(make_field("content-type", type));
  for (const auto& [name, value] : work_->own_fields)
    if (!is_of_connections(name)) fields.push_back(make_field(name, value));
  nghttp2_data_provider output{};
  output.read_callback = &read_output;
  const int sent = is_closed_ ? 0
                              : connection_->calls().submit_response(connection_->session(), id_, fields.data(),
                                                                     fields.size(), has_output ? &output : nullptr);
  if (sent == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
  work_->status = status;
  connection_->wake();
}

void http2_stream::submit_trailers() const {
  std::vector<nghttp2_nv> fields;
  for (const auto& [name, value] : work_->own_trailers)
    if (!is_of_connections(name)) fields.push_back(make_field(name, value));
  const int sent = connection_->calls().submit_trailer(connection_->session(), id_, fields.data(), fields.size());
  if (sent == NGHTTP2_ERR_NOMEM) throw std::bad_alloc();
}

void http2_stream::reply(http_status status, std::string_view type, std::string_view body) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  if (!is_sendable(status, type)) {
    status = http_status::internal_server_error;
    type = body = {};
    work_->drop_fields();
  }
  work_->status = status;
  const bool has_output = sends_body() && (!body.empty() || has_trailers());
  if (has_output) work_->output = body;
  submit(status, type, has_trailers() ? std::nullopt : std::optional<std::uint64_t>(body.size()), has_output);
  answer_ = answer::whole;
}

void http2_stream::begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) {
  if (is_answered()) throw std::system_error(make_error_code(http_errc::answered_twice));
  if (!is_sendable(status, type)) return reply(status, type, {});
  if (has_trailers()) length.reset();
  work_->status = status;
  work_->framing =
      length ? http_framing{http_framing::kind::length, *length} : http_framing{http_framing::kind::chunked, 0};
  submit(status, type, length, sends_body());
  answer_ = answer::pieces;
}

auto http2_stream::write(std::string_view piece) -> task<result<void>> {
  if (answer_ != answer::pieces) co_return fail(errc::finished);
  if (is_sending_) co_return fail(http_errc::used_twice);
  const auto cut = [this](std::errc reason) {
    answer_ = answer::broken;
    return fail(std::make_error_code(reason));
  };
  if (!sends_body()) co_return result<void>();
  if (is_closed_) co_return cut(std::errc::connection_reset);
  if (piece.empty()) co_return result<void>();
  if (work_->framing.how == http_framing::kind::length && work_->framing.length - work_->written < piece.size()) {
    answer_ = answer::broken;
    co_return fail(errc::full);
  }
  work_->written += piece.size();
  const sending begun(*this, piece);
  resume();
  const time_point deadline = after(service_->on.now(), service_->options.write_timeout);
  while (!piece_.empty()) {
    if (is_closed_) co_return cut(std::errc::connection_reset);
    task<bool> waiting = output_waits_.until(deadline);
    if (co_await std::move(waiting)) continue;
    add_to_count(service_->counts.timeouts);
    reset(NGHTTP2_CANCEL);
    co_return cut(std::errc::timed_out);
  }
  co_return result<void>();
}

void http2_stream::switch_protocol(std::string_view /*fields*/) {
  BRAID_EXPECTS(false, "an HTTP/2 stream cannot switch to another protocol");
}

/// Tells libnghttp2 that there is more output for this stream, and wakes the task that writes.
void http2_stream::resume() noexcept {
  if (is_closed_) return;
  if (std::exchange(is_deferred_, false))
    static_cast<void>(connection_->calls().session_resume_data(connection_->session(), id_));
  connection_->wake();
}

auto http2_stream::take_output(char* room, std::size_t size) noexcept -> std::optional<std::size_t> {
  std::string_view from = std::string_view(work_->output).substr(output_at_);
  const bool is_piece = from.empty();
  if (is_piece) from = piece_;
  const std::size_t taken = std::min(size, from.size());
  if (taken != 0) std::memcpy(room, from.data(), taken);
  if (is_piece) {
    piece_.remove_prefix(taken);
    if (piece_.empty()) output_waits_.notify();
  } else {
    output_at_ += taken;
  }
  if (taken != 0 || is_output_over()) return taken;
  is_deferred_ = true;
  return std::nullopt;
}

}  // namespace braid::detail

#endif
