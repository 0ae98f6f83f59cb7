// src/platform/linux/dump_signal.cpp: counts signals with a semaphore.
#include "../posix/signal_count.hpp"

#include <semaphore.h>

namespace braid::detail {
namespace {

::sem_t signals;  // one for each signal

}  // namespace

auto begin_signal_count() noexcept -> bool { return ::sem_init(&signals, 0, 0) == 0; }

void count_signal() noexcept { ::sem_post(&signals); }

void wait_for_signal() noexcept {
  while (::sem_wait(&signals) != 0) {}
}

}  // namespace braid::detail
