// tests/support/http2_script.hpp: a server of HTTP/2 that answers each frame with the frames that a test chooses.
#pragma once

#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/test_loop.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

namespace braid::testing {

/// A frame that the server has received.
struct heard_frame {
  std::size_t connection = 0;
  frame_type type = frame_type::data;
  unsigned flags = 0;
  std::uint32_t stream = 0;
  std::string payload;

  /// Returns the number in a frame that consists of one, such as RST_STREAM, or the error of GOAWAY.
  [[nodiscard]] auto number() const -> std::uint32_t {
    std::uint32_t out = 0;
    for (const char each : payload.substr(type == frame_type::goaway ? 4 : 0, 4))
      out = out << 8U | static_cast<unsigned char>(each);
    return out;
  }
};

/// The head of an answer, as a frame.
inline auto answer_frame(std::uint32_t stream, std::string_view status, unsigned flags = 0,
                         const http2_fields& fields = {}) -> std::string {
  std::string block = literal(":status", status);
  for (const auto& [name, value] : fields) block += literal(name, value);
  return frame(frame_type::headers, flag_end_headers | flags, stream, block);
}

inline auto reset_frame(std::uint32_t stream, std::uint32_t code) -> std::string {
  return frame(frame_type::rst_stream, 0, stream, number32(code));
}

inline auto goaway_frame(std::uint32_t last, std::uint32_t code = 0) -> std::string {
  return frame(frame_type::goaway, 0, 0, number32(last) + number32(code));
}

/// A server of HTTP/2 that calls `reply` for each frame, and sends what it returns. By itself, it only acknowledges
/// settings.
class http2_script {
 public:
  using reply_fn = std::function<std::string(http2_script&, const heard_frame&)>;

  http2_script(test_loop& here, reply_fn reply, std::string_view settings = {})
      : here_(&here), reply_(std::move(reply)), first_(frame(frame_type::settings, 0, 0, settings)) {
    listener_ = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
    here.io().spawn(accept_all(*this));
    here.run_once();
  }
  http2_script(const http2_script&) = delete;
  auto operator=(const http2_script&) -> http2_script& = delete;
  ~http2_script() { here_->stop(); }

  [[nodiscard]] auto url() const -> std::string {
    return "http://" + listener_.local_address().value().to_string() + "/";
  }
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return streams_.size(); }
  [[nodiscard]] auto ended() const noexcept -> std::size_t { return ended_; }
  [[nodiscard]] auto heard() const noexcept -> const std::vector<heard_frame>& { return heard_; }
  [[nodiscard]] auto count(frame_type type) const -> std::ptrdiff_t {
    return std::ranges::count_if(heard_, [=](const heard_frame& each) { return each.type == type; });
  }
  /// Returns the last frame of a type.
  [[nodiscard]] auto last(frame_type type) const -> const heard_frame* {
    const heard_frame* found = nullptr;
    for (const heard_frame& each : heard_)
      if (each.type == type) found = &each;
    return found;
  }
  [[nodiscard]] auto hears(frame_type type, std::ptrdiff_t times = 1) -> bool {
    return here_->run_until([&] { return count(type) >= times; });
  }

  void say(std::string frames, std::size_t connection = 0) {
    auto write = [](stream_socket& to, std::string all) -> task<void> {
      static_cast<void>(co_await to.write_all(bytes_of(all)));
    };
    here_->io().spawn(write(*streams_[connection], std::move(frames)));
    here_->run_once();
  }
  /// Ends a connection once the frames that were returned are sent.
  void close(std::size_t connection) { closing_.push_back(connection); }

 private:
  static auto accept_all(http2_script& self) -> task<void> {
    for (;;) {
      auto got = co_await self.listener_.accept();
      if (!got) co_return;
      self.streams_.push_back(std::make_unique<stream_socket>(std::move(*got)));
      self.here_->io().spawn(serve(self, self.streams_.size() - 1));
    }
  }

  static auto serve(http2_script& self, std::size_t number) -> task<void> {
    stream_socket& socket = *self.streams_[number];
    static_cast<void>(co_await socket.write_all(bytes_of(self.first_)));
    std::string input;
    bool has_preface = false;
    std::array<std::byte, 16'384> room{};
    for (;;) {
      const result<std::size_t> got = co_await socket.read_some(room);
      if (!got || *got == 0) break;
      input += text_of(std::span(room).first(*got));
      if (!has_preface && input.size() < http2_preface.size()) continue;
      if (!std::exchange(has_preface, true)) input.erase(0, http2_preface.size());
      std::string out = self.take_frames(number, input);
      if (!out.empty()) static_cast<void>(co_await socket.write_all(bytes_of(out)));
      if (std::ranges::count(self.closing_, number) > 0) break;
    }
    ++self.ended_;
    static_cast<void>(socket.shutdown(stream_socket::side::both));
  }

  auto take_frames(std::size_t number, std::string& input) -> std::string {
    const auto value = [](std::string_view bytes) {
      std::uint32_t out = 0;
      for (const char each : bytes) out = out << 8U | static_cast<unsigned char>(each);
      return out;
    };
    std::string out;
    while (input.size() >= 9) {
      const std::size_t size = value(std::string_view(input).substr(0, 3));
      if (input.size() < 9 + size) break;
      const heard_frame& frame = heard_.emplace_back(heard_frame{
          .connection = number,
          .type = static_cast<frame_type>(input[3]),
          .flags = static_cast<unsigned char>(input[4]),
          .stream = value(std::string_view(input).substr(5, 4)),
          .payload = input.substr(9, size),
      });
      input.erase(0, 9 + size);
      const heard_frame copy = frame;
      const bool has_settings = frame.type == frame_type::settings && (frame.flags & flag_ack) == 0;
      if (has_settings) out += testing::frame(frame_type::settings, flag_ack, 0, {});
      out += reply_(*this, copy);
    }
    return out;
  }

  test_loop* here_;
  reply_fn reply_;
  std::string first_;
  stream_listener listener_;
  std::vector<std::unique_ptr<stream_socket>> streams_;
  std::vector<heard_frame> heard_;
  std::vector<std::size_t> closing_;
  std::size_t ended_ = 0;
};

/// A call of a client that a test begins, and whose end it looks at later.
class begun_call {
 public:
  begun_call(test_loop& here, http_client& client, http_client::call call) : state_(std::make_shared<state>()) {
    auto run = [](std::shared_ptr<state> into, http_client& by, http_client::call what) -> task<void> {
      auto fetching = by.fetch(std::move(what));
      into->answer = co_await std::move(fetching);
    };
    here.io().spawn(run(state_, client, std::move(call)));
    here.run_once();
  }

  [[nodiscard]] auto is_over() const noexcept -> bool { return state_->answer.has_value(); }
  /// Returns `200 body`, the message of the error, or `waits`.
  [[nodiscard]] auto text() const -> std::string {
    if (!is_over()) return "waits";
    const result<http_client::answer>& got = *state_->answer;
    if (!got) return got.error().message();
    return std::to_string(static_cast<int>(got->status)) + (got->body.empty() ? "" : " " + got->body);
  }

 private:
  struct state {
    std::optional<result<http_client::answer>> answer;
  };

  std::shared_ptr<state> state_;
};

/// Options of a client that speaks HTTP/2 at once.
inline auto knowing_http2(http_client::options options = {}) -> http_client::options {
  options.http2.use = http_client::http2_use::known;
  return options;
}

}  // namespace braid::testing

#endif
