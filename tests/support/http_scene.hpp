// tests/support/http_scene.hpp: a server and those who talk to it, on one loop that the test turns.
#pragma once

#include <braid/coro/sleep.hpp>
#include <braid/io/stream_listener.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/http_dialogue.hpp>
#include <tests/support/turned_loop.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::testing {

/// A client that writes what it is told, byte by byte if need be, and keeps what it hears.
class http_talker {
 public:
  http_talker(turned_loop& here, socket_address to) : here_(&here) {
    auto connecting = stream_socket::connect(here.io(), to);
    outcome<result<stream_socket>> made = here.run(std::move(connecting));
    socket_ = std::move(made.take().value());
    here.io().spawn(listen(*this));
    here.turn();
  }
  http_talker(const http_talker&) = delete;
  auto operator=(const http_talker&) -> http_talker& = delete;
  ~http_talker() {
    if (ended_ || here_->io().status() == loop::state::stopped) return;
    static_cast<void>(socket_.shutdown(socket_side::both));
    if (std::exchange(deaf_, false)) here_->advance(1s);
    static_cast<void>(here_->turn_until([&] { return ended_; }));
  }

  /// What is written and not taken at once is written by a task.
  void say(std::string_view text) {
    auto write = [](http_talker& by, std::string all) -> task<void> {
      static_cast<void>(co_await by.socket_.write_all(bytes_of(all)));
      by.writes_ = false;
    };
    writes_ = true;
    here_->io().spawn(write(*this, std::string(text)));
    here_->turn();
  }
  void finish() {
    static_cast<void>(here_->turn_until([&] { return !writes_ || ended_; }));
    static_cast<void>(socket_.shutdown(socket_side::write));
  }
  /// Stops to listen, so that the other side's writes stay.
  void be_deaf() { deaf_ = true; }

  [[nodiscard]] auto heard() const noexcept -> const std::string& { return heard_; }
  [[nodiscard]] auto ended() const noexcept -> bool { return ended_; }
  [[nodiscard]] auto error() const noexcept -> std::error_code { return error_; }
  [[nodiscard]] auto hears(std::string_view text) -> bool {
    return here_->turn_until([&] { return heard_.find(text) != std::string::npos || ended_; }) &&
           heard_.find(text) != std::string::npos;
  }
  [[nodiscard]] auto hears_end() -> bool {
    return here_->turn_until([&] { return ended_; });
  }
  void forget() { heard_.clear(); }

 private:
  static auto listen(http_talker& by) -> task<void> {
    std::array<std::byte, 4096> room{};
    for (;;) {
      while (by.deaf_) co_await sleep_for(1ms);
      const result<std::size_t> got = co_await by.socket_.read_some(room);
      if (!got) by.error_ = got.error();
      if (!got || *got == 0) break;
      by.heard_ += text_of(std::span(room).first(*got));
    }
    static_cast<void>(by.socket_.shutdown(socket_side::write));
    by.ended_ = true;
  }

  turned_loop* here_;
  stream_socket socket_;
  std::string heard_;
  std::error_code error_;
  bool ended_ = false;
  bool writes_ = false;
  bool deaf_ = false;
};

class http_scene {
 public:
  explicit http_scene(const http_router& routes, http_server_options options = {})
      : server_(std::make_unique<http_server>(here.io(), routes, std::move(options))) {
    auto listener = stream_listener::listen(here.io(), socket_address::loopback(0));
    address_ = listener.value().local_address().value();
    auto serve = [](http_scene& by, stream_listener taken) -> task<void> {
      by.served_ = co_await by.server_->serve(std::move(taken));
      by.over_ = true;
    };
    here.io().spawn(serve(*this, std::move(*listener)));
    here.turn();
  }

  http_scene(const http_scene&) = delete;
  auto operator=(const http_scene&) -> http_scene& = delete;
  ~http_scene() { here.stop(); }  // and its tasks, before what they use

  [[nodiscard]] auto server() noexcept -> http_server& { return *server_; }
  [[nodiscard]] auto address() const noexcept -> socket_address { return address_; }
  [[nodiscard]] auto talker() -> std::unique_ptr<http_talker> { return std::make_unique<http_talker>(here, address_); }
  [[nodiscard]] auto is_over() const noexcept -> bool { return over_; }

  /// Says `text`, and gives all that comes back until the server closes.
  [[nodiscard]] auto exchange(std::string_view text) -> std::string {
    const auto one = talker();
    one->say(text);
    one->finish();
    static_cast<void>(one->hears_end());
    return one->heard();
  }

  /// Asks the server to stop, without waiting.
  void stop(duration grace) {
    auto stopping = [](http_scene& by, duration within) -> task<void> { co_await by.server_->stop(within); };
    here.io().spawn(stopping(*this, grace));
    here.turn();
  }

  turned_loop here;

 private:
  std::unique_ptr<http_server> server_;
  socket_address address_;
  std::optional<result<void>> served_;
  bool over_ = false;
};

/// The statuses of what came back, as `200 404`; and what is wrong with it, if anything.
inline auto statuses_of(std::string_view text, http_method asked = http_method::get) -> std::string {
  http_dialogue<http_response_parser> seen({text}, {.body_bytes = 1U << 30U}, asked);
  seen.end();
  std::string out;
  for (const std::string& one : seen.messages()) (out += out.empty() ? "" : " ") += one.substr(0, 3);
  if (seen.refusal()) out += " " + make_error_code(*seen.refusal()).message();
  if (!seen.outcomes().empty() && seen.outcomes().back() == "more") out += " more";
  return out;
}

}  // namespace braid::testing
