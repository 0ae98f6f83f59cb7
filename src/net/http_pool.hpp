// src/net/http_pool.hpp: the connections of a client, by host.
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

/// A connection to a server, plain or by TLS.
class http_line : public list_hook {
 public:
  explicit http_line(stream_socket plain) noexcept : stream_(std::move(plain)) {}
  explicit http_line(tls_stream secure) noexcept : stream_(std::move(secure)) {}
  http_line(const http_line&) = delete;
  auto operator=(const http_line&) -> http_line& = delete;
  /// Notifies the server that nothing more will follow, if the connection uses TLS. A call that was sent in part looks
  /// cut.
  /// Blocks: never.
  ~http_line();

  auto write(std::string_view text) -> task<result<void>>;
  /// Appends the next bytes to `input`. 0 means that the server has ended the stream deliberately.
  /// Errors: truncated if TLS was cut; the stream's.
  auto receive() -> task<result<std::size_t>>;
  /// Present and later receives do not wait any more: see `byte_stream::end_read_waits`.
  void end_waits() const noexcept { socket().end_read_waits(); }
  void allow_waits() const noexcept { socket().allow_read_waits(); }
  /// Returns whether nothing has arrived, not even an end: the state of a healthy free connection.
  [[nodiscard]] auto is_silent() const noexcept -> bool;

  http_input input;
  bool nothing_came = true;  // since the last call
  bool used_before = false;
  bool half_sent = false;  // there is more of the call to be sent
  time_point free_since;
  http_host* free_at = nullptr;  // while it is free

 private:
  [[nodiscard]] auto socket() const noexcept -> const stream_socket&;

  std::variant<stream_socket, tls_stream> stream_;
};

/// The connections to one host.
struct http_host {
  explicit http_host(std::size_t connections) : room(connections) { free.reserve(connections); }

  async_semaphore room;  // for those that are in use
  // the last used one at the end; reserved for as many as may be in use
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
  /// Returns a connection that is free and still open, or null.
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
  /// Returns the context of the options, or the default one.
  auto context() -> task<result<tls_context>>;
  auto shake_hands(stream_socket socket, std::string name) -> task<result<std::unique_ptr<http_line>>>;
  void forget_unused();

  loop& loop_;
  std::optional<blocking_pool> blocking_;  // what the usual context needs threads for; ends after the connections
  http_client::options options_;           // contains the default context once it is created
  async_mutex making_context_;
  std::map<std::string, std::shared_ptr<http_host>> hosts_;  // by origin
  std::size_t many_hosts_ = 64;     // from this number on, hosts without connections are forgotten
  intrusive_list<http_line> free_;  // of all hosts, the longest first
  idle_timer idle_{*this};          // armed while any is free, for the first or earlier
};

/// A call that has been sent, on the connection that it has for itself.
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

  /// Sends the call and receives the head of its answer. A long call is sent while the answer is received, because a
  /// server may refuse before it has everything, or send while it receives.
  /// Errors: those of receiving, or of sending if that is why receiving failed; and those of the source of the body.
  auto converse(std::string_view head_and_body, const http_client::call& call) -> task<result<void>>;
  auto read_some() -> task<result<std::string_view>>;

  [[nodiscard]] auto head() const noexcept -> const http_response_head& { return parser_.head(); }
  /// Returns whether the connection was free before, and has broken without an answer to this call.
  [[nodiscard]] auto came_too_late() const noexcept -> bool { return line_->used_before && line_->nothing_came; }
  /// Passes the permit for a connection on to another call.
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
  std::unique_ptr<http_line> line_;  // null once it is the pool's again
  http_response_parser parser_;
  http_body_decoder body_;
  std::string head_text_;                            // the text to which the views of the head refer
  bool in_order_ = false;                            // the answer has been valid so far
  bool is_sent_ = false;                             // all of the call
  bool sends_on_ = true;                             // unless it is sent, has failed, or was given up
  bool has_no_pieces_ = false;                       // the call has not provided its pieces
  std::error_code send_error_;                       // the reason why not all of it was sent
  bool receives_beside_ = false;                     // only as long as there is something to be sent
  std::optional<result<std::size_t>> end_of_input_;  // the last result of receiving while the call was sent
};

}  // namespace braid::detail
