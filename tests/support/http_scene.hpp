// tests/support/http_scene.hpp: a server and its clients, on one loop that the test runs step by step.
#pragma once

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/http_dialogue.hpp>
#include <tests/support/tested_transport.hpp>
#include <tests/support/test_loop.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace braid::testing {

/// A client that writes what it is told, byte by byte if need be, and keeps what it hears.
class http_talker {
 public:
  http_talker(test_loop& here, socket_address to) : here_(&here) {
    auto connecting = stream_socket::connect(here.io(), to);
    outcome<result<stream_socket>> made = here.run(std::move(connecting));
    stream_socket socket = std::move(made.take().value());
    number_ = socket.number();
    here.io().spawn(listen(*this, std::move(socket)));
    here.run_once(tests_tls() ? iterations_of_handshake : 8);
  }
  http_talker(const http_talker&) = delete;
  auto operator=(const http_talker&) -> http_talker& = delete;
  ~http_talker() {
    if (ended_ || here_->io().status() == loop::state::stopped) return;
    ::shutdown(number_, SHUT_RDWR);
    if (std::exchange(deaf_, false)) here_->advance(1s);
    static_cast<void>(here_->run_until([&] { return ended_; }));
  }

  /// What is written and not taken at once is written by a task.
  void say(std::string_view text) {
    say_unheard(text);
    here_->run_once();
  }
  /// The same without a turn of the loop: the kernel has it, and the server has not looked.
  void say_unheard(std::string_view text) {
    auto write = [](http_talker& by, std::string all) -> task<void> {
      co_await by.open_;
      if (!by.ended_) static_cast<void>(co_await by.stream_.write_all(bytes_of(all)));
      --by.writes_;
    };
    ++writes_;
    here_->io().spawn(write(*this, std::string(text)));
  }
  void finish() {
    static_cast<void>(here_->run_until([&] { return writes_ == 0 || ended_; }));
    auto end = [](http_talker& by) -> task<void> { static_cast<void>(co_await by.stream_.finish()); };
    if (!ended_) here_->io().spawn(end(*this));
    here_->run_once();
  }
  /// Stops to listen, so that the other side's writes stay.
  void be_deaf() { deaf_ = true; }

  [[nodiscard]] auto heard() const noexcept -> const std::string& { return heard_; }
  [[nodiscard]] auto ended() const noexcept -> bool { return ended_; }
  [[nodiscard]] auto error() const noexcept -> std::error_code { return error_; }
  [[nodiscard]] auto hears(std::string_view text) -> bool {
    return here_->run_until([&] { return heard_.find(text) != std::string::npos || ended_; }) &&
           heard_.find(text) != std::string::npos;
  }
  [[nodiscard]] auto hears_end() -> bool {
    return here_->run_until([&] { return ended_; });
  }
  void forget() { heard_.clear(); }

 private:
  static constexpr int iterations_of_handshake = 40;

  static auto listen(http_talker& by, stream_socket socket) -> task<void> {
    auto opening = tested_stream::as_client(std::move(socket));
    result<tested_stream> opened = co_await std::move(opening);
    if (opened)
      by.stream_ = std::move(*opened);
    else
      by.error_ = opened.error();
    if (opened) {
      by.open_.set();
      co_await hear(by);
    }
    by.ended_ = true;
    by.open_.set();
  }
  static auto hear(http_talker& by) -> task<void> {
    std::array<std::byte, 4096> room{};
    for (;;) {
      while (by.deaf_) co_await sleep_for(1ms);
      const result<std::size_t> got = co_await by.stream_.read_some(room);
      if (!got) by.error_ = got.error();
      if (!got || *got == 0) break;
      by.heard_ += text_of(std::span(room).first(*got));
    }
    static_cast<void>(co_await by.stream_.finish());
  }

  test_loop* here_;
  tested_stream stream_;
  event open_;
  int number_ = -1;
  std::string heard_;
  std::error_code error_;
  bool ended_ = false;
  int writes_ = 0;
  bool deaf_ = false;
};

class http_scene {
 public:
  explicit http_scene(const http_router& routes, http_server::options options = {})
      : server_(std::make_unique<http_server>(here.io(), routes, tested(std::move(options)))) {
    auto listener = stream_listener::listen(here.io(), socket_address::loopback(0));
    address_ = listener.value().local_address().value();
    auto serve = [](http_scene& by, stream_listener taken) -> task<void> {
      by.served_ = co_await by.server_->serve(std::move(taken));
      by.over_ = true;
    };
    here.io().spawn(serve(*this, std::move(*listener)));
    here.run_once();
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
    here.run_once();
  }

  test_loop here;

 private:
  std::unique_ptr<http_server> server_;
  socket_address address_;
  std::optional<result<void>> served_;
  bool over_ = false;
};

/// The statuses of what came back, as `200 404`; and what is wrong with it, if anything.
inline auto statuses_of(std::string_view text, http_method asked = http_method::get) -> std::string {
  http_dialogue<braid::detail::http_response_parser> seen({text}, {.body_bytes = 1U << 30U}, asked);
  seen.end();
  std::string out;
  for (const std::string& one : seen.messages()) (out += out.empty() ? "" : " ") += one.substr(0, 3);
  if (seen.refusal()) out += " " + make_error_code(*seen.refusal()).message();
  if (!seen.outcomes().empty() && seen.outcomes().back() == "more") out += " more";
  return out;
}

}  // namespace braid::testing
