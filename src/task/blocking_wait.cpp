// src/task/blocking_wait.cpp: implements how a worker waits: it runs other jobs (helping), or passes its worker context
// to a spare thread.
#include <braid/task/detail/blocking_wait.hpp>

#include "../platform/system.hpp"

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace braid::detail {
namespace {

// docs/design/constants.md says what these values rest on.
constexpr unsigned free_helps = 30;     // the number of helps that may always be nested
constexpr duration first_pause = 10us;  // the first pause of a worker that finds no job
constexpr duration max_help_pause = 1ms;

constinit thread_local unsigned helps = 0;  // the number of helps that are nested on this thread

/// An executor whose jobs run only while the thread that created it waits.
struct driven {
  std::thread::id creator;
  executor_id executor;
};
struct driven_list {
  fork_safe_mutex lock;
  std::vector<driven> all;       // under the lock
  atomic<std::size_t> count{0};  // the size of `all`; written under the lock
};
constinit never_destroyed<driven_list> made_by;

/// Removes the executors of other threads in the child of a fork. Otherwise a new thread with a reused thread id would
/// run jobs of the parent. The list is consistent, because a fork waits for the list's lock.
void forget_waits_of_threads() noexcept {
  helps = 0;
  driven_list& list = made_by.value;
  std::erase_if(list.all, [](const driven& each) { return each.creator != std::this_thread::get_id(); });
  list.count.store(list.all.size(), relaxed);
}

[[maybe_unused]] const int blocking_wait_fork_handler = call_at_fork(nullptr, nullptr, &forget_waits_of_threads);

/// Returns the id of the executor at index `number` among the listed executors that the calling thread has created.
/// Returns an empty id if the thread has created too few executors.
auto driven_here(std::size_t number) noexcept -> executor_id {
  if (made_by.value.count.load(relaxed) == 0) return {};
  const std::lock_guard lock(made_by.value.lock);
  for (const driven& each : made_by.value.all)
    if (each.creator == std::this_thread::get_id() && number-- == 0) return each.executor;
  return {};
}

/// Returns whether less than half of the thread's stack is in use. Returns false if the limits of the stack are
/// unknown.
auto has_stack() noexcept -> bool {
  const stack_range stack = own_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here > stack.begin + (stack.end - stack.begin) / 2 && here <= stack.end;
}

/// Returns whether a waiting worker may run another job. If many jobs are nested on its stack already, the worker may
/// run another job only after a long pause. After such a pause, the worker may be waiting for a queued job that no
/// other worker is free to run.
auto may_help(duration pause) noexcept -> bool {
  return helps < free_helps || (pause >= max_help_pause && has_stack());
}

auto help(executor& own) noexcept -> bool {
  ++helps;
  const bool helped = own.run_one();
  --helps;
  return helped;
}

auto run_awaited(worker& self, job& awaited) noexcept -> bool {
  ++helps;
  const bool ran = self.spares->run_awaited(self, awaited);
  --helps;
  return ran;
}

/// Runs other jobs of the worker's executor until `wait` is over. If there are no jobs, the worker sleeps, and looks
/// for jobs after pauses of growing length. Returns false at the deadline.
auto help_until(executor& own, blocking_wait& wait, std::optional<time_point> deadline) noexcept -> bool {
  duration pause = first_pause;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    if (may_help(pause) && help(own)) {
      pause = first_pause;
      continue;
    }
    const time_point until = steady_time().now() + pause;
    wait.sleep(deadline ? std::min(until, *deadline) : until);
    pause = std::min(2 * pause, max_help_pause);
  }
  return true;
}

/// Sleeps until `wait` is over. Returns false at the deadline.
auto sleep_until_over(blocking_wait& wait, std::optional<time_point> deadline) noexcept -> bool {
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    wait.sleep(deadline);
  }
  return true;
}

/// Waits while other threads may use this worker's context. Runs only `awaited`, the job that this thread waits for (or
/// null). Leaves other jobs to the other threads, because those jobs may wait for the job in which this thread waits.
/// Returns false at the deadline.
auto wait_on_context(worker& self, blocking_wait& wait, job* awaited, std::optional<time_point> deadline) noexcept
    -> bool {
  spare_threads& others = *self.spares;
  duration pause = first_pause;
  bool may_leave = false;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    if (may_leave || self.forks.wanted())
      self.exchange->share(self);  // the work that this job waits for may be one of its own forks
    if (awaited != nullptr && may_help(pause) && run_awaited(self, *awaited)) continue;
    if (self.wanted.load(relaxed) != 0 || (may_leave && others.has_work(self))) {
      const std::uint32_t own_helps = self.forking.helps;  // the number of stolen forks on this stack
      if (others.try_release(self)) {
        const bool in_time = sleep_until_over(wait, deadline);
        others.reacquire(self, own_helps);
        return in_time || wait.is_over();
      }
      if (may_help(pause) && help(*self.pool)) continue;
    }
    may_leave = true;
    const time_point until = steady_time().now() + pause;
    wait.sleep(deadline ? std::min(until, *deadline) : until);
    pause = std::min(2 * pause, max_help_pause);
  }
  return true;
}

