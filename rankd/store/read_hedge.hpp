// rankd/store/read_hedge.hpp: settings for hedging: a read without an answer after a delay is sent a second time.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>

namespace rankd {

enum class read_attempt : std::uint8_t {
  first,
  second,  ///< sent in another way than the first attempt, if the store has another way
};

/// The delay after which a read is sent a second time, and the number of the attempt.
struct read_hedge {
  braid::duration after{};  ///< the delay after which the second attempt is sent if there is no answer; zero: never
  read_attempt attempt = read_attempt::first;
};

/// Limits the number of reads that are sent a second time: a few at the beginning, and then a tenth of all reads. So a
/// store that is slow for all reads gets only a tenth more load, not twice the load. Threads: a single thread.
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
