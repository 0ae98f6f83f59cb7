// src/net/http_connection.hpp: one connection of a server, its requests, which are served one after the other, and
// their deadlines.
#pragma once

#include "http_input.hpp"
#include "http_pacer.hpp"
#include "http_workspace.hpp"

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

class http_connection;

/// The maximum time until a stream of events, or a WebSocket, notices that its server stops.
inline constexpr duration max_stream_tick = std::chrono::seconds(1);

/// A guard that increments a count for as long as it exists.
class counted_open {
 public:
  explicit counted_open(std::size_t& count) noexcept : count_(&count) { add_to_count(count); }
  counted_open(const counted_open&) = delete;
  auto operator=(const counted_open&) -> counted_open& = delete;
  ~counted_open() { take_from_count(*count_); }

 private:
  std::size_t* count_;
};

/// The state that all connections of a server share. Used only on the server's loop.
struct http_service {
  http_service(loop& l, const http_router& r, http_server::options o)
      : on(l),
        routes(r),
        options(std::move(o)),
        pacer(l, options.pacing),
        workspaces(options.limits),
        counted_(&l, &http_service::add_metrics, this) {}

  /// Returns the current date, formatted once per second.
  auto date(time_point now) -> std::string_view;
  void report(std::exception_ptr error) noexcept;
  /// Reports an exception of a handler. The message names the request, and the route if it has a name.
  void report(std::exception_ptr error, const http_request_head& of, std::string_view route) noexcept;
  static void add_metrics(const void* self, metric_list& metrics);

  loop& on;
  const http_router& routes;
  http_server::options options;
  http_server::totals counts;
  http_pacer pacer;
  http_workspaces workspaces;
  intrusive_list<http_connection> idle;  // connections that have sent nothing of a request, the longest first
  bool stopping = false;
  bool wants_room = false;  // a task waits to be accepted

 private:
  std::string date_;
  time_point date_until_ = time_point::min();
  metric_source counted_;  // the last member: what it reads is there
};

/// A connection of a server. The derived class `http_connection_over` adds the transport, plain or TLS. States:
/// docs/design/http.md
class http_connection : public list_hook {
 public:
  http_connection(const http_connection&) = delete;
  auto operator=(const http_connection&) -> http_connection& = delete;

  /// Closes an idle connection, unless part of a request has arrived. Requires that the connection is in the list of
  /// idle connections.
  void close_idle() noexcept;

  // Functions for `http_exchange`.
  [[nodiscard]] auto head() const noexcept -> const http_request_head& { return work_->parser.head(); }
  [[nodiscard]] auto match() const noexcept -> const http_router::match& { return work_->match; }
  [[nodiscard]] auto body() const noexcept -> const http_body_decoder& { return work_->body; }
  [[nodiscard]] auto has_whole_body() const noexcept -> bool { return work_->body.ends_within(input_.view().size()); }
  auto read_body_now() -> std::optional<std::string_view>;
  virtual auto read_body() -> task<result<std::string_view>> = 0;
  auto set_field(std::string_view name, std::string_view value) -> result<void>;
  void reply(http_status status, std::string_view type, std::string_view body);
  void pace() noexcept { paced_ = true; }
  [[nodiscard]] auto route() const noexcept -> std::string_view;
  [[nodiscard]] auto peer() const -> result<socket_address> { return socket_->peer_address(); }
  [[nodiscard]] auto is_answered() const noexcept -> bool { return answer_ != answer::none; }
  [[nodiscard]] auto status() const noexcept -> http_status { return work_->status; }
  void begin(http_status status, std::string_view type, std::optional<std::uint64_t> length);
  virtual auto write(std::string_view piece) -> task<result<void>> = 0;

  // Functions for event streams and WebSockets.
  [[nodiscard]] auto counts() noexcept -> http_server::totals& { return service_->counts; }
  [[nodiscard]] auto is_server_stopping() const noexcept -> bool { return service_->stopping; }
  [[nodiscard]] auto linger_timeout() const noexcept -> duration { return service_->options.linger_timeout; }
  /// Answers with status 101, these fields and the fields of `set_field`. Afterwards `read_body` and `write` pass bytes
  /// unchanged. Requires that the whole body of the request has arrived.
  void switch_protocol(std::string_view fields);
  void restart_body_timeout() noexcept { work_->body_deadline.reset(); }

 protected:
  static constexpr std::size_t max_output = 64 * 1024;  // of answers that are sent together

