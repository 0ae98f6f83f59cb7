// src/task/task_group.cpp: runs the functions of a task group, and signals their end.
#include <braid/task/fork_join.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_patience.hpp>
#include <braid/task/detail/outside_region.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/detail/threadless.hpp>

#include <climits>
#include <utility>

namespace braid {
namespace {

auto executor_of_thread() -> executor& {
  if (const worker* const self = detail::worker_of_thread; self != nullptr) return *self->pool;
  if (executor* const here = detail::threadless_here(); here != nullptr) return *here;
  return detail::default_pool();
}

/// A job that runs a function of a group on an executor. If the executor drops the job, the destructor reports that to
/// the group.
class posted_task {
 public:
  explicit posted_task(detail::group_task& task) noexcept : task_(&task) {}
  posted_task(posted_task&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  auto operator=(posted_task&&) -> posted_task& = delete;
  ~posted_task() {
    if (task_ != nullptr) task_->drop();
  }
  void operator()() && { detail::group_task::run_it(*std::exchange(task_, nullptr)); }

 private:
  detail::group_task* task_;
};

}  // namespace

/// A wait for the end of all functions of a group. This type has the functions of an `end_signal`, but can be used
/// repeatedly.
struct task_group::end_of_all final : detail::blocking_wait {
  explicit end_of_all(task_group& group) noexcept : group_(group) {}

  [[nodiscard]] auto is_set() const noexcept -> bool {
    // edge task_group.end: observe, the results of the functions are seen
    return (group_.unfinished_.load(acquire) & ~awaited) == 0;
  }
  [[nodiscard]] auto is_over() const noexcept -> bool override { return is_set(); }
  void sleep(std::optional<time_point> deadline) noexcept override { wait(deadline); }

  /// Sleeps until all functions have ended. May return earlier, when a single function has ended.
  void wait(std::optional<time_point> deadline) noexcept {
    const std::uint32_t seen = group_.unfinished_.fetch_or(awaited, relaxed) | awaited;
    if (seen != awaited) detail::futex_wait(group_.unfinished_, seen, deadline);
  }

  task_group& group_;
};

namespace detail {

void group_task::run_it(fork_record& self) noexcept {
  auto& task = static_cast<group_task&>(self);
  task_group& group = task.group_;
  std::exception_ptr thrown;
  if (const auto reason = group.stop_reason()) {
    group.leave_out(*reason);
  } else if (!group.failed_.load(relaxed)) {
    try {
      task.act_(task, action::call);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  task.act_(task, action::free);
  if (thrown != nullptr) group.fail(std::move(thrown));
  group.one_ended();
}

void group_task::drop() noexcept {
  task_group& group = group_;
  act_(*this, action::free);
  group.leave_out(errc::dropped);
  group.one_ended();
}

}  // namespace detail

task_group::task_group() : executor_(executor_of_thread()), owner_(detail::worker_of_thread) {}

task_group::task_group(executor& executor) noexcept : executor_(executor), owner_(detail::worker_of_thread) {}

task_group::~task_group() { wait_for_all(); }

void task_group::start(detail::group_task& task) {
  unfinished_.fetch_add(1, relaxed);
  worker* const self = detail::worker_of_thread;
  if (self == nullptr || self->pool != &executor_) {
    if (self == nullptr && detail::runs_inline()) return task.run(task);
    has_posts_.store(true, relaxed);
    return static_cast<void>(post(executor_, posted_task(task)));  // a refused job is dropped
  }
  const std::uint32_t position = self->forks.position();
  if (self->exchange == nullptr || !detail::push_fork(*self, task)) return task.run(task);
  self->forking.leaves_forks = true;
  if (self == owner_ && (!oldest_ || static_cast<std::int32_t>(position - *oldest_) < 0)) oldest_ = position;
}

auto task_group::stop_reason() const noexcept -> std::optional<errc> {
  if (flag_ != nullptr && flag_->requested()) return flag_->reason();
  if (token_.stop_requested()) return errc::stopped;
  return std::nullopt;
}

void task_group::leave_out(errc error) noexcept { left_out_.store(static_cast<int>(error), relaxed); }

void task_group::fail(std::exception_ptr thrown) noexcept {
  if (!failed_.exchange(true, relaxed)) thrown_ = std::move(thrown);
}

/// Counts an ended function. The group may be destroyed as soon as no function is unfinished.
void task_group::one_ended() noexcept {
  // edge task_group.end: both, the waiter sees the results of all functions
  const std::uint32_t before = unfinished_.fetch_sub(1, acq_rel);
  if (before == (awaited | 1)) detail::futex_wake(unfinished_, INT_MAX);  // uses only the address
}

auto task_group::wait() -> result<void> {
  wait_for_all();
  const int left_out = left_out_.exchange(0, relaxed);
  if (failed_.exchange(false, relaxed)) std::rethrow_exception(std::exchange(thrown_, nullptr));
  if (left_out != 0) return braid::fail(static_cast<errc>(left_out));
  return {};
}

void task_group::wait_for_all() noexcept {
  end_of_all end(*this);
  worker* const self = detail::worker_of_thread;
  if (self != nullptr && self->exchange != nullptr && (self->pool == &executor_ || !executor_.needs_polls()))
    return wait_on(*self);
  if (has_posts_.load(relaxed)) ++detail::calls_handed_over;
  detail::block(end, nullptr, std::nullopt, executor_.id());
}

/// Waits for the group on a worker: runs the group's own functions first, then forks of other workers. If it finds no
/// fork for a long time, runs other work for which a function of the group may wait.
void task_group::wait_on(worker& self) noexcept {
  end_of_all end(*this);
  detail::fork_patience some(self.exchange->looks());
  while (true) {
    run_own(self);
    if (end.is_set()) return;
    if (self.exchange->help(self)) {
      some.restart();
      continue;
    }
    if (self.forks.wanted() && self.forks.private_size() != 0) self.exchange->answer(self);
    if (self.absent != 0) self.spares->yield_context(self);
    if (!some.is_used_up() || !run_other(self)) some.wait(end);
  }
}

/// Runs other work, because a function of the group may be unable to end without it. The function may wait for forks
/// that the worker made before the group, or for posted functions that no other worker runs.
auto task_group::run_other(worker& self) noexcept -> bool {
  if (detail::fork_record* const older = self.forks.pop(); older != nullptr) {
    older->run(*older);
    return true;
  }
  return has_posts_.load(relaxed) && self.exchange->help_with_jobs(self);
}

/// Runs all forks of the owner since the oldest function of the group. These may include forks that do not belong to
/// the group.
void task_group::run_own(worker& self) noexcept {
  if (&self == owner_ && oldest_) detail::run_forks_since(self, *std::exchange(oldest_, std::nullopt));
}

}  // namespace braid
