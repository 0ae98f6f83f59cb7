// src/net/http2_parts.cpp: implements what both sides of an HTTP/2 connection use: waits, fields, and an account of
// useless frames.
#include "http2_parts.hpp"

#include <braid/net/detail/http_text.hpp>

#include <array>
#include <chrono>

namespace braid::detail {

auto http2_account::charge(time_point now) noexcept -> bool {
  using std::chrono::milliseconds;
  const std::int64_t gained =
      std::chrono::duration_cast<milliseconds>(now - refilled_).count() * gain_per_second / 1000;
  if (gained > 0) {
    saved_ = std::min(saved_ + gained, max_saved);
    refilled_ = now;
  }
  return --saved_ >= 0;
}

void http2_wait::deadline_timer::fired(timer& self) noexcept {
  http2_wait& late = *static_cast<deadline_timer&>(self).owner;
  late.is_late_ = true;
  late.event_->set();
}

auto http2_wait::until(time_point deadline) -> task<bool> {
  struct disarms {
    http2_wait* wait;
    explicit disarms(http2_wait& w) noexcept : wait(&w) {}
    disarms(const disarms&) = delete;
    auto operator=(const disarms&) -> disarms& = delete;
    ~disarms() { wait->loop_->disarm(wait->timer_); }
  };
  is_late_ = false;
  event_.emplace();
  const disarms at_end(*this);
  if (deadline != time_point::max()) loop_->arm(timer_, deadline);
  co_await *event_;
  co_return !is_late_;
}

auto is_of_connections(std::string_view name) noexcept -> bool {
  constexpr std::array<std::string_view, 3> fields{"upgrade", "keep-alive", "proxy-connection"};
  return std::ranges::any_of(fields, [&](std::string_view each) { return equals_lower(name, each); });
}

#if defined(BRAID_NGHTTP2)

auto make_field(std::string_view name, std::string_view value) noexcept -> nghttp2_nv {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));  // it is copied
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

#endif

}  // namespace braid::detail
