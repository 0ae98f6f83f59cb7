// src/task/work_stealing.cpp: implements the work-stealing scheduler: the order in which a worker tries its victims.
#include <braid/task/basic_pool.hpp>

namespace braid {

auto work_stealing::steal(worker& self, search reason) noexcept -> found_job {
  if (contexts_.is_known_quiescent()) return {};
  const bool anything = reason == search::woken || contexts_.is_closed();
  for (const std::size_t index : self.victims) {
    worker& victim = *contexts_.workers()[index];
    const bool held_up = reason == search::monitor && contexts_.is_held_up(self, victim);
    if (!anything && !held_up && !detail::is_worth_a_wake(victim, victim.backlog())) continue;
    found_job oldest = contexts_.take_half(self, victim);
    if (!oldest) continue;
    if (held_up) kept_busy_.store(&self, relaxed);
    return oldest;
  }
  return {};
}

}  // namespace braid
