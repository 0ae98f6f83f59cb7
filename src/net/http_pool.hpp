// src/net/http_pool.hpp: the open connections of a client, by host.
#pragma once

#include "http_input.hpp"

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

struct http_host;

/// A connection to a server, plain or over TLS.
class http_line : public list_hook {
 public:
  explicit http_line(stream_socket plain) noexcept : stream_(std::move(plain)) {}
  explicit http_line(tls_stream secure) noexcept : stream_(std::move(secure)) {}
  http_line(const http_line&) = delete;
  auto operator=(const http_line&) -> http_line& = delete;
  /// Sends the close notice of TLS, unless a call was sent only in part; the server then sees the connection as cut.
  /// Blocks: never.
  ~http_line();

  auto write(std::string_view text) -> task<result<void>>;
  /// Appends the next received bytes to `input`. Returns 0 if the server has ended the stream regularly.
  /// Errors: truncated if a TLS stream ends without a close notice; the stream's.
  auto receive() -> task<result<std::size_t>>;
  /// Ends current and later waits for bytes: see `byte_stream::end_read_waits`.
  void end_waits() const noexcept { socket().end_read_waits(); }
  void allow_waits() const noexcept { socket().allow_read_waits(); }
  /// Returns whether neither bytes nor an end of the stream have arrived. A free connection that is silent can be used
  /// again.
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

/// The free connections to one host, and the limit of connections.
struct http_host {
  explicit http_host(std::size_t connections) : room(connections) { free.reserve(connections); }

  async_semaphore room;  // limits the connections that are in use
  // The free connections; the last used one is at the end. Memory is reserved for the maximum number of connections.
  std::vector<std::unique_ptr<http_line>> free;
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
  /// Removes a free connection that is still open from the host's list and returns it, or null.
  [[nodiscard]] auto take(http_host& from) -> std::unique_ptr<http_line>;
  [[nodiscard]] auto connect(http_url url) -> task<result<std::unique_ptr<http_line>>>;
  void give_back(http_host& to, std::unique_ptr<http_line> line);
  [[nodiscard]] auto free_lines() const noexcept -> std::size_t;

 private:
  struct idle_timer : timer {
    explicit idle_timer(http_pool& p) noexcept : timer(&fired), owner(&p) {}
    static void fired(timer& self) noexcept { static_cast<idle_timer&>(self).owner->close_idle(); }
    http_pool* owner;
  };

  void close_idle() noexcept;
  auto resolve_addresses(const http_url& url) -> task<result<socket_address::list>>;
  auto make_line(http_url url) -> task<result<std::unique_ptr<http_line>>>;
  /// Returns the TLS context of the options, or the default context.
  auto context() -> task<result<tls_context>>;
  auto shake_hands(stream_socket socket, std::string name) -> task<result<std::unique_ptr<http_line>>>;
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

/// A call on a connection that no other call uses at the same time.
class http_lease {
 public:
  http_lease(http_pool& pool, std::shared_ptr<http_host> host, async_semaphore::permit permit,
             std::unique_ptr<http_line> line)
      : pool_(&pool),
        host_(std::move(host)),
        permit_(std::move(permit)),
        line_(std::move(line)),
        parser_(pool.options().limits),
        body_(pool.options().limits) {}
  http_lease(const http_lease&) = delete;
  auto operator=(const http_lease&) -> http_lease& = delete;
  ~http_lease() { settle(); }

  /// Sends the call and receives the head of the answer. A long call is sent while the answer is received, because the
  /// server may answer before it has received the whole call.
  /// Errors: the error of receiving, or of sending if sending failed first; the error of the body's source.
  auto converse(std::string_view head_and_body, const http_client::call& call) -> task<result<void>>;
  auto read_some() -> task<result<std::string_view>>;

  [[nodiscard]] auto head() const noexcept -> const http_response_head& { return parser_.head(); }
  /// Returns whether a reused connection has ended before any byte of this call's answer arrived. The call can then be
  /// repeated.
  [[nodiscard]] auto came_too_late() const noexcept -> bool { return line_->used_before && line_->nothing_came; }
  /// Moves the permit for a connection to another call.
  [[nodiscard]] auto take_permit() noexcept -> async_semaphore::permit { return std::move(permit_); }

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
