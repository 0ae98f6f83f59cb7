// src/sync/futex.cpp: waits for changes of 32-bit words with system calls of the kernel.
#include <braid/sync/detail/futex.hpp>

#include "../platform/system.hpp"

namespace braid::detail {
namespace {

/// Returns the address of the word's value, which the kernel needs. This also works in the model build, because the
/// model's atomic begins with its value, too.
auto address(const atomic<std::uint32_t>& word) noexcept -> const void* { return &word; }

}  // namespace

auto futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected, std::optional<time_point> deadline) noexcept
    -> futex_wait_status {
  if (deadline == time_point::max()) deadline.reset();  // the explorer would treat it as any other time
#if defined(BRAID_MODEL)
  if (detail::model_active())
    return detail::model_wait(word, expected, deadline) ? futex_wait_status::woken : futex_wait_status::timed_out;
#endif
  std::optional<duration> until;
  if (deadline) until = deadline->time_since_epoch();
  return wait_for_word(address(word), expected, until) ? futex_wait_status::woken : futex_wait_status::timed_out;
}

void futex_wake(const atomic<std::uint32_t>& word, int count) noexcept {
#if defined(BRAID_MODEL)
  if (detail::model_active()) return detail::model_wake(word, count);
#endif
  wake_word(address(word), count);
}

}  // namespace braid::detail
