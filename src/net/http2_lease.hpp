// src/net/http2_lease.hpp: declares one call of a client on a stream of an HTTP/2 connection.
#pragma once

#include "http2_line.hpp"

#if defined(BRAID_NGHTTP2)

#include <braid/base/intrusive_list.hpp>
#include <braid/coro/scope.hpp>
#include <braid/net/detail/http_body_decoder.hpp>
#include <braid/net/detail/http_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace braid::detail {

/// A client's call on a stream of an HTTP/2 connection. States: docs/design/http.md
class http2_lease final : public http_lease, public list_hook {
 public:
  http2_lease(http2_slot slot, std::shared_ptr<http_host> host);
  ~http2_lease() override;

  auto converse(const http_url& url, std::string_view head_and_body, const http_client::call& call)
      -> task<result<void>> override;
  auto read_some() -> task<result<std::string_view>> override;
  [[nodiscard]] auto head() const noexcept -> const http_response_head& override { return head_; }
  [[nodiscard]] auto trailers() const noexcept -> http_fields override { return trailers_.trailers(); }
  [[nodiscard]] auto may_repeat(const http_client::call& call) const noexcept -> bool override;
  [[nodiscard]] auto take_permit() noexcept -> std::optional<async_semaphore::permit> override { return {}; }

  // The connection calls the functions below.
  void received_fields(const http2_answer_fields& fields, bool is_last);
  void received(std::string_view data);
  void input_ends() noexcept;
  void server_resets() noexcept { is_reset_ = true; }
  void closed(std::uint32_t code) noexcept;
  /// Called if the connection has ended.
  void lost(std::error_code reason) noexcept;
  /// Copies bytes of the call into a frame. Returns nothing if no bytes are ready.
  [[nodiscard]] auto take_output(char* room, std::size_t size) noexcept -> std::optional<std::size_t>;
  [[nodiscard]] auto is_output_over() const noexcept -> bool { return is_whole_ && piece_.empty(); }

 private:
  /// A guard that clears the reference to the piece that is being sent, because the owner of the piece may be destroyed
  /// afterwards.
  class sending;

  void submit(const http_url& url, std::string_view head, const http_client::call& call, std::string_view body);
  auto send_pieces(const http_client::call& call) -> task<void>;
  auto opened() -> task<void>;
  [[nodiscard]] auto is_opened() const noexcept -> bool;
  void received_head(const http2_answer_fields& fields, bool is_last);
  void received_trailers(const http2_answer_fields& fields);
  void fail_call(std::error_code error) noexcept;
  void give_back() noexcept;
  void reset(std::uint32_t code) noexcept;
  void resume_output() noexcept;
  [[nodiscard]] auto line() const noexcept -> http2_line& { return slot_.line(); }

  std::shared_ptr<http_host> host_;  // outlives the place in it
  http2_slot slot_;
  std::int32_t id_ = 0;  // 0 before the call is submitted
  http_method asked_ = http_method::get;
  bool was_used_ = false;  // the connection had answered a call before

  std::string_view piece_;    // of the body of the call, not sent
  bool is_whole_ = true;      // no piece follows
  bool is_sent_ = false;      // libnghttp2 has all of it
  bool is_deferred_ = false;  // libnghttp2 has asked for output that was not there
  std::error_code source_error_;

  http_response_parser parser_;
  http_response_head head_;
  std::string head_text_;  // the text to which the views of the head refer
  http_body_decoder trailers_;
  int informational_ = 0;
  std::string input_;  // of the body, received and not read
  std::string read_;   // the piece that was read last
  std::uint64_t received_ = 0;
  std::size_t kept_ = 0;   // bytes of `input_` that the server may not replace yet
  std::error_code error_;  // why the answer is not complete
  bool has_head_ = false;
  bool has_ended_ = false;   // the answer is complete
  bool is_opening_ = false;  // the call is being sent
  bool is_reset_ = false;    // by the server
  bool is_refused_ = false;  // the server has not processed the call
  bool is_lost_ = false;     // the connection has ended
  bool is_closed_ = false;   // nothing more is sent or received
  http2_wait input_waits_;
  http2_wait output_waits_;
};

}  // namespace braid::detail

#endif
