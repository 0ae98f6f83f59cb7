// src/net/http2_parts.hpp: declares what both sides of an HTTP/2 connection use: waits, fields, and an account of
// useless frames.
#pragma once

#include "nghttp2_calls.hpp"

#include <braid/base/clock.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace braid::detail {

// docs/design/constants.md gives the reasons for these values.
inline constexpr std::size_t http2_read_size = 16 * 1024;
inline constexpr std::size_t http2_write_size = 64 * 1024;    // bytes that are sent together
inline constexpr std::size_t http2_max_head_sizes = 8;        // a larger head, in units of the limit, is abuse
inline constexpr std::int32_t http2_min_window_update = 256;  // smaller ones are charged

/// An account that limits the useless frames of a peer: frames that cost time but neither request anything nor answer a
/// request. Each useless frame is charged to the account. Time and answered requests refill the account.
class http2_account {
 public:
  explicit http2_account(time_point now) noexcept : refilled_(now) {}

  /// Charges one frame. Returns false if the account is overdrawn.
  [[nodiscard]] auto charge(time_point now) noexcept -> bool;
  void add() noexcept { saved_ = std::min(saved_ + gain_per_answer, max_saved); }

 private:
  // docs/design/constants.md gives the reasons for these values.
  static constexpr std::int64_t max_saved = 400;
  static constexpr std::int64_t gain_per_second = 100;
  static constexpr std::int64_t gain_per_answer = 4;  // gRPC sends up to two updates of windows and a ping for each

  std::int64_t saved_ = max_saved;
  time_point refilled_;
};

/// A wait with a deadline. One task waits until `notify` is called or the deadline has passed.
class http2_wait {
 public:
  explicit http2_wait(loop& home) noexcept : loop_(&home) {}
  http2_wait(const http2_wait&) = delete;
  auto operator=(const http2_wait&) -> http2_wait& = delete;
  ~http2_wait() { loop_->disarm(timer_); }

  /// Returns false if the deadline passed before `notify`.
  auto until(time_point deadline) -> task<bool>;
  void notify() noexcept {
    if (event_) event_->set();
  }

 private:
  struct deadline_timer : timer {
    explicit deadline_timer(http2_wait& w) noexcept : timer(&fired), owner(&w) {}
    static void fired(timer& self) noexcept;
    http2_wait* owner;
  };

  loop* loop_;
  std::optional<event> event_;  // of the last wait
  deadline_timer timer_{*this};
  bool is_late_ = false;
};

/// Returns whether a field concerns an HTTP/1.1 connection, so that HTTP/2 forbids it. Source: RFC 9113, section 8.2.2.
[[nodiscard]] auto is_of_connections(std::string_view name) noexcept -> bool;

#if defined(BRAID_NGHTTP2)

[[nodiscard]] inline auto as_text(const std::uint8_t* bytes, std::size_t size) noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// Returns a field in the form that libnghttp2 expects. libnghttp2 copies a field when the field is submitted.
[[nodiscard]] auto make_field(std::string_view name, std::string_view value) noexcept -> nghttp2_nv;

/// Returns whether a frame is useless: a DATA frame without data that does not end its stream.
[[nodiscard]] inline auto is_empty_data(const nghttp2_frame& frame) noexcept -> bool {
  const bool ends_stream = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  return frame.hd.type == NGHTTP2_DATA && !ends_stream && frame.hd.length <= frame.data.padlen;
}

#endif

}  // namespace braid::detail
