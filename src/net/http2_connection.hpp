// src/net/http2_connection.hpp: a connection of HTTP/2: its streams, its deadlines, and what a client may cost.
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

/// An account of what a client does that costs the server something and asks for nothing: each such frame is charged,
/// time and answered requests refill it.
class http2_account {
 public:
  explicit http2_account(time_point now) noexcept : refilled_(now) {}

  /// Returns false if the account is overdrawn.
  [[nodiscard]] auto charge(time_point now) noexcept -> bool;
  void add() noexcept;

 private:
  static constexpr std::int64_t max_saved = 400;
  static constexpr std::int64_t gain_per_second = 100;

  std::int64_t saved_ = max_saved;
  time_point refilled_;
};

/// The numbers of the streams that a client has used last.
class http2_stream_numbers {
 public:
  /// Notes a stream. Returns false if its number is less than that of a later stream, and was not used before.
  [[nodiscard]] auto add(std::uint32_t id) noexcept -> bool;
  /// Notes that the client has reset a stream.
  void reset(std::uint32_t id) noexcept { reset_[id / 2 % kept] = is_kept(id); }
  [[nodiscard]] auto was_reset(std::uint32_t id) const noexcept -> bool { return is_kept(id) && reset_[id / 2 % kept]; }

 private:
  static constexpr std::size_t kept = 1024;

  [[nodiscard]] auto is_kept(std::uint32_t id) const noexcept -> bool {
    return id % 2 == 1 && id / 2 <= last_ && last_ - id / 2 < kept;
  }

  std::bitset<kept> used_;   // by half the number, modulo its size
  std::bitset<kept> reset_;  // the same
  std::uint32_t last_ = 0;   // half the number
};

/// All of a connection but the bytes' way, which `http2_connection_over` knows. libnghttp2 reads and writes the frames.
/// Its callbacks only note what has arrived; handlers are called afterwards. States: docs/design/http.md
class http2_connection : public served_connection {
 public:
  http2_connection(const http2_connection&) = delete;
  auto operator=(const http2_connection&) -> http2_connection& = delete;

  void close_idle() noexcept override;
  void retire() noexcept override;

  // For its streams.
  [[nodiscard]] auto service() const noexcept -> http_service& { return *service_; }
  [[nodiscard]] auto calls() const noexcept -> const nghttp2_calls& { return *calls_; }
  [[nodiscard]] auto session() const noexcept -> nghttp2_session* { return session_; }
  [[nodiscard]] auto socket() const noexcept -> const stream_socket& { return *socket_; }
  /// Notifies the task that writes.
  void wake() noexcept { output_waits_.notify(); }
  void pace() noexcept { is_paced_ = true; }
  [[nodiscard]] auto find(std::int32_t id) const noexcept -> http2_stream*;
  void begins(http2_stream& stream) noexcept;
  void ends(http2_stream& stream) noexcept;
  /// A request was answered, and the client has received the answer as far as it is known.
  void answered() noexcept { account_.add(); }

 protected:
  http2_connection(http_service& service, const stream_socket& socket);
  virtual ~http2_connection();

  /// Parses what has arrived. Returns false if nothing more is to be read.
  [[nodiscard]] auto parse(std::string_view bytes) -> bool;
  /// Starts the handlers of the requests that have arrived.
  void start_ready(scope& scope);
  /// Fills `output_`.
  void collect_output();
  /// Called when the connection waits for frames: it counts as idle if it has no requests.
  void rest() noexcept;
  /// The wait for bytes has been ended. Returns false if the connection ends.
  [[nodiscard]] auto continues_to_read() noexcept -> bool;
  void input_ends() noexcept;
  void lose_streams() noexcept;
  void check_end() noexcept;
  void wait_for_write() noexcept;
  void stop_waiting_for_write() noexcept { write_deadline_ = time_point::max(); }
  void cut_after(duration span) noexcept;
  /// A read has ended, so that it need not be cut.
  void read_ended() noexcept {
    cut_at_.reset();
    now_ = service_->on.now();
  }

  http_service* service_;
  http2_wait output_waits_;
  std::string output_;
  bool is_reading_over_ = false;
  bool is_broken_ = false;   // bytes could not be sent, or not be read
  bool is_paced_ = false;    // an answer refuses because the server is full
  std::size_t running_ = 0;  // streams with a task, or with one that is about to start
  time_point now_;           // when bytes arrived last

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
  std::vector<std::unique_ptr<http2_stream>> ready_;  // their tasks have not started
  http2_head head_;                                   // of the request whose fields arrive
  http2_account account_;
  http2_stream_numbers numbers_;

  deadline_timer timer_{*this};
  time_point armed_for_ = time_point::max();
  time_point write_deadline_ = time_point::max();
  time_point goodbye_at_ = time_point::max();  // requests that arrive later are not begun
  std::optional<time_point> head_since_;       // when the first field of a head arrived that is not complete
  std::int32_t head_id_ = 0;                   // of its stream
  std::optional<time_point> cut_at_;
  time_point idle_since_;
  bool has_settings_ = false;     // the client has begun to speak HTTP/2
  bool close_requested_ = false;  // by the server, when it was idle
  bool is_retired_ = false;
  bool has_said_goodbye_ = false;
  bool has_left_ = false;    // the client has said goodbye
  bool is_refused_ = false;  // the client has cost too much, or violates the protocol
};

}  // namespace braid::detail

#endif
