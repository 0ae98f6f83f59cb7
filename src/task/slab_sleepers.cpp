// src/task/slab_sleepers.cpp: lets the threads of a job slab sleep, and decides which thread a new job wakes.
#include <braid/task/detail/slab_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace braid::detail {

void slab_watch::has_stolen(time_point begin) noexcept {
  stole_ = steady_time().now();
  way_ = stole_ - begin;
}

/// Returns whether this thread may steal jobs again. If the last stolen jobs took less time to run than to steal, the
/// owner of these jobs would have finished them sooner. After each such steal, the pause before the next steal grows,
/// until a steal pays off.
auto slab_watch::pays(time_point now) noexcept -> bool {
  if (stole_ != time_point()) {
    const bool paid = now - stole_ > 2 * way_;
    stole_ = {};
    backoff_ = paid ? duration() : std::clamp<duration>(2 * backoff_, patience, max_backoff);
    backs_off_until_ = now + backoff_;
  }
  return now >= backs_off_until_;
}

auto slab_watch::is_quick(std::size_t other, std::uint64_t begun, std::uint64_t queued) noexcept -> bool {
  const time_point now = steady_time().now();
  if (!pays(now)) return true;
  const bool is_fresh = now < looked_ + patience;
  if (other != other_ && is_fresh && !is_known_) return true;  // polling two alternately shows nothing about either
  const bool known = other == other_ && is_fresh;
  if (known && now < looked_ + between_looks) return answer_;
  const auto jobs = static_cast<std::int64_t>(begun - begun_);
  if (!known) {
    worked_ = now;  // the next poll decides
    answer_ = true;
  } else if (jobs != 0) {
    worked_ = now;
    answer_ = now - looked_ < jobs * short_job;
  } else {
    answer_ = queued != queued_ && now < worked_ + patience;
  }
  other_ = other;
  is_known_ = known;
  begun_ = begun;
  queued_ = queued;
  looked_ = now;
  return answer_;
}

void slab_sleepers::wake_one() noexcept {
  slab_context* picked = nullptr;
  {
    const std::lock_guard lock(lock_);
    if (idle_ == nullptr || searching_ != 0) return;
    picked = std::exchange(idle_, idle_->next_idle);
    picked->listed = false;
    ++searching_;  // on behalf of the woken thread
    update();
  }
  picked->place.unpark();
}

/// Wakes all sleeping threads. A woken thread stays in the list until it runs and removes itself.
void slab_sleepers::wake_all() noexcept {
  {
    const std::lock_guard lock(lock_);
    for (slab_context* each = idle_; each != nullptr; each = each->next_idle) each->place.unpark();
  }
  outside.notify_all();
}

void slab_sleepers::begin_search() noexcept {
  const std::lock_guard lock(lock_);
  ++searching_;
  update();
}

auto slab_sleepers::end_search() noexcept -> bool {
  const std::lock_guard lock(lock_);
  --searching_;
  update();
  return idle_ != nullptr;
}

void slab_sleepers::list(slab_context& self) noexcept {
  const std::lock_guard lock(lock_);
  self.next_idle = std::exchange(idle_, &self);
  self.listed = true;
  --searching_;
  update();
}

/// Removes a thread from the list of sleeping threads, and counts this thread as searching. Another thread may already
/// have removed this thread from the list, in order to wake it, and counted it as searching. In that case, the permit
/// of that wake is not consumed here. It may end a later sleep early, which costs one poll.
void slab_sleepers::unlist(slab_context& self) noexcept {
  const std::lock_guard lock(lock_);
  if (!self.listed) return;
  slab_context** place = &idle_;
  while (*place != &self) place = &(*place)->next_idle;
  *place = self.next_idle;
  self.listed = false;
  ++searching_;
  update();
}

}  // namespace braid::detail
