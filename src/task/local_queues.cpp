// src/task/local_queues.cpp: implements the queues of jobs in worker contexts: adding jobs, stealing half of them, and
// closing the queues.
#include <braid/task/detail/local_queues.hpp>

#include <braid/sync/detail/let_others_run.hpp>

#include <array>
#include <new>
#include <utility>

namespace braid::detail {
namespace {

void count_steal(worker& self) noexcept {
  count_one(self.counters.steals);
  trace_mark(trace_group::jobs, "steal");
}

}  // namespace

auto local_queues::place_for(worker& worker, job& work) noexcept -> placement {
  try {
    if (worker.box.post(posted_job{&work}) != post_outcome::posted) return {};
  } catch (const std::bad_alloc&) {
    return {.how = placement::verdict::no_memory};
  }
  return placed_at(worker);
}

/// A guard that marks a thief while it moves jobs. `drop_all` waits until all such guards have ended.
class local_queues::moving {
 public:
  explicit moving(atomic<std::uint64_t>& moves) noexcept
      : moves_(moves), allowed_((moves.fetch_add(one_begin + 1, relaxed) & dropping) == 0) {}
  moving(const moving&) = delete;
  auto operator=(const moving&) -> moving& = delete;
  // edge local_queues.moved: publish, the jobs are seen in their new queue once the count shows that the move has ended
  ~moving() { moves_.fetch_sub(1, release); }

  [[nodiscard]] auto is_allowed() const noexcept -> bool { return allowed_; }

 private:
  atomic<std::uint64_t>& moves_;
  const bool allowed_;
};

auto local_queues::take_half(worker& self, worker& victim) noexcept -> found_job {
  const moving here(moves_);
  return here.is_allowed() ? move_half(self, victim) : found_job();
}

/// Takes a certain job out of the queue. All jobs are taken out, and the other jobs are put back in the same order.
auto local_queues::try_take(worker& self, const job& awaited) noexcept -> bool {
  const moving here(moves_);
  if (!here.is_allowed()) return false;
  std::array<job*, 64> others;
  if (self.queue.approximate_size() > others.size()) return self.queue.try_pop(awaited);
  std::size_t count = 0;
  bool found = false;
  while (count < others.size()) {
    job* const next = self.queue.pop();
    if (next == nullptr) break;
    if (next == &awaited)
      found = true;
    else
      others[count++] = next;
  }
  for (std::size_t i = 0; i < count; ++i) self.queue.push(*others[i]);
  self.idle.should_wake_peer = self.idle.should_wake_peer || count != 0;
  return found;
}

auto local_queues::move_half(worker& self, worker& victim) noexcept -> found_job {
  if (job* const oldest = self.queue.steal_half_from(victim.queue); oldest != nullptr) {
    self.idle.should_wake_peer = true;
    count_steal(self);
    return oldest;
  }
  // The check for an empty inbox costs a few loads. Stealing from an inbox costs a heavy barrier, which is too
  // expensive for an empty inbox.
  if (!victim.box.empty() && self.box.steal_half_from(victim.box, *self.own_producer) != 0) {
    self.idle.should_wake_peer = true;
    count_steal(self);
    return self.box.claim();
  }
  // The queue and the inbox of the victim are empty, and the victim is busy with another job. So the thief may take the
  // job in the victim's run-next slot.
  return victim.queue.steal_next(victim.queue.next_mark());
}

auto local_queues::is_held_up(worker& self, const worker& victim) noexcept -> bool {
  const std::uint64_t begun = victim.counters.jobs.load(relaxed);
  const std::uint64_t since = begun - std::exchange(self.idle.seen[victim.index], begun);
  const std::size_t backlog = victim.backlog();
  return backlog > 10 * since || (backlog > since && victim.pace.is_held_up());
}

auto local_queues::empty() noexcept -> bool {
  for (const auto& each : workers_)
    if (!may_park(*each)) return false;
  return true;
}

/// Returns whether no job is queued or being moved. If this thread no longer sees stolen jobs in a queue, it also sees
/// that the thief's move has begun. In that case, the second read of the count returns a different number than the
/// first read.
auto local_queues::is_quiescent() noexcept -> bool {
  if (is_known_quiescent()) return true;
  // edge local_queues.moved: observe, every job whose move has ended is seen in its new queue
  const std::uint64_t before = moves_.load(acquire);
  if (moving_in(before) != 0 || !empty() || moves_.load(relaxed) / one_begin != before / one_begin) return false;
  quiescent_.store(true, relaxed);
  return true;
}

void local_queues::close() noexcept {
  closed_.store(true, relaxed);
  for (const auto& each : workers_) each->box.close();
}

/// Drops all queued jobs. Waits first until no thread moves jobs between queues. Jobs that a queue moves internally are
/// not missed, because the queue's `empty` counts them.
void local_queues::drop_all() noexcept {
  moves_.fetch_or(dropping, relaxed);
  // edge local_queues.moved: observe, every job whose move has ended is seen in its new queue
  while (moving_in(moves_.load(acquire)) != 0) let_others_run();
  for (const auto& each : workers_) {
    while (!each->queue.empty())
      if (job* const pending = each->queue.steal_one(); pending != nullptr) pending->drop();
    each->box.drop_all();
  }
}

}  // namespace braid::detail
