// src/net/http2_line.hpp: declares a client's HTTP/2 connection to a server, which many calls share.
#pragma once

#include "http2_parts.hpp"
#include "http_lease.hpp"

#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

struct nghttp2_session;

namespace braid::detail {

struct http_host;
struct nghttp2_calls;
class http2_lease;
class http2_line;

/// A permit for one call on an HTTP/2 connection. The connection counts these permits, and limits their number.
class http2_slot {
 public:
  http2_slot() = default;
  explicit http2_slot(std::shared_ptr<http2_line> line) noexcept;
  http2_slot(http2_slot&& other) noexcept
      : line_(std::move(other.line_)), is_counted_(std::exchange(other.is_counted_, false)) {}
  auto operator=(http2_slot other) noexcept -> http2_slot& {
    std::swap(line_, other.line_);
    std::swap(is_counted_, other.is_counted_);
    return *this;
  }
  ~http2_slot() { free(); }

  /// Releases the permit for other calls. The connection stays accessible through this object.
  void free() noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return line_ != nullptr; }
  [[nodiscard]] auto line() const noexcept -> http2_line& { return *line_; }

 private:
  std::shared_ptr<http2_line> line_;
  bool is_counted_ = false;
};

/// Collects the fields of an answer's head or trailers, and formats these fields as in HTTP/1.1. The HTTP/1.1 parser
/// then applies the same rules and limits as for HTTP/1.1.
class http2_answer_fields {
 public:
  void reset() noexcept;
  void add(std::string_view name, std::string_view value, const http_limits& limits);

  [[nodiscard]] auto head() const -> std::string { return "HTTP/1.1 " + status_ + " \r\n" + fields_ + "\r\n"; }
  /// Returns the trailers in the format of the end of a chunked body.
  [[nodiscard]] auto trailers() const -> std::string { return "0\r\n" + fields_ + "\r\n"; }
  /// Returns an error that the HTTP/1.1 parser cannot find in the formatted fields.
  [[nodiscard]] auto error() const noexcept -> std::optional<http_errc> { return error_; }
  /// Returns the size of all fields, including the fields that were dropped because there were too many.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

 private:
  std::string status_;
  std::string fields_;  // as lines
  std::size_t size_ = 0;
  std::optional<http_errc> error_;
};

/// The client's side of an HTTP/2 connection. One task reads and another task writes; calls wait for what these two
/// tasks report. libnghttp2 parses and formats the frames. States: docs/design/http.md
/// Threads: only the loop's thread.
class http2_line {
 public:
  http2_line(loop& home, const http_client::options& options, http_host& host, async_semaphore::permit permit,
             std::variant<stream_socket, tls_stream> stream);
  http2_line(const http2_line&) = delete;
  auto operator=(const http2_line&) -> http2_line& = delete;
  ~http2_line();

  /// Starts HTTP/2 on a connected stream, and adds the new connection to the connections of the host. Returns the
  /// permit for the first call.
  [[nodiscard]] static auto open(loop& home, const http_client::options& options, http_host& host,
                                 async_semaphore::permit permit, std::variant<stream_socket, tls_stream> stream)
      -> http2_slot;
  /// Returns a call that uses this permit.
  [[nodiscard]] static auto lease(http2_slot slot, std::shared_ptr<http_host> host) -> std::unique_ptr<http_lease>;

  /// Returns whether one more call may use the connection.
  [[nodiscard]] auto has_room() const noexcept -> bool { return !is_draining_ && used_ < max_used_; }
  [[nodiscard]] auto is_idle() const noexcept -> bool { return !is_draining_ && used_ == 0; }
  /// Closes the connection. Called if the client is destroyed.
  void give_up() noexcept;

 private:
  friend class http2_slot;
  friend class http2_lease;
  struct callbacks;
  friend struct callbacks;
  struct deadline_timer : timer {
    explicit deadline_timer(http2_line& l) noexcept : timer(&fired), owner(&l) {}
    static void fired(timer& self) noexcept { static_cast<deadline_timer&>(self).owner->check_deadlines(); }
    http2_line* owner;
  };

  static auto run(std::shared_ptr<http2_line> self) -> task<void>;
  void open_session();
  auto work(scope& scope) -> task<void>;
  template <transport Stream>
  auto talk(const Stream& stream, scope& scope) -> task<void>;
  template <transport Stream>
  auto read_all(const Stream& stream) -> task<void>;
  template <transport Stream>
  auto write_all(const Stream& stream) -> task<void>;
  [[nodiscard]] auto parse(std::string_view bytes) -> bool;
  [[nodiscard]] auto is_http1(std::string_view bytes) noexcept -> bool;
  void check_end() noexcept;
  void collect_output();
  void lose(std::error_code reason) noexcept;
  void has_ended() noexcept;

  /// Wakes the task that writes to the connection.
  void wake() noexcept { output_waits_.notify(); }
#if defined(BRAID_NGHTTP2)
  /// Begins the stream of a call, and returns the stream's number, or 0 if all stream numbers are used.
  [[nodiscard]] auto submit(http2_lease& lease, std::span<const nghttp2_nv> fields, bool has_output) -> std::int32_t;
#endif
  [[nodiscard]] auto find(std::int32_t id) const noexcept -> http2_lease*;
  void slot_used() noexcept;
  void slot_freed() noexcept;
  void read_settings() noexcept;
  void drain() noexcept;
  void charge() noexcept;
  void refuse_server(std::uint32_t code) noexcept;
  /// Sends a ping to find out whether the server still answers, unless an earlier ping is unanswered.
  void ping() noexcept;
  [[nodiscard]] auto next_deadline() const noexcept -> time_point;
  void arm() noexcept;
  void check_deadlines() noexcept;
  void end_reads() noexcept;
  void cut() noexcept;
  void cut_soon() noexcept;
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  loop* loop_;
  const http_limits limits_;
  const http_client::http2_options options_;
  const duration idle_timeout_;
  http_host* host_;  // null once the connection has ended, or is given up
  std::optional<async_semaphore::permit> permit_;
  std::variant<stream_socket, tls_stream> stream_;
  scope* around_ = nullptr;  // of the tasks, while they run

  const nghttp2_calls* calls_;
  nghttp2_session* session_ = nullptr;
  intrusive_list<http2_lease> leases_;
  http2_answer_fields fields_;  // that arrive
  http2_wait output_waits_;
  std::string output_;
  http2_account account_;
  deadline_timer timer_{*this};
  time_point armed_for_ = time_point::max();

  std::size_t used_ = 0;  // places
  std::size_t max_used_;
  time_point last_heard_;
  time_point idle_since_;
  std::optional<time_point> pinged_at_;
  std::optional<time_point> cut_at_;  // the last output has been sent by then
  std::error_code reason_;            // why the connection has ended
  std::size_t http1_heard_ = 0;       // the first bytes of the server that are those of HTTP/1
  bool has_settings_ = false;
  bool has_answered_ = false;  // the server has answered a call
  bool is_draining_ = false;   // no further call may use it
  bool is_refused_ = false;    // the server violates the protocol, or costs too much
  bool is_reading_over_ = false;
  bool is_writing_ = false;
};

}  // namespace braid::detail