auto block_as_thread(blocking_wait& wait, job* awaited, std::optional<time_point> deadline) noexcept -> bool {
  worker* const self = current_worker();
  if (self == nullptr) return sleep_until_over(wait, deadline);
  if (self->spares == nullptr) return help_until(*self->pool, wait, deadline);
  return wait_on_context(*self, wait, awaited, deadline);
}

auto needs_polls(executor_id executor) noexcept -> bool {
  const executor_use use(executor);
  return use && use->needs_polls();
}

auto poll(executor_id executor) noexcept -> bool {
  const executor_use use(executor);
  return use && use->poll();
}

/// Returns the executor of the job that this thread runs if the jobs of that executor run only when a thread polls it.
/// Otherwise returns null.
auto polled_executor_here() noexcept -> executor* {
  executor* const here = threadless_here();
  return here != nullptr && here->needs_polls() ? here : nullptr;
}

/// Runs a job of an executor whose jobs run only when this thread polls. Returns false if there is no such job.
auto poll_any(executor_id target) noexcept -> bool {
  if (poll(target)) return true;
  if (executor* const here = polled_executor_here(); here != nullptr && here->poll()) return true;
  if (current_worker() != nullptr) return false;
  std::size_t number = 0;
  for (executor_id own = driven_here(number); own; own = driven_here(++number))
    if (poll(own)) return true;
  return false;
}

/// Waits like `block`, and also runs jobs of executors that must be polled. The thread is not notified of such jobs, so
/// it polls after pauses.
auto drive_until(blocking_wait& wait, job* awaited, std::optional<time_point> deadline, executor_id executor) noexcept
    -> bool {
  duration pause = first_pause;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    if (poll_any(executor)) {
      pause = first_pause;
      continue;
    }
    const time_point until = steady_time().now() + pause;
    block_as_thread(wait, awaited, deadline ? std::min(until, *deadline) : until);
    pause = std::min(2 * pause, max_help_pause);
  }
  return true;
}

/// A `blocking_wait` that is over when an `end_signal` is set.
class end_wait final : public blocking_wait {
 public:
  explicit end_wait(end_signal& signal) noexcept : signal_(signal) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override { return signal_.is_set(); }
  void sleep(std::optional<time_point> deadline) noexcept override { signal_.wait(deadline); }

 private:
  end_signal& signal_;
};

}  // namespace

auto block(blocking_wait& wait, job* awaited, std::optional<time_point> deadline, executor_id executor) noexcept
    -> bool {
  // Jobs that this thread runs meanwhile are slices inside this slice.
  const trace_slice shown(trace_group::jobs, "blocked");
  if (runs_while_waiting(executor)) return drive_until(wait, awaited, deadline, executor);
  return block_as_thread(wait, awaited, deadline);
}

void block_until_set(end_signal& ended, executor_id executor) noexcept {
  if (ended.is_set()) return;
  end_wait wait(ended);
  block(wait, nullptr, std::nullopt, executor);
}

void run_while_waiting(executor_id executor) {
  const std::lock_guard lock(made_by.value.lock);
  made_by.value.all.push_back({std::this_thread::get_id(), executor});
  made_by.value.count.store(made_by.value.all.size(), relaxed);
}

void end_run_while_waiting(executor_id executor) noexcept {
  const std::lock_guard lock(made_by.value.lock);
  std::erase_if(made_by.value.all, [executor](const driven& each) { return each.executor == executor; });
  made_by.value.count.store(made_by.value.all.size(), relaxed);
}

auto runs_while_waiting(executor_id executor) noexcept -> bool {
  return (executor && needs_polls(executor)) || polled_executor_here() != nullptr ||
         (current_worker() == nullptr && driven_here(0));
}

void expect_to_block(const char* sentence) {
  if (waits_for_io()) throw std::system_error(make_error_code(errc::would_deadlock), sentence);
}

}  // namespace braid::detail
