// src/net/http_exchange.cpp: implements `http_exchange`, through which a handler uses its connection.
#include <braid/net/http_server.hpp>

#include "http_call.hpp"

namespace braid {

auto http_exchange::request() const noexcept -> const http_request_head& { return call_->head(); }

auto http_exchange::value(std::string_view name) const noexcept -> std::string_view {
  return call_->match().value(name).value_or(std::string_view());
}

auto http_exchange::route() const noexcept -> std::string_view { return call_->route(); }

auto http_exchange::peer() const -> result<socket_address> { return call_->peer(); }

auto http_exchange::answered() const noexcept -> bool { return call_->is_answered(); }

auto http_exchange::status() const noexcept -> std::optional<http_status> {
  if (!call_->is_answered()) return std::nullopt;
  return call_->status();
}

auto http_exchange::read_some() -> task<result<std::string_view>> { return call_->read_body(); }

auto http_exchange::read_all() -> task<result<std::string>> {
  std::string out;
  for (;;) {
    const result<std::string_view> piece = co_await call_->read_body();
    if (!piece) co_return fail(piece.error());
    if (piece->empty()) co_return out;
    out += *piece;
  }
}

auto http_exchange::has_whole_body() const noexcept -> bool { return call_->has_whole_body(); }

auto http_exchange::read_now() -> std::optional<std::string_view> { return call_->read_body_now(); }

auto http_exchange::trailers() const noexcept -> http_fields { return call_->trailers(); }

auto http_exchange::set_field(std::string_view name, std::string_view value) -> result<void> {
  return call_->set_field(name, value);
}

auto http_exchange::set_trailer(std::string_view name, std::string_view value) -> result<void> {
  return call_->set_trailer(name, value);
}

void http_exchange::reply(http_status status, std::string_view type, std::string_view body) {
  call_->reply(status, type, body);
}

void http_exchange::pace() noexcept { call_->pace(); }

void http_exchange::begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) {
  call_->begin(status, type, length);
}

auto http_exchange::write(std::string_view piece) -> task<result<void>> { return call_->write(piece); }

}  // namespace braid
