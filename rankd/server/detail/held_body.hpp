// rankd/server/detail/held_body.hpp: the body of a request, counted against the memory limit of its loop.
#pragma once

#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/http_server.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail {

/// The body of a request. The body counts against the memory limit of the loop from its first byte until the request
/// has ended.
class held_body {
 public:
  explicit held_body(endpoint_context& context) noexcept : context_(&context) {}
  /// Requires that the body of `other` has not been read yet.
  held_body(held_body&& other) noexcept : context_(other.context_) {}
  auto operator=(held_body&&) -> held_body& = delete;
  ~held_body() { context_->body_bytes -= size_; }

  /// Reads the whole body if it has been received already. A small body mostly arrives together with its head. Returns
  /// nothing if more bytes are needed.
  /// Errors: errc::full if the bodies of the loop exceed its memory limit.
  [[nodiscard]] auto read_now(braid::http_exchange& x) -> std::optional<braid::result<void>>;
  /// Reads the body, and waits until all parts have arrived. Errors: those of the exchange; errc::full.
  auto read(braid::http_exchange& x) -> braid::task<braid::result<void>>;

  /// Replaces the body by a text that was made from the body. The text also counts against the limit. Returns false if
  /// it would exceed the limit.
  [[nodiscard]] auto hold(std::string text) noexcept -> bool;

  /// Returns the whole body. Requires that it has been read. Lifetime: as long as this object and the exchange.
  [[nodiscard]] auto text() const noexcept -> std::string_view { return text_; }

 private:
  /// Counts more bytes. Returns false if they would exceed the limit of the loop.
  [[nodiscard]] auto count(std::size_t more) noexcept -> bool;

  endpoint_context* context_;
  std::size_t size_ = 0;
  std::string pieces_;     // parts of the body that arrived one by one
  std::string_view text_;  // refers to `pieces_`, or to the memory of the connection
};

}  // namespace rankd::detail
