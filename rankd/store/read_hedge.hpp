// rankd/store/read_hedge.hpp: a read that is asked a second time where the first has no answer after a while.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>

namespace rankd {

enum class read_attempt : std::uint8_t {
  first,
  second,  ///< by a store that knows another way than that of the first
};

/// When a read is asked a second time, and which of the two this is.
struct read_hedge {
  braid::duration after{};  ///< so long after the first, unless there is an answer; zero: never
  read_attempt attempt = read_attempt::first;
};

/// How many reads may be asked a second time: a tenth of those that are sent, and a few before that. So a store that is
/// slow for all has a tenth more to do, and not twice as much. Threads: one.
class hedge_budget {
 public:
  static constexpr std::uint32_t reads_of_one = 10;
  static constexpr std::uint32_t max_saved = 10;

  void sent_a_read() noexcept {
    if (tenths_ < max_saved * reads_of_one) ++tenths_;
  }
  [[nodiscard]] auto try_take() noexcept -> bool {
    if (tenths_ < reads_of_one) return false;
    tenths_ -= reads_of_one;
    return true;
  }

 private:
  std::uint32_t tenths_ = max_saved * reads_of_one;
};

}  // namespace rankd
