// src/net/websocket.cpp: implements the server side of a WebSocket: its handshake, its messages and its end.
#include <braid/net/websocket.hpp>

#include "http_call.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_text.hpp>
#include <braid/net/http_server.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace braid {
namespace {

using detail::websocket_code;
using detail::websocket_opcode;

/// Calls `fn` for each list element in all fields with this name, until `fn` returns true. The fields contain
/// comma-separated lists. Returns whether `fn` has returned true. `name` must be in lower case.
template <typename Fn>
auto any_element(const http_fields& fields, std::string_view name, Fn fn) -> bool {
  for (const http_fields::field& each : fields) {
    if (!detail::equals_lower(each.name, name)) continue;
    for (std::string_view rest = each.value;;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view element = rest.substr(0, comma);
      while (element.starts_with(' ') || element.starts_with('\t')) element.remove_prefix(1);
      while (element.ends_with(' ') || element.ends_with('\t')) element.remove_suffix(1);
      if (fn(element)) return true;
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

auto has_token(const http_fields& fields, std::string_view name, std::string_view token) -> bool {
  return any_element(fields, name, [&](std::string_view each) { return detail::equals_lower(each, token); });
}

/// Returns whether the key is the base64 encoding of 16 bytes.
auto is_handshake_key(std::string_view key) noexcept -> bool {
  constexpr std::size_t size = 24;
  if (key.size() != size || !key.ends_with("==")) return false;
  return std::ranges::all_of(key.substr(0, size - 2), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  });
}

}  // namespace

/// Answers the handshake of the client. Returns false if the handshake was refused.
auto websocket::accept() -> bool {
  const http_request_head& head = exchange_->request();
  const std::string_view key = head.fields.find("sec-websocket-key").value_or("");
  const bool asks = head.method == http_method::get && head.minor_version > 0 &&
                    has_token(head.fields, "upgrade", "websocket") && has_token(head.fields, "connection", "upgrade");
  if (!asks || head.fields.find("sec-websocket-version") != "13") {
    static_cast<void>(exchange_->set_field("Upgrade", "websocket"));
    static_cast<void>(exchange_->set_field("Sec-WebSocket-Version", "13"));
    exchange_->reply(http_status::upgrade_required, "Expected a WebSocket handshake of version 13.\n");
    return false;
  }
  if (!is_handshake_key(key) || head.fields.count("sec-websocket-key") != 1 || !exchange_->has_whole_body()) {
    exchange_->reply(http_status::bad_request, "Sec-WebSocket-Key must be 16 bytes in base64.\n");
    return false;
  }
  any_element(head.fields, "sec-websocket-protocol", [this](std::string_view offered) {
    const auto known = std::ranges::find(options_.protocols, offered);
    if (known != options_.protocols.end()) protocol_ = *known;
    return known != options_.protocols.end();
  });
  std::string fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ";
  fields += detail::websocket_accept(key) + "\r\n";
  if (!protocol_.empty()) fields.append("Sec-WebSocket-Protocol: ").append(protocol_) += "\r\n";
  exchange_->call_->switch_protocol(fields);
  return true;
}

auto websocket::receive() -> task<result<std::optional<websocket_message>>> {
  using answer = result<std::optional<websocket_message>>;
  using found = detail::websocket_reader::found;
  while (!has_ended_) {
    switch (reader_.next(input_)) {
      case found::message:
        detail::add_to_count(exchange_->call_->counts().websocket_messages);
        co_return websocket_message{.data = reader_.message(), .is_text = reader_.is_text()};
      case found::ping: static_cast<void>(co_await send(websocket_opcode::pong, reader_.control())); break;
      case found::pong: break;
      case found::close:
        has_ended_ = true;
        close_code_ = reader_.code();
        static_cast<void>(co_await send_close(close_code_ == detail::no_close_code ? 1000 : close_code_, {}));
        break;
      case found::failure:
        has_ended_ = true;
        static_cast<void>(co_await send_close(reader_.code(), {}));
        co_return fail(std::make_error_code(std::errc::protocol_error));
      case found::nothing: {
        exchange_->call_->restart_body_timeout();
        const result<std::string_view> piece = co_await exchange_->read_some();
        if (!piece && piece.error() == http_errc::used_twice) co_return fail(piece.error());
        if (!piece) has_ended_ = true;
        if (!piece) co_return fail(piece.error());
        input_ = *piece;
      }
    }
  }
  co_return answer(std::nullopt);
}

auto websocket::write(std::string_view frame) -> task<result<void>> {
  const auto alone = co_await lock_.lock();
  co_return co_await exchange_->write(frame);
}

auto websocket::send(websocket_opcode opcode, std::string_view payload) -> task<result<void>> {
  if (has_sent_close_) co_return fail(errc::finished);
  std::string frame;
  detail::append_websocket_frame(frame, opcode, payload);
  co_return co_await write(frame);
}

auto websocket::send_text(std::string_view text) -> task<result<void>> {
  if (!detail::is_utf8(text)) co_return fail(errc::invalid_argument);
  co_return co_await send(websocket_opcode::text, text);
}

auto websocket::send_binary(std::string_view data) -> task<result<void>> {
  co_return co_await send(websocket_opcode::binary, data);
}

auto websocket::send_close(std::uint16_t code, std::string_view reason) -> task<result<void>> {
  if (std::exchange(has_sent_close_, true)) co_return result<void>();
  std::string frame;
  detail::append_websocket_close(frame, code, reason);
  co_return co_await write(frame);
}

auto websocket::close(std::uint16_t code, std::string_view reason) -> task<result<void>> {
  if (!detail::is_close_code(code) || !detail::is_utf8(reason)) co_return fail(errc::invalid_argument);
  co_return co_await send_close(code, reason);
}

/// Sends pings at intervals, and closes the connection if the server stops.
auto websocket::keep_alive() -> task<void> {
  const bool pings = options_.ping_interval > duration::zero();
  const duration tick = pings ? std::min(options_.ping_interval, detail::max_stream_tick) : detail::max_stream_tick;
  home& here = (co_await this_scope()).where();
  for (time_point last = here.now(); !has_sent_close_;) {
    co_await sleep_for(tick);
    if (exchange_->call_->is_server_stopping())
      static_cast<void>(co_await send_close(static_cast<std::uint16_t>(websocket_code::going_away), {}));
    if (!pings || here.now() - last < options_.ping_interval) continue;
    last = here.now();
    static_cast<void>(co_await send(websocket_opcode::ping, {}));
  }
}

/// Sends a close message, and reads until the client's close message arrives.
auto websocket::end() -> task<void> {
  static_cast<void>(co_await send_close(static_cast<std::uint16_t>(websocket_code::normal), {}));
  while (!has_ended_) {
    const auto got = co_await receive();
    if (!got || !*got) break;
  }
}

auto http_exchange::websocket(websocket_options options, std::function<task<void>(braid::websocket&)> serve)
    -> task<result<void>> {
  braid::websocket socket(*this, options);
  if (!socket.accept()) co_return fail(std::make_error_code(std::errc::protocol_error));
  const detail::counted_open counted(call_->counts().websockets);
  if (const result<void> head = co_await socket.write({}); !head) co_return head;
  std::exception_ptr failure;
  auto body = [&](scope& scope) -> task<void> {
    scope.spawn(socket.keep_alive());
    try {
      co_await serve(socket);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr)
      static_cast<void>(co_await socket.send_close(static_cast<std::uint16_t>(websocket_code::internal_error), {}));
    auto ends = with_timeout(call_->linger_timeout(), socket.end());
    static_cast<void>(co_await std::move(ends));
    const auto alone = co_await socket.lock_.lock();  // waits until a ping was sent completely
    scope.request_stop();
  };
  auto ended = with_scope(body);
  co_await std::move(ended);
  if (failure != nullptr) std::rethrow_exception(failure);
  co_return result<void>();
}

}  // namespace braid
