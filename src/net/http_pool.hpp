// src/net/http_pool.hpp: declares the open connections of a client, grouped by host, and the calls that wait for a
// connection.
#pragma once

#include "http2_line.hpp"
#include "http_input.hpp"
#include "http_lease.hpp"

#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/detail/http_body_decoder.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/detail/http_parser.hpp>
#include <braid/task/executors.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace braid::detail {

/// A client's HTTP/1.1 connection to a server, plain or over TLS.
class http_line : public list_hook {
 public:
  explicit http_line(std::variant<stream_socket, tls_stream> stream) noexcept : stream_(std::move(stream)) {}
  http_line(const http_line&) = delete;
  auto operator=(const http_line&) -> http_line& = delete;
  /// Sends the close notice of TLS. If a call was sent only in part, omits the notice, so that the server sees that the
  /// connection was cut. Blocks: never.
  ~http_line();

  auto write(std::string_view text) -> task<result<void>>;
  /// Appends the next received bytes to `input`. Returns 0 if the server has ended the stream regularly.
  /// Errors: truncated if a TLS stream ends without a close notice, or an error of the stream.
  auto receive() -> task<result<std::size_t>>;
  /// Ends the current wait for bytes and all later waits, as `byte_stream::end_read_waits` does.
  void end_waits() const noexcept { socket().end_read_waits(); }
  void allow_waits() const noexcept { socket().allow_read_waits(); }
  /// Returns whether the server has sent nothing that was not read: neither bytes nor the end of the stream. Only such
  /// a free connection can be used again.
  [[nodiscard]] auto is_silent() const noexcept -> bool;

  http_input input;
  bool nothing_came = true;  // no byte has arrived since the last call
  bool used_before = false;
  bool half_sent = false;  // a part of the call is not sent yet
  time_point free_since;
  http_host* free_at = nullptr;  // set while the connection is free

 private:
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  std::variant<stream_socket, tls_stream> stream_;
};

/// The duty of one call to connect to a host that speaks HTTP/2 or may speak it. Only one call at a time has this duty,
/// and the other calls wait for the connection that this call makes.
class http_connecting {
 public:
  http_connecting(http_host& host, async_semaphore::permit permit) noexcept;
  http_connecting(http_connecting&& other) noexcept
      : host_(std::exchange(other.host_, nullptr)), permit_(std::move(other.permit_)) {}
  auto operator=(http_connecting&&) -> http_connecting& = delete;
  /// Passes the duty to another call if calls still wait.
  ~http_connecting();

  [[nodiscard]] auto take_permit() noexcept -> async_semaphore::permit { return std::move(permit_); }

 private:
  http_host* host_;
  async_semaphore::permit permit_;
};

/// A call that waits for an HTTP/2 stream. The wait ends with a stream, with the duty to connect, or with an error. If
/// the server turns out to speak HTTP/1.1, the wait ends without any of these results.
struct http_turn : list_hook {
  explicit http_turn(http_host& host) noexcept;
  http_turn(const http_turn&) = delete;
  auto operator=(const http_turn&) -> http_turn& = delete;
  ~http_turn() {
    if (is_linked()) unlink();
  }

  event is_over;
  http2_slot slot;
  std::optional<http_connecting> connecting;
  std::error_code error;
};

/// The connections to one host, and the limit for their number.
struct http_host {
  enum class version : std::uint8_t { unknown, http1, http2 };

  explicit http_host(std::size_t connections) : room(connections) { free.reserve(connections); }

  /// Assigns free streams, and the duty to connect, to the calls that have waited longest.
  void serve_waiting() noexcept;
  /// Ends the waits of all calls with this error, because an attempt to connect has failed.
  void fail_waiting(std::error_code error) noexcept;

  async_semaphore room;  // for connections that are in use, and for all of HTTP/2
  // The free HTTP/1.1 connections; the connection that was used last is at the end. Memory is reserved for the maximum
  // number of connections.
  std::vector<std::unique_ptr<http_line>> free;
  version speaks = version::unknown;  // the version of the connection that was made last
  bool is_connecting = false;         // a call has the duty to connect
  std::vector<std::shared_ptr<http2_line>> shared;
  intrusive_list<http_turn> waiting;
};

/// Holds what a call is sent on: an HTTP/1.1 connection with its permit, or an HTTP/2 stream.
struct http_place {
  std::optional<async_semaphore::permit> permit = {};
  std::unique_ptr<http_line> line = {};
  http2_slot slot = {};
};

class http_pool {
 public:
  http_pool(loop& loop, http_client::options options) : loop_(loop), options_(std::move(options)) {}
  http_pool(const http_pool&) = delete;
  auto operator=(const http_pool&) -> http_pool& = delete;
  ~http_pool();

