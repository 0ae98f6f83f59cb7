// src/net/http2_connection.hpp: declares an HTTP/2 connection: its streams, its deadlines, and an account that limits
// how much useless work a client may cause.
#pragma once

#include "http2_stream.hpp"
#include "http_service.hpp"
#include "nghttp2_calls.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/scope.hpp>
#include <braid/io/sockets.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::detail {

/// The numbers of the streams that a client has opened most recently.
class http2_stream_numbers {
 public:
  /// Records a stream. Returns false if its number is new although a higher number was already used.
  [[nodiscard]] auto add(std::uint32_t id) noexcept -> bool;
  /// Records that the client has reset a stream.
  void reset(std::uint32_t id) noexcept { reset_[id / 2 % kept] = is_kept(id); }
  [[nodiscard]] auto was_reset(std::uint32_t id) const noexcept -> bool { return is_kept(id) && reset_[id / 2 % kept]; }

 private:
  static constexpr std::size_t kept = 1024;

  [[nodiscard]] auto is_kept(std::uint32_t id) const noexcept -> bool {
    return id % 2 == 1 && id / 2 <= last_ && last_ - id / 2 < kept;
  }

  std::bitset<kept> used_;   // indexed by half the number of the stream, modulo the size
  std::bitset<kept> reset_;  // indexed like `used_`
  std::uint32_t last_ = 0;   // half the number of the last stream
};

/// An HTTP/2 connection. The derived class `http2_connection_over` adds the transport, plain or TLS. libnghttp2 parses
/// and formats the frames. The callbacks of libnghttp2 only record what has arrived, and handlers are called
/// afterwards. States: docs/design/http.md
class http2_connection : public served_connection {
 public:
  http2_connection(const http2_connection&) = delete;
  auto operator=(const http2_connection&) -> http2_connection& = delete;

  void close_idle() noexcept override;
  void retire() noexcept override;

  // Streams call the functions below.
  [[nodiscard]] auto service() const noexcept -> http_service& { return *service_; }
  [[nodiscard]] auto calls() const noexcept -> const nghttp2_calls& { return *calls_; }
  [[nodiscard]] auto session() const noexcept -> nghttp2_session* { return session_; }
  [[nodiscard]] auto socket() const noexcept -> const stream_socket& { return *socket_; }
  /// Wakes the task that writes to the connection.
  void wake() noexcept { output_waits_.notify(); }
  void pace() noexcept { is_paced_ = true; }
  [[nodiscard]] auto find(std::int32_t id) const noexcept -> http2_stream*;
  void begins(http2_stream& stream) noexcept;
  void ends(http2_stream& stream) noexcept;
  /// Called if a request was answered, and the answer was sent.
  void answered() noexcept {
    ++answered_;
    account_.add();
  }

 protected:
  http2_connection(http_service& service, const stream_socket& socket);
  virtual ~http2_connection();

  /// Parses bytes that have arrived. Returns false if the connection must not read any more.
  [[nodiscard]] auto parse(std::string_view bytes) -> bool;
  /// Starts the handlers of the requests that have arrived.
  void start_ready(scope& scope);
  /// Fills `output_` with the frames that are ready.
  void collect_output();
  /// Called before the connection waits for frames. A connection without requests then counts as idle.
  void rest() noexcept;
  /// Called if this side has ended the wait for bytes. Returns false if the connection must end.
  [[nodiscard]] auto continues_to_read() noexcept -> bool;
  void input_ends() noexcept;
  void lose_streams() noexcept;
  void check_end() noexcept;
  void wait_for_write() noexcept;
  void stop_waiting_for_write() noexcept { write_deadline_ = time_point::max(); }
  void cut_after(duration span) noexcept;
  /// Called after a read has ended. Cancels the deadline of the read, which would otherwise cut the connection.
  void read_ended() noexcept {
    cut_at_.reset();
    now_ = service_->on.now();
  }

  http_service* service_;
  http2_wait output_waits_;
  std::string output_;
  bool is_reading_over_ = false;
  bool is_broken_ = false;    // bytes could not be sent or received
  bool is_paced_ = false;     // an answer was a refusal, because the server is full
  std::size_t running_ = 0;   // the number of streams whose task runs or is about to start
  std::size_t answered_ = 0;  // the number of these streams whose answer was sent
  time_point now_;            // the time at which bytes last arrived

 private:
  struct deadline_timer : timer {
    explicit deadline_timer(http2_connection& c) noexcept : timer(&fired), owner(&c) {}
    static void fired(timer& self) noexcept { static_cast<deadline_timer&>(self).owner->check_deadlines(); }
    http2_connection* owner;
  };
  struct callbacks;
  friend struct callbacks;

  void open_session();
  void begin_head(std::int32_t id) noexcept;
  static auto serve(std::unique_ptr<http2_stream> stream) -> task<void>;
  void begin_stream(std::int32_t id, bool has_body);
  void frame_received(const nghttp2_frame& frame);
  void charge() noexcept;
  void refuse_client(std::uint32_t code) noexcept;
  void session_ends() noexcept;
  void say_goodbye() noexcept;
  [[nodiscard]] auto deadline_of_client() const noexcept -> time_point;
  void check_deadlines() noexcept;
  void arm_for(time_point deadline) noexcept;
  void end_reads() noexcept;

  const nghttp2_calls* calls_;
  nghttp2_session* session_ = nullptr;
  const stream_socket* socket_;
  intrusive_list<http2_stream> streams_;
  std::vector<std::unique_ptr<http2_stream>> ready_;  // streams whose tasks have not started
  http2_head head_;                                   // the head of the request whose fields are arriving
  http2_account account_;
  http2_stream_numbers numbers_;

  deadline_timer timer_{*this};
  time_point armed_for_ = time_point::max();
  time_point write_deadline_ = time_point::max();
  time_point goodbye_at_ = time_point::max();  // the time of GOAWAY: later requests are not served
  std::optional<time_point> head_since_;       // when the first field of an incomplete head arrived
  std::int32_t head_id_ = 0;                   // the number of that head's stream
  std::optional<time_point> cut_at_;
  time_point idle_since_;
  bool has_settings_ = false;     // the client has begun to speak HTTP/2
  bool close_requested_ = false;  // the server has requested the close of this idle connection
  bool is_retired_ = false;
  bool has_said_goodbye_ = false;
  bool has_left_ = false;    // the client has sent GOAWAY
  bool is_refused_ = false;  // the client has used too many resources, or violates the protocol
};

}  // namespace braid::detail

#endif
