// src/sync/small_mutex.cpp: waits for a lock that is held only for a few instructions, unless the thread that holds it
// is preempted.
#include <braid/sync/detail/small_mutex.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/detail/let_others_run.hpp>

#include <thread>

namespace braid::detail {
namespace {

#if !defined(BRAID_MODEL)
/// Polls for as long as a critical section may take, then yields, and then sleeps. If the lock is still held after the
/// polls, its holder must have been preempted. If the holder's priority is lower than that of the waiting thread, the
/// holder may get no processor before the waiting thread sleeps.
void wait_between(unsigned looks) noexcept {
  // docs/design/constants.md explains how these values were chosen.
  constexpr unsigned polls = 64;
  constexpr unsigned yields = 16;
  if (looks < polls) return cpu_pause();
  if (looks < polls + yields) return let_others_run();
  std::this_thread::sleep_for(50us);
}
#else
void wait_between(unsigned /*looks*/) noexcept { let_others_run(); }
#endif

}  // namespace

void small_mutex::lock_slowly() noexcept {
  for (unsigned looks = 0;; ++looks) {
    wait_between(looks);
    if (!held_.load(relaxed) && try_lock()) return;
  }
}

}  // namespace braid::detail