  [[nodiscard]] auto on() const noexcept -> loop& { return loop_; }
  [[nodiscard]] auto options() const noexcept -> const http_client::options& { return options_; }
  [[nodiscard]] auto host(const http_url& url) -> std::shared_ptr<http_host>;
  /// Finds a connection or a stream for a call, and connects to the host if necessary. If `permit` has a value, always
  /// makes a new connection.
  [[nodiscard]] auto find_place(const http_url& url, std::shared_ptr<http_host> host,
                                std::optional<async_semaphore::permit> permit) -> task<result<http_place>>;
  [[nodiscard]] auto lease(std::shared_ptr<http_host> host, http_place place) -> std::unique_ptr<http_lease>;
  void give_back(http_host& to, std::unique_ptr<http_line> line);
  /// Returns the number of connections that no call uses.
  [[nodiscard]] auto free_lines() const noexcept -> std::size_t;

 private:
  struct idle_timer : timer {
    explicit idle_timer(http_pool& p) noexcept : timer(&fired), owner(&p) {}
    static void fired(timer& self) noexcept { static_cast<idle_timer&>(self).owner->close_idle(); }
    http_pool* owner;
  };

  /// A new connection that no call has used.
  struct connection {
    std::variant<stream_socket, tls_stream> stream;
    bool is_http2 = false;
  };

  void close_idle() noexcept;
  [[nodiscard]] auto take(http_host& from) -> std::unique_ptr<http_line>;
  [[nodiscard]] auto offers_http2() const -> bool;
  [[nodiscard]] auto may_share(const http_url& url, const http_host& host) const -> bool;
  auto connect(http_url url) -> task<result<connection>>;
  auto place_on(connection made, http_host& host, async_semaphore::permit permit) -> http_place;
  auto resolve_addresses(const http_url& url) -> task<result<socket_address::list>>;
  auto make_connection(http_url url) -> task<result<connection>>;
  /// Returns the TLS context of the options, or the default context.
  auto context() -> task<result<tls_context>>;
  auto shake_hands(stream_socket socket, std::string name) -> task<result<connection>>;
  void forget_unused();

  loop& loop_;
  std::optional<blocking_pool> blocking_;  // the threads of the default TLS context; ends after the connections
  http_client::options options_;           // contains the default context once it is created
  async_mutex making_context_;
  std::map<std::string, std::shared_ptr<http_host>> hosts_;  // hosts by origin
  std::size_t many_hosts_ = 64;     // at this number of hosts, those without connections are removed
  intrusive_list<http_line> free_;  // the free connections to all hosts, longest idle first
  idle_timer idle_{*this};          // armed for the longest idle connection, or earlier
};

/// A call on an HTTP/1.1 connection, which no other call uses at the same time.
class http_line_lease final : public http_lease {
 public:
  http_line_lease(http_pool& pool, std::shared_ptr<http_host> host, async_semaphore::permit permit,
                  std::unique_ptr<http_line> line)
      : pool_(&pool),
        host_(std::move(host)),
        permit_(std::move(permit)),
        line_(std::move(line)),
        parser_(pool.options().limits),
        body_(pool.options().limits) {}
  ~http_line_lease() override { settle(); }

  auto converse(const http_url& url, std::string_view head_and_body, const http_client::call& call)
      -> task<result<void>> override;
  auto read_some() -> task<result<std::string_view>> override;
  [[nodiscard]] auto head() const noexcept -> const http_response_head& override { return parser_.head(); }
  [[nodiscard]] auto trailers() const noexcept -> http_fields override { return body_.trailers(); }
  [[nodiscard]] auto may_repeat(const http_client::call& call) const noexcept -> bool override {
    return is_idempotent(call.method) && !call.pieces && line_->used_before && line_->nothing_came;
  }
  [[nodiscard]] auto take_permit() noexcept -> std::optional<async_semaphore::permit> override {
    return std::move(permit_);
  }

 private:
  auto send(std::string_view head_and_body, const http_client::call& call) -> task<void>;
  auto send_pieces(std::string_view head, const http_client::call& call) -> task<result<void>>;
  auto send_and_receive(std::string_view head_and_body, const http_client::call& call) -> task<result<void>>;
  auto receive_head(http_method asked) -> task<result<void>>;
  auto receive_beside() -> task<void>;
  void note_sent(const result<void>& sent) noexcept;
  auto keep_head(http_method asked) -> result<void>;
  void settle() noexcept;

  http_pool* pool_;
  std::shared_ptr<http_host> host_;  // outlives the permit in it
  async_semaphore::permit permit_;
  std::unique_ptr<http_line> line_;  // null after the connection was returned to the pool
  http_response_parser parser_;
  http_body_decoder body_;
  std::string head_text_;                            // the text to which the views of the head refer
  bool in_order_ = false;                            // the answer has been valid so far
  bool is_sent_ = false;                             // the whole call was sent
  bool sends_on_ = true;                             // false once the call is sent, has failed, or was abandoned
  bool has_no_pieces_ = false;                       // the function that provides the pieces has failed
  std::error_code send_error_;                       // the reason why not all of it was sent
  bool receives_beside_ = false;                     // true while a part of the call is still to be sent
  std::optional<result<std::size_t>> end_of_input_;  // the last result of receiving while the call was sent
};

}  // namespace braid::detail
