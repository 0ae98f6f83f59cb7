// src/task/stand_ins.cpp: spare (compensating) threads: how a worker context goes from thread to thread while jobs
// block.
#include <braid/task/detail/stand_ins.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/futex.hpp>
#include <braid/task/detail/crew.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace braid::detail {
namespace {

constexpr duration first_pause = 10us;
constexpr duration longest_pause = 1ms;

}  // namespace

/// A request for a worker context by a thread that left it. Lies on the stack of that thread.
struct stand_ins::coming {
  worker* seat;
  coming* next = nullptr;
  atomic<std::uint32_t> has_it{0};  // 1: the context is its own; written by the owner before
};

auto stand_ins::run_awaited(worker& self, job& awaited) noexcept -> bool { return jobs_.run_awaited(self, awaited); }

auto stand_ins::has_work(worker& self) noexcept -> bool { return !jobs_.may_park(self); }

/// Under the lock. The seat is no longer the caller's when this is true.
auto stand_ins::give_to_coming(worker& self) noexcept -> bool {
  for (coming** link = &first_; *link != nullptr; link = &(*link)->next) {
    coming& next = **link;
    if (next.seat != &self) continue;
    *link = next.next;
    self.wanted.store(self.wanted.load(relaxed) - 1, relaxed);
    next.has_it.store(1, release);  // edge stand_ins.seat: publish, the new owner of the context sees its state
    futex_wake(next.has_it, 1);     // by its address only: the thread may have gone on
    return true;
  }
  return false;
}

/// Under the lock. Null when there is none and none can be made.
auto stand_ins::free_stand_in() noexcept -> stand_in* {
  if (idle_ != nullptr) {
    --idle_count_;
    return std::exchange(idle_, idle_->next_idle);
  }
  if (all_.size() >= most_) return nullptr;
  try {
    const auto unused = std::ranges::find(numbers_, false);
    const auto number = static_cast<std::size_t>(unused - numbers_.begin());
    if (unused == numbers_.end()) numbers_.push_back(false);
    stand_in& made = all_.emplace_back();
    made.thread = std::thread([this, &made, number] { live(made, number); });
    numbers_[number] = true;
    started_.store(started_.load(relaxed) + 1, relaxed);
    return &made;
  } catch (const std::exception&) {
    if (!all_.empty() && !all_.back().thread.joinable()) all_.pop_back();
    return nullptr;
  }
}

auto stand_ins::try_leave(worker& self) noexcept -> bool {
  stand_in_list done;
  const bool left = hand_over(self, done);
  for (stand_in& each : done) each.thread.join();
  return left;
}

/// Threads that have come back go first: they need no further thread.
auto stand_ins::hand_over(worker& self, stand_in_list& done) noexcept -> bool {
  const std::lock_guard lock(mutex_);
  done.swap(ended_);
  ++self.away;
  if (give_to_coming(self)) return true;
  stand_in* const found = free_stand_in();
  if (found == nullptr) {
    --self.away;
    return false;
  }
  found->seat = &self;
  found->call.fetch_add(1, release);  // edge stand_ins.call: publish, the spare thread looks for its context after this
  futex_wake(found->call, 1);
  return true;
}

void stand_ins::come_back(worker& self) noexcept {
  coming here{.seat = &self};
  {
    const std::lock_guard lock(mutex_);
    coming** link = &first_;
    while (*link != nullptr) link = &(*link)->next;
    *link = &here;
    self.wanted.store(self.wanted.load(relaxed) + 1, relaxed);
    futex_wake(self.wanted, 1);
  }
  // edge stand_ins.seat: observe, the state of the context is seen
  while (here.has_it.load(acquire) == 0) futex_wait(here.has_it, 0);
  --self.away;
}

void stand_ins::give_way(worker& self) noexcept {
  if (self.wanted.load(relaxed) == 0) return;
  {
    const std::lock_guard lock(mutex_);
    ++self.away;  // first, because the other one has the seat at once
    if (!give_to_coming(self)) {
      --self.away;
      return;
    }
  }
  come_back(self);
}

void stand_ins::pause(worker& self) noexcept { futex_wait(self.wanted, 0, steady_time().now() + longest_pause); }

void stand_ins::live(stand_in& self, std::size_t number) noexcept {
  around_(number, [this, &self] {
    worker* seat = await_seat(self);
    while (seat != nullptr && serve(self, *seat)) seat = await_seat(self);
  });
  const std::lock_guard lock(mutex_);
  numbers_[number] = false;
}

/// Under the lock.
auto stand_ins::stays(stand_in& self) noexcept -> bool {
  self.seat = nullptr;
  if (self.ends) return false;
  if (idle_count_ >= most_idle_) {
    const auto here = std::ranges::find(all_, &self, [](const stand_in& each) { return &each; });
    ended_.splice(ended_.end(), all_, here);
    return false;
  }
  self.next_idle = std::exchange(idle_, &self);
  ++idle_count_;
  return true;
}

auto stand_ins::await_seat(stand_in& self) noexcept -> worker* {
  while (true) {
    const std::uint32_t seen = self.call.load(acquire);  // edge stand_ins.call: observe, what the caller left is seen
    {
      const std::lock_guard lock(mutex_);
      if (self.seat != nullptr) return self.seat;
      if (self.ends) return nullptr;
    }
    futex_wait(self.call, seen);
  }
}

/// Until a thread has come back for the context: some thread is away from it as long as this one has it. The thread
/// that takes it finds the stand-in free from that moment on. False: nobody will need it again.
auto stand_ins::serve(stand_in& self, worker& seat) noexcept -> bool {
  const worker_scope here(seat);
  duration pause = first_pause;
  auto why = search::routine;
  seat.pace.paused();  // the job that waits does not keep others at this seat from running any more
  while (true) {
    if (seat.wanted.load(relaxed) != 0) {
      const std::lock_guard lock(mutex_);
      if (give_to_coming(seat)) return stays(self);
    }
    if (jobs_.run_one(seat, why)) {
      pause = first_pause;
      why = search::routine;
      continue;
    }
    seat.pace.paused();
    why = search::watch;
    futex_wait(seat.wanted, 0, steady_time().now() + pause);
    pause = std::min(2 * pause, longest_pause);
  }
}

/// One that has just given its seat away sees `ends` as well.
void stand_ins::join() noexcept {
  stand_in_list last;
  {
    const std::lock_guard lock(mutex_);
    for (stand_in& each : all_) {
      each.ends = true;
      each.call.fetch_add(1, release);  // edge stand_ins.call: publish
      futex_wake(each.call, 1);
    }
    last.splice(last.end(), all_);
    last.splice(last.end(), ended_);
    idle_ = nullptr;
    idle_count_ = 0;
  }
  for (stand_in& each : last) each.thread.join();
}

}  // namespace braid::detail
