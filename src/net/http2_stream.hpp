// src/net/http2_stream.hpp: declares one request of an HTTP/2 connection, with its body and its answer.
#pragma once

#include "http2_parts.hpp"
#include "http_call.hpp"

#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid::detail {

class http2_connection;

/// Collects the fields of a request, and formats the head that the request would have in HTTP/1.1. The HTTP/1.1 parser
/// then applies the same rules and limits as for HTTP/1.1.
class http2_head {
 public:
  void reset() noexcept;
  void add(std::string_view name, std::string_view value, const http_limits& limits);

  /// Returns the head. If `has_body`, the client will send a body.
  [[nodiscard]] auto text(bool has_body) const -> std::string;
  /// Returns the trailers in the format of the end of a chunked body.
  [[nodiscard]] auto trailers() const -> std::string { return "0\r\n" + fields_ + "\r\n"; }
  /// Returns the first `content-type` field, even if it was dropped because there were too many fields.
  [[nodiscard]] auto content_type() const noexcept -> std::string_view { return content_type_; }
  /// Returns an error that the HTTP/1.1 parser cannot find in the formatted head.
  [[nodiscard]] auto error() const noexcept -> std::optional<http_errc> { return error_; }
  /// Returns the size of all fields, including the fields that were dropped because there were too many.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }

 private:
  void append(std::string_view name, std::string_view value);

  std::string method_;
  std::string target_;
  std::string authority_;
  std::string host_;
  std::string cookie_;
  std::string content_type_;
  std::string fields_;  // the fields as lines
  std::size_t size_ = 0;
  bool has_length_ = false;
  std::optional<http_errc> error_;
};

/// A request. The object exists from the arrival of the request's head until its answer was sent. The task that serves
/// the request owns this object. States: docs/design/http.md
class http2_stream final : public http_call, public list_hook {
 public:
  http2_stream(http2_connection& connection, std::int32_t id, const http2_head& head, bool has_body);
  ~http2_stream();

  /// Calls the handler, and waits until the answer was sent.
  auto serve() -> task<void>;

  // Called by the connection if bytes of the body have arrived.
  void received(std::string_view data);
  void received_trailers(const http2_head& fields);
  void input_ends() noexcept;
  /// Called if the client will send nothing more. Answers can still be sent.
  void input_is_lost() noexcept;
  /// Called if neither side can send anything more.
  void closed() noexcept;
  /// Called if the whole answer was sent.
  void answer_sent() noexcept;
  [[nodiscard]] auto is_sent() const noexcept -> bool { return is_sent_; }
  [[nodiscard]] auto id() const noexcept -> std::int32_t { return id_; }

  // The functions below implement `http_exchange`.
  [[nodiscard]] auto peer() const -> result<socket_address> override;
  [[nodiscard]] auto has_whole_body() const noexcept -> bool override { return has_ended_ || ignores_input_; }
  auto read_body_now() -> std::optional<std::string_view> override;
  auto read_body() -> task<result<std::string_view>> override;
  [[nodiscard]] auto trailers() const noexcept -> http_fields override { return work_->body.trailers(); }
  void reply(http_status status, std::string_view type, std::string_view body) override;
  void begin(http_status status, std::string_view type, std::optional<std::uint64_t> length) override;
  auto write(std::string_view piece) -> task<result<void>> override;
  void switch_protocol(std::string_view fields) override;

  /// Copies bytes of the answer into a frame. Returns nothing if no bytes are ready.
  [[nodiscard]] auto take_output(char* room, std::size_t size) noexcept -> std::optional<std::size_t>;
  /// Returns whether `take_output` has returned all bytes of the answer.
  [[nodiscard]] auto is_output_over() const noexcept -> bool {
    return answer_ == answer::whole && output_at_ == work_->output.size() && piece_.empty();
  }
  /// Returns whether trailers follow the body.
  [[nodiscard]] auto has_trailers() const noexcept -> bool { return !work_->own_trailers.empty(); }
  /// Sends the trailers. Errors: std::bad_alloc.
  void submit_trailers() const;

 private:
  /// A guard that marks that a piece of the answer is being sent. If a stop interrupts the write, the answer is broken.
  class sending;

  auto answer_request() -> task<void>;
  auto run_while_client_stays(task<void> handler) -> task<void>;
  void stop_handler() noexcept;
  void end_pieces() override;
  [[nodiscard]] auto refused_type() const noexcept -> std::string_view override { return content_type_; }
  void discard_input() noexcept;
  void give_back(std::size_t bytes) noexcept;
  auto take_input() noexcept -> std::string_view;
  void submit(http_status status, std::string_view type, std::optional<std::uint64_t> length, bool has_output);
  void resume() noexcept;
  void reset(std::uint32_t code) noexcept;

  http2_connection* connection_;
  const std::int32_t id_;
  std::string text_;  // the text of the head
  std::optional<http_errc> head_error_;
  std::string content_type_;  // set if there is a head_error_

  std::string input_;  // received bytes of the body that were not read
  std::string read_;   // the piece that was read last
  std::uint64_t received_ = 0;
  std::uint64_t max_body_ = std::numeric_limits<std::uint64_t>::max();  // known once the handler runs
  bool has_ended_ = false;                                              // the client has sent everything
  bool is_lost_ = false;            // the client will send nothing more, and has not sent everything
  bool is_closed_ = false;          // nothing more can be sent either
  bool ignores_input_ = false;      // the handler is over
  scope* handler_scope_ = nullptr;  // of a handler that is stopped when the client has gone
  bool is_stopped_ = false;         // that handler was stopped

  std::string_view piece_;     // the piece of a handler that waits in `write`
  std::size_t output_at_ = 0;  // the position in work_->output
  bool is_sent_ = false;       // the whole answer was sent
  bool is_deferred_ = false;   // libnghttp2 has requested output that was not available
  http2_wait input_waits_;
  http2_wait output_waits_;
};

}  // namespace braid::detail
