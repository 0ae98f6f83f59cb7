// src/task/work_stealing.cpp: who gets a job, and from whom a worker takes one.
#include <braid/task/work_stealing.hpp>

#include <utility>

namespace braid {
namespace {

/// About twice the time from a wake to the first job of who was woken. A shorter backlog is done before help comes.
constexpr duration worth_a_wake = 20us;

auto is_worth_a_wake(std::size_t jobs, const detail::job_pace& pace) noexcept -> bool {
  return static_cast<duration::rep>(jobs) * pace.average() >= worth_a_wake;
}

}  // namespace

work_stealing::work_stealing(std::size_t workers, const clock_source& clock) {
  seats_.reserve(workers);
  for (std::size_t index = 0; index < workers; ++index)
    seats_.push_back(std::make_unique<detail::seat>(workers, clock));
}

work_stealing::~work_stealing() = default;

auto work_stealing::place(job& work, const worker* poster) noexcept -> placement {
  const std::size_t index = poster != nullptr ? poster->index : kept_busy_.load(relaxed);
  detail::seat& at = *seats_[index];
  const std::size_t jobs = at.try_push(work);
  if (jobs == 0) return {};
  using enum placement::verdict;
  return {.how = is_worth_a_wake(jobs, at.pace) ? urgent : can_wait, .seat = index};
}

auto work_stealing::refill(worker& self, search why) noexcept -> job* {
  detail::seat& own = *seats_[self.index];
  job* found = own.pop();
  if (found == nullptr) found = steal(self, why);
  if (found != nullptr)
    own.pace.job_begins();
  else
    own.pace.paused();
  return found;
}

/// The oldest of the jobs that it takes from another seat; the rest goes to its own.
auto work_stealing::steal(worker& self, search why) noexcept -> job* {
  detail::seat& own = *seats_[self.index];
  const bool anything = why == search::woken || closed_.load(relaxed);
  for (std::size_t step = 1; step < seats_.size(); ++step) {
    const std::size_t victim = (self.index + step) % seats_.size();
    detail::seat& other = *seats_[victim];
    auto taken = other.take_half([&](std::size_t jobs, std::uint64_t popped) {
      const bool held_up = why == search::watch && std::exchange(own.seen[victim], popped) == popped;
      return anything || held_up || is_worth_a_wake(jobs, other.pace);
    });
    if (taken.count == 0) continue;
    if (why == search::watch) kept_busy_.store(self.index, relaxed);
    job* first = taken.jobs.pop();
    if (taken.count > 1) {
      own.add(std::move(taken.jobs), taken.count - 1);
      self.moved_jobs = true;
    }
    return first;
  }
  return nullptr;
}

auto work_stealing::may_park(const worker& self) noexcept -> bool { return seats_[self.index]->empty(); }

auto work_stealing::empty() noexcept -> bool {
  for (const auto& each : seats_)
    if (!each->empty()) return false;
  return true;
}

void work_stealing::close() noexcept {
  closed_.store(true, relaxed);
  for (const auto& each : seats_) each->close();
}

auto work_stealing::take_all() noexcept -> intrusive_queue<job> {
  intrusive_queue<job> all;
  for (const auto& each : seats_) each->take_all_into(all);
  return all;
}

}  // namespace braid