  enum class wait : std::uint8_t { none, idle, head, body, write, linger };
  enum class answer : std::uint8_t { none, whole, pieces, broken };
  enum class next : std::uint8_t { read, serve, refuse };

  struct deadline_timer : timer {
    explicit deadline_timer(http_connection& c) noexcept : timer(&fired), owner(&c) {}
    http_connection* owner;
  };

  /// The outcome of a handler that has ended, or the task of a handler that is still running.
  struct called {
    outcome<void> ended;
    task<void> rest;
  };

  /// A guard that marks that a task of the handler is reading the body.
  class reading {
   public:
    explicit reading(http_connection& of) noexcept : connection_(&of) { of.is_reading_ = true; }
    reading(const reading&) = delete;
    auto operator=(const reading&) -> reading& = delete;
    ~reading() { connection_->is_reading_ = false; }

   private:
    http_connection* connection_;
  };

  /// A guard that marks that bytes are being sent. If a stop interrupts the write, the number of sent bytes is unknown,
  /// so the connection cannot continue.
  class sending {
   public:
    explicit sending(http_connection& of) noexcept : connection_(&of) { of.is_sending_ = true; }
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

  explicit http_connection(http_service& service);
  ~http_connection();

  /// Sets the socket of the transport. The socket exists as long as the connection.
  void go_through(const stream_socket& socket) noexcept { socket_ = &socket; }
  [[nodiscard]] auto open_exchange() noexcept -> http_exchange { return http_exchange(*this); }

  static void fired(timer& self) noexcept;
  void wait_until(wait what, time_point deadline) noexcept;
  void stop_waiting() noexcept;
  void wait_for_write() noexcept;
  void arm_for(time_point deadline) noexcept;
  void end_read() noexcept;
  void cut() noexcept;

  void received(std::size_t bytes);
  void rest() noexcept;
  auto look_at_input() -> next;
  [[nodiscard]] auto max_body() const noexcept -> std::uint64_t;
  void wait_for_request() noexcept;
  [[nodiscard]] auto give_up_head() -> bool;
  [[nodiscard]] auto is_late() const noexcept -> bool { return service_->on.now() >= deadline_; }
  [[nodiscard]] static auto was_ended(const result<std::size_t>& got) noexcept -> bool;
  void begin_request();
  [[nodiscard]] auto shown() const noexcept -> trace::activity;
  auto call_handler(http_exchange& exchange) -> called;
  auto limited(task<void> handler, duration deadline) -> task<void>;
  void answer_without_handler();
  void finish_answer(const outcome<void>& ended);
  void end_pieces();
  void refuse(http_errc error);
  void say(http_status status, std::error_code error = {});
  auto after_request() -> bool;
  [[nodiscard]] auto is_held_back() noexcept -> bool;
  auto wait_for_pacer() -> task<void>;
  void discard_body() noexcept;
  auto body_failed(http_errc error) noexcept -> std::unexpected<std::error_code>;
  static void clear(std::string& output) noexcept;

  auto append_answer(http_status status, http_framing framing, std::string_view type) -> bool;
  [[nodiscard]] auto sends_body() const noexcept -> bool;

  http_service* service_;
  const stream_socket* socket_ = nullptr;
  std::unique_ptr<http_workspace> work_;  // from the first byte of a request until its answer was sent
  http_input input_;
  answer answer_ = answer::none;
  bool in_request_ = false;    // there is a head
  bool keep_ = true;           // another request may follow
  bool is_late_ = false;       // the handler was stopped at the deadline of its route
  bool is_reading_ = false;    // a task of the handler waits for the body
  bool is_sending_ = false;    // a task of the handler waits for bytes to be sent
  bool continue_due_ = false;  // the client waits for leave to send
  bool switched_ = false;      // the answer was 101: bytes of another protocol follow
  bool paced_ = false;         // the answers that are waiting to be sent include a refusal
  std::optional<time_point> head_deadline_;
  unsigned in_succession_ = 0;  // requests served without waiting

  deadline_timer timer_{*this};
  time_point now_;  // when the last wait was over
  time_point deadline_ = time_point::max();
  time_point write_deadline_ = time_point::max();  // of a handler that writes, which may read at the same time
  time_point armed_for_ = time_point::max();
  std::optional<time_point> cut_at_;  // of a read that has been asked to end
  wait waits_for_ = wait::none;
  bool close_requested_ = false;  // by the server, when it was idle
};

}  // namespace braid::detail
