// src/task/spare_threads.cpp: implements spare (compensating) threads: passes worker contexts between threads while
// jobs block.
#include <braid/task/detail/spare_threads.hpp>

#include "../platform/system.hpp"

#include <braid/base/clock.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/scheduler_base.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md says what these values rest on.
constexpr duration first_pause_of_starts = 10us;
constexpr duration max_pause_of_starts = 1ms;

}  // namespace

/// The request of a thread to get its worker context back. The object is on the stack of that thread.
struct spare_threads::returning {
  worker* context;
  returning* next = nullptr;
  atomic<std::uint32_t> has_it{0};  // 1 if it owns the context; written by the previous owner
};

auto spare_threads::run_awaited(worker& self, job& awaited) noexcept -> bool {
  return jobs_.run_awaited(self, awaited);
}

auto spare_threads::has_work(worker& self) noexcept -> bool { return !jobs_.may_park(self); }

/// Passes the worker context to a thread that waits for it. Returns false if no thread waits. The caller holds the
/// lock, and must not use the context if the result is true.
auto spare_threads::give_to_returning(worker& self) noexcept -> bool {
  for (returning** link = &first_; *link != nullptr; link = &(*link)->next) {
    returning& next = **link;
    if (next.context != &self) continue;
    *link = next.next;
    self.wanted.store(self.wanted.load(relaxed) - 1, relaxed);
    next.has_it.store(1, release);  // edge spare_threads.context: publish, the new owner of the context sees its state
    futex_wake(next.has_it, 1);     // uses only the address: the thread may have continued
    return true;
  }
  return false;
}

/// Returns an idle spare thread, or starts one. Returns null if no thread can be started. Called under the lock.
auto spare_threads::free_spare() noexcept -> spare_thread* {
  if (idle_ != nullptr) {
    --idle_count_;
    return std::exchange(idle_, idle_->next_idle);
  }
  if (threads_.size() >= max_threads_) return nullptr;
  try {
    const auto unused = std::ranges::find(numbers_, false);
    const auto number = static_cast<std::size_t>(unused - numbers_.begin());
    if (unused == numbers_.end()) numbers_.push_back(false);
    spare_thread& made = threads_.emplace_back();
    made.thread = std::thread([this, &made, number] { run_spare(made, number); });
    numbers_[number] = true;
    started_.store(started_.load(relaxed) + 1, relaxed);
    return &made;
  } catch (const std::exception&) {
    if (!threads_.empty() && !threads_.back().thread.joinable()) threads_.pop_back();
    return nullptr;
  }
}

auto spare_threads::try_release(worker& self) noexcept -> bool {
  spare_list done;
  const bool left = hand_over(self, done);
  for (spare_thread& each : done) each.thread.join();
  return left;
}

/// Passes the worker context to another thread. Prefers a thread that waits for its worker context, because then no
/// spare thread is needed.
auto spare_threads::hand_over(worker& self, spare_list& done) noexcept -> bool {
  const std::lock_guard lock(mutex_);
  done.swap(ended_);
  ++self.absent;
  if (give_to_returning(self)) return true;
  spare_thread* const found = free_spare();
  if (found == nullptr) {
    --self.absent;
    return false;
  }
  found->context = &self;
  found->call.fetch_add(
      1, release);  // edge spare_threads.call: publish, the spare thread looks for its context after this
  futex_wake(found->call, 1);
  return true;
}

void spare_threads::reacquire(worker& self, std::uint32_t helps) noexcept {
  returning here{.context = &self};
  {
    const std::lock_guard lock(mutex_);
    returning** link = &first_;
    while (*link != nullptr) link = &(*link)->next;
    *link = &here;
    self.wanted.store(self.wanted.load(relaxed) + 1, relaxed);
    futex_wake(self.wanted, 1);
  }
  // edge spare_threads.context: observe, the state of the context is seen
  while (here.has_it.load(acquire) == 0) futex_wait(here.has_it, 0);
  --self.absent;
  self.forking.helps = helps;
  self.thread.store(own_thread_id(), relaxed);
}

