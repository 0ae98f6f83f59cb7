// src/net/redis_window.cpp: removes a withdrawn request from the window of unanswered commands.
#include <braid/net/detail/redis_window.hpp>

namespace braid::detail {

void redis_window::leave(const redis_request& request) noexcept {
  for (std::size_t at = begin_; at != end_; ++at) {
    redis_request** place = &entries_[at & mask_].who;
    while (*place != nullptr && *place != &request) place = &(*place)->same;
    if (*place != nullptr) *place = request.same;
  }
}

}  // namespace braid::detail
