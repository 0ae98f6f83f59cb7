// src/sync/futex.cpp: the futex system call.
#include <braid/sync/detail/futex.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::detail {
namespace {

/// Returns the address of the word for the kernel. In the model build, too, the value is the first member of an atomic.
auto address(const atomic<std::uint32_t>& word) noexcept -> const void* { return &word; }

}  // namespace

auto futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected, std::optional<time_point> deadline) noexcept
    -> futex_wait_status {
  if (deadline == time_point::max()) deadline.reset();  // the explorer would treat it as any other time
#if defined(BRAID_MODEL)
  if (detail::model_active())
    return detail::model_wait(word, expected, deadline) ? futex_wait_status::woken : futex_wait_status::timed_out;
#endif
  timespec until{};
  if (deadline) {
    // The kernel refuses a negative time, and the caller would take the error for a wake-up and retry for ever.
    const auto ns = std::max<duration::rep>(deadline->time_since_epoch().count(), 0);
    until.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    until.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  }
  // FUTEX_WAIT_BITSET is used because its timeout is an absolute time of the monotonic clock.
  const long status = ::syscall(SYS_futex, address(word), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                deadline ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  return status == -1 && errno == ETIMEDOUT ? futex_wait_status::timed_out : futex_wait_status::woken;
}

void futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
#if defined(BRAID_MODEL)
  if (detail::model_active()) return detail::model_wake(word, count);
#endif
  ::syscall(SYS_futex, address(word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
}

}  // namespace braid::detail