void spare_threads::yield_context(worker& self, code_marker* marker) noexcept {
  if (self.wanted.load(relaxed) == 0) return;
  const user_code_pause elsewhere(marker);
  const std::uint32_t helps = self.forking.helps;
  {
    const std::lock_guard lock(mutex_);
    ++self.absent;  // first, because the other thread owns the context at once
    if (!give_to_returning(self)) {
      --self.absent;
      return;
    }
  }
  reacquire(self, helps);
}

void spare_threads::pause(worker& self) noexcept {
  futex_wait(self.wanted, 0, steady_time().now() + max_pause_of_starts);
}

void spare_threads::run_spare(spare_thread& self, std::size_t number) noexcept {
  const user_code_section section;
  around_(number, [this, &self] {
    worker* context = await_context(self);
    while (context != nullptr && serve(self, *context)) context = await_context(self);
  });
  const std::lock_guard lock(mutex_);
  numbers_[number] = false;
}

/// Decides whether a spare thread without a worker context stays idle or ends. Called under the lock.
auto spare_threads::stays(spare_thread& self) noexcept -> bool {
  self.context = nullptr;
  if (self.ends) return false;
  if (idle_count_ >= max_idle_) {
    const auto here = std::ranges::find(threads_, &self, [](const spare_thread& each) { return &each; });
    ended_.splice(ended_.end(), threads_, here);
    return false;
  }
  self.next_idle = std::exchange(idle_, &self);
  ++idle_count_;
  return true;
}

auto spare_threads::await_context(spare_thread& self) noexcept -> worker* {
  while (true) {
    const std::uint32_t seen =
        self.call.load(acquire);  // edge spare_threads.call: observe, what the caller left is seen
    {
      const std::lock_guard lock(mutex_);
      if (self.context != nullptr) return self.context;
      if (self.ends) return nullptr;
    }
    const user_code_pause idle(outermost_code_marker());
    futex_wait(self.call, seen);
  }
}

/// Runs jobs in the worker context until a blocked thread requests the context. There always is a blocked thread that
/// will do so, because otherwise no spare thread would have the context. Passes the context to that thread, and becomes
/// idle under the same lock. Returns false if this spare thread is no longer needed.
auto spare_threads::serve(spare_thread& self, worker& context) noexcept -> bool {
  const worker_scope here(context);
  context.thread.store(own_thread_id(), relaxed);
  context.forking.helps = 0;  // this stack is empty
  duration pause = first_pause_of_starts;
  auto why = search::routine;
  code_marker* const marker = outermost_code_marker();
  context.pace.paused();  // the waiting job no longer delays other jobs of this context
  while (true) {
    if (marker != nullptr) marker->pass();
    if (context.wanted.load(relaxed) != 0) {
      const std::lock_guard lock(mutex_);
      if (give_to_returning(context)) return stays(self);
    }
    if (jobs_.run_one(context, why)) {
      pause = first_pause_of_starts;
      why = search::routine;
      continue;
    }
    context.pace.paused();
    why = search::monitor;
    const user_code_pause idle(marker);
    futex_wait(context.wanted, 0, steady_time().now() + pause);
    pause = std::min(2 * pause, max_pause_of_starts);
  }
}

/// Ends all spare threads. A thread that has just passed on its worker context also reads `ends`, and ends.
void spare_threads::join() noexcept {
  spare_list last;
  {
    const std::lock_guard lock(mutex_);
    for (spare_thread& each : threads_) {
      each.ends = true;
      each.call.fetch_add(1, release);  // edge spare_threads.call: publish `ends`, which the spare thread reads next
      futex_wake(each.call, 1);
    }
    last.splice(last.end(), threads_);
    last.splice(last.end(), ended_);
    idle_ = nullptr;
    idle_count_ = 0;
  }
  for (spare_thread& each : last) each.thread.join();
}

}  // namespace braid::detail
