// src/net/http_call.hpp: declares one request and its answer, for all versions of HTTP.
#pragma once

#include "http_service.hpp"
#include "http_workspace.hpp"

#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_server.hpp>
#include <braid/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

namespace braid::detail {

/// Returns whether an answer may have this status. An informational status (1xx) is not allowed, because the client
/// would wait for another answer.
[[nodiscard]] constexpr auto is_final(http_status status) noexcept -> bool {
  return !is_informational(status) && static_cast<int>(status) <= 999;
}

/// The implementation of `http_exchange`. It routes a request, calls the handler, and writes the answers that the
/// server itself sends, such as errors. The derived classes read and write the bytes of one version of HTTP.
class http_call {
 public:
  http_call(const http_call&) = delete;
  auto operator=(const http_call&) -> http_call& = delete;

  // `http_exchange` calls the functions below.
  [[nodiscard]] auto head() const noexcept -> const http_request_head& { return work_->parser.head(); }
  [[nodiscard]] auto match() const noexcept -> const http_router::match& { return work_->match; }
  /// Returns the name of the route, or its pattern if it has no name. Returns an empty text if no route matches the
  /// request.
  [[nodiscard]] auto route() const noexcept -> std::string_view;
  [[nodiscard]] virtual auto peer() const -> result<socket_address> = 0;

  [[nodiscard]] virtual auto has_whole_body() const noexcept -> bool = 0;
  virtual auto read_body_now() -> std::optional<std::string_view> = 0;
  virtual auto read_body() -> task<result<std::string_view>> = 0;
  [[nodiscard]] virtual auto trailers() const noexcept -> http_fields = 0;

  [[nodiscard]] auto is_answered() const noexcept -> bool { return answer_ != answer::none; }
  [[nodiscard]] auto status() const noexcept -> http_status { return work_->status; }
  auto set_field(std::string_view name, std::string_view value) -> result<void>;
  auto set_trailer(std::string_view name, std::string_view value) -> result<void>;
  virtual void reply(http_status status, std::string_view type, std::string_view body) = 0;
  void pace() noexcept { paced_ = true; }
  virtual void begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) = 0;
  virtual auto write(std::string_view piece) -> task<result<void>> = 0;

  // Event streams and WebSockets call the functions below.
  [[nodiscard]] auto counts() noexcept -> http_server::totals& { return service_->counts; }
  [[nodiscard]] auto is_server_stopping() const noexcept -> bool { return service_->stopping; }
  [[nodiscard]] auto linger_timeout() const noexcept -> duration { return service_->options.linger_timeout; }
  /// Answers with status 101, with these fields and the fields that `set_field` has added. Afterwards `read_body` and
  /// `write` pass bytes unchanged. Requires HTTP/1.1, and that the whole body of the request has arrived.
  virtual void switch_protocol(std::string_view fields) = 0;
  void restart_body_timeout() noexcept { work_->body_deadline.reset(); }

 protected:
  enum class answer : std::uint8_t { none, whole, pieces, broken };

  /// The result of starting a handler: its outcome if it has ended, or its task if it is still running.
  struct called {
    outcome<void> ended;
    task<void> rest;
  };

  /// A guard that marks that a task of the handler is reading the body.
  class reading {
   public:
    explicit reading(http_call& call) noexcept : call_(&call) { call.is_reading_ = true; }
    reading(const reading&) = delete;
    auto operator=(const reading&) -> reading& = delete;
    ~reading() { call_->is_reading_ = false; }

   private:
    http_call* call_;
  };

  explicit http_call(http_service& service) noexcept : service_(&service) {}
  ~http_call() = default;

  [[nodiscard]] auto open_exchange() noexcept -> http_exchange { return http_exchange(*this); }
  [[nodiscard]] auto max_body() const noexcept -> std::uint64_t;
  void find_route();
  [[nodiscard]] auto shown() const noexcept -> trace::activity;
  auto call_handler(http_exchange& exchange) -> called;
  void finish_answer(const outcome<void>& ended);
  /// Ends an answer that was written in pieces. Called after the last piece.
  virtual void end_pieces() = 0;
  /// Returns the Content-Type field of a request that is refused before it is routed, or an empty text if it is
  /// unknown.
  [[nodiscard]] virtual auto refused_type() const noexcept -> std::string_view { return {}; }
  void refuse(http_errc error);
  void say(http_status status, std::error_code error = {});
  auto body_failed(http_errc error) noexcept -> std::unexpected<std::error_code>;
  [[nodiscard]] auto sends_body() const noexcept -> bool;

  http_service* service_;
  std::unique_ptr<http_workspace> work_;  // exists from the first byte of a request until its answer was sent
  answer answer_ = answer::none;
  bool in_request_ = false;    // the head of a request has been parsed
  bool keep_ = true;           // another request may follow
  bool is_late_ = false;       // the handler was stopped at the deadline of its route
  bool is_reading_ = false;    // a task of the handler waits for the body
  bool is_sending_ = false;    // a task of the handler waits for bytes to be sent
  bool continue_due_ = false;  // the client waits for 100 before it sends the body
  bool switched_ = false;      // the answer was 101: bytes of another protocol follow
  bool paced_ = false;         // the answers that are waiting to be sent include a refusal

 private:
  auto limited(task<void> handler, duration deadline) -> task<void>;
  void answer_without_handler();
};

}  // namespace braid::detail
