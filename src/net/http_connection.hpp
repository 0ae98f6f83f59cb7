// src/net/http_connection.hpp: declares a server's HTTP/1.1 connection, which serves requests one after the other and
// has deadlines.
#pragma once

#include "http_call.hpp"
#include "http_input.hpp"
#include "http_pacer.hpp"
#include "http_service.hpp"

#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/detail/http_body_decoder.hpp>
#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/detail/http_parser.hpp>
#include <braid/net/http_server.hpp>
#include <braid/trace/detail/metric_source.hpp>
#include <braid/trace/trace.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace braid::detail {

/// An HTTP/1.1 connection of a server. The derived class `http_connection_over` adds the transport, plain or TLS.
/// States: docs/design/http.md
class http_connection : public served_connection, public http_call {
 public:
  http_connection(const http_connection&) = delete;
  auto operator=(const http_connection&) -> http_connection& = delete;

  void close_idle() noexcept override;
  /// Does nothing. The base class calls this function only for busy HTTP/2 connections. A busy HTTP/1.1 connection ends
  /// by itself after its next answer, which announces the end.
  void retire() noexcept override {}

  [[nodiscard]] auto peer() const -> result<socket_address> override { return socket_->peer_address(); }
  [[nodiscard]] auto has_whole_body() const noexcept -> bool override {
    return work_->body.ends_within(input_.view().size());
  }
  auto read_body_now() -> std::optional<std::string_view> override;
  [[nodiscard]] auto trailers() const noexcept -> http_fields override { return work_->body.trailers(); }
  void reply(http_status status, std::string_view type, std::string_view body) override;
  void begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) override;
  void switch_protocol(std::string_view fields) override;

 protected:
  static constexpr std::size_t max_output = 64 * 1024;  // the maximum size of answers that are sent together

  enum class wait : std::uint8_t { none, idle, head, body, write, linger };
  enum class next : std::uint8_t { read, serve, refuse, http2 };

  struct deadline_timer : timer {
    explicit deadline_timer(http_connection& c) noexcept : timer(&fired), owner(&c) {}
    http_connection* owner;
  };

  /// A guard that marks that bytes are being sent. If a stop interrupts the write, the number of sent bytes is unknown,
  /// so the connection cannot continue.
  class sending {
   public:
    explicit sending(http_connection& connection) noexcept : connection_(&connection) { connection.is_sending_ = true; }
    sending(const sending&) = delete;
    auto operator=(const sending&) -> sending& = delete;
    ~sending() {
      connection_->is_sending_ = false;
      connection_->write_deadline_ = time_point::max();
      if (!is_over_) connection_->answer_ = answer::broken;
    }
    void over() noexcept { is_over_ = true; }

   private:
    http_connection* connection_;
    bool is_over_ = false;
  };

  /// Constructs a connection. If `may_be_http2`, the client may begin with the preface of HTTP/2.
  http_connection(http_service& service, bool may_be_http2);
  ~http_connection();

  /// Sets the socket of the transport. The socket must exist as long as the connection does.
  void go_through(const stream_socket& socket) noexcept { socket_ = &socket; }

  static void fired(timer& self) noexcept;
  void wait_until(wait reason, time_point deadline) noexcept;
  void stop_waiting() noexcept;
  void wait_for_write() noexcept;
  void arm_for(time_point deadline) noexcept;
  void end_read() noexcept;
  void cut() noexcept;

  void received(std::size_t bytes);
  void rest() noexcept;
  auto look_at_input() -> next;
  void wait_for_request() noexcept;
  [[nodiscard]] auto give_up_head() -> bool;
  [[nodiscard]] auto is_late() const noexcept -> bool { return service_->on.now() >= deadline_; }
  [[nodiscard]] static auto was_ended(const result<std::size_t>& got) noexcept -> bool;
  void begin_request();
  void end_pieces() override;
  auto after_request() -> bool;
  [[nodiscard]] auto is_held_back() noexcept -> bool;
  auto wait_for_pacer() -> task<void>;
  void discard_body();
  static void clear(std::string& output) noexcept;

  auto append_answer(http_status status, http_framing framing, std::string_view type) -> bool;
  void append_end();

  const stream_socket* socket_ = nullptr;
  http_input input_;
  std::optional<time_point> head_deadline_;
  bool may_be_http2_;           // the received bytes may be the preface of HTTP/2
  unsigned in_succession_ = 0;  // the number of requests served without a wait

  deadline_timer timer_{*this};
  time_point now_;  // the time at which the last wait ended
  time_point deadline_ = time_point::max();
  time_point write_deadline_ = time_point::max();  // the deadline of a write, during which the handler may read
  time_point armed_for_ = time_point::max();
  std::optional<time_point> cut_at_;  // the time to cut a read that was asked to end
  wait waits_for_ = wait::none;
  bool close_requested_ = false;  // the server has requested the close of this idle connection
};

}  // namespace braid::detail
