// src/task/least_loaded.cpp: implements a scheduler that gives a job to the least loaded worker, or to the less loaded
// of two random workers.
#include <braid/task/basic_pool.hpp>

#include <braid/base/random.hpp>

namespace braid {

auto least_loaded::count_load(const worker& worker) noexcept -> std::size_t {
  constexpr std::size_t heavy = 1'000'000;
  const std::size_t jobs = worker.backlog() + (worker.pace.is_running() ? 1 : 0);
  return worker.pace.is_held_up() ? jobs + heavy : jobs;
}

auto least_loaded::worker_for(worker* poster) noexcept -> worker& {
  // docs/design/constants.md says what this value rests on.
  constexpr std::size_t max_to_compare = 8;
  worker& chosen = contexts_.workers().size() <= max_to_compare ? min_of_all() : better_of_two();
  if (poster != nullptr && count_load(*poster) <= count_load(chosen) + 1) return *poster;
  if (last_.load(relaxed) != chosen.index) last_.store(chosen.index, relaxed);
  return chosen;
}

/// Returns the worker with the lowest load. The search begins with the previously chosen worker, so that worker is
/// chosen again if the loads are equal.
auto least_loaded::min_of_all() noexcept -> worker& {
  const worker_list& all = contexts_.workers();
  const std::size_t first = last_.load(relaxed);
  worker* best = all[first].get();
  std::size_t min_load = count_load(*best);
  for (std::size_t step = 1; step < all.size() && min_load != 0; ++step) {
    worker& other = *all[(first + step) % all.size()];
    const std::size_t load = count_load(other);
    if (load >= min_load) continue;
    min_load = load;
    best = &other;
  }
  return *best;
}

auto least_loaded::better_of_two() noexcept -> worker& {
  random_source random(draws_.fetch_add(1, relaxed));
  const worker_list& all = contexts_.workers();
  worker& one = *all[random.below(all.size())];
  worker& other = *all[random.below(all.size())];
  return count_load(other) < count_load(one) ? other : one;
}

/// Returns whether the victim's jobs have waited for a long time. The monitor compares samples of two checks. A worker
/// that was just woken decides only by how long the victim's current job has run, so that all woken workers help at
/// once, not after two intervals of the monitor.
auto least_loaded::waits_for_long(worker& self, const worker& victim, search reason) noexcept -> bool {
  if (reason == search::monitor) return contexts_.is_held_up(self, victim);
  return reason == search::woken && victim.backlog() != 0 && victim.pace.is_held_up();
}

auto least_loaded::rescue(worker& self, search reason) noexcept -> found_job {
  if (contexts_.is_known_quiescent()) return {};
  for (const std::size_t index : self.victims) {
    worker& victim = *contexts_.workers()[index];
    if (!waits_for_long(self, victim, reason) && !contexts_.is_closed()) continue;
    if (found_job oldest = contexts_.take_half(self, victim)) return oldest;
  }
  return {};
}

}  // namespace braid
