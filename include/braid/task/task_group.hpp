// braid/task/task_group.hpp: structured fork and join: any number of functions that end before their starter goes on.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/stop_signal.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid {

class task_group;

namespace detail {

/// A function that a group has accepted, on the heap.
class BRAID_API group_task : public fork_record {
 public:
  enum class action : std::uint8_t { call, free };
  using act_fn = void (*)(group_task&, action);

  /// Calls the function, unless the group has stopped, and frees it.
  static void run_it(fork_record& self) noexcept;

  /// Frees it without a call, because a pool has dropped it.
  void drop() noexcept;

 protected:
  group_task(task_group& group, act_fn act) noexcept : fork_record(&run_it), group_(group), act_(act) {}
  ~group_task() = default;

 private:
  task_group& group_;
  const act_fn act_;
};

template <typename Fn>
class group_task_of final : public group_task {
 public:
  template <typename F>
  group_task_of(task_group& group, F&& fn) : group_task(group, &act), fn_(std::forward<F>(fn)) {}

 private:
  static void act(group_task& self, action what) {
    auto& mine = static_cast<group_task_of&>(self);
    if (what == action::call) return static_cast<void>(std::invoke(std::move(mine.fn_)));
    std::destroy_at(&mine);
    free_block<group_task_of>(&mine);
  }

  Fn fn_;
};

}  // namespace detail

/// Functions that are `run` from the scope that has the group, or from one another, to any depth. Those that a worker
/// runs lie in its deque as forks do: the newest is run first, and thieves take the oldest. From a thread that is no
/// worker of the group's executor they are posted there.
/// Threads: `run` from any, `wait` from one at a time. Lifetime: nothing is run once the last `wait` has returned.
class BRAID_API task_group {
 public:
  /// For the executor of the worker that calls, else for `default_pool`.
  task_group();
  explicit task_group(pool& where) noexcept;

  /// Functions that have not begun when a stop is requested are left out. Lifetime: a stop_flag outlives the group.
  template <stop_signal Signal>
  explicit task_group(Signal&& stop) : task_group() {
    stop_by(stop);
  }
  template <stop_signal Signal>
  task_group(pool& where, Signal&& stop) : task_group(where) {
    stop_by(stop);
  }

  task_group(const task_group&) = delete;
  auto operator=(const task_group&) -> task_group& = delete;

  /// Waits. What functions threw since the last `wait` is lost.
  ~task_group();

  /// Has `fn` run once, on a worker that has time, or in `wait`. Where a worker has forked all that it can hold, or
  /// jobs run as they are posted, it runs here and now. Errors: std::bad_alloc. Cost: a block of memory for jobs.
  template <job_function Fn>
  void run(Fn&& fn) {
    using task = detail::group_task_of<std::decay_t<Fn>>;
    void* const place = detail::allocate_block<task>();
    task* made = nullptr;
    try {
      made = std::construct_at(static_cast<task*>(place), *this, std::forward<Fn>(fn));
    } catch (...) {
      detail::free_block<task>(place);
      throw;
    }
    start(*made);
  }

  /// Returns when all functions have ended; then the group may be used anew. Blocks: until then; a worker runs them and
  /// other forks meanwhile. Errors: rethrows what a function threw first, after which those that had not begun were
  /// left out; gives errc::stopped, or the reason of the flag, when functions were left out because of a stop; and
  /// errc::dropped when a pool that shuts down has not run some.
  [[nodiscard]] auto wait() -> result<void>;

 private:
  friend class detail::group_task;
  struct end_of_all;

  void stop_by(const stop_flag& flag) noexcept { flag_ = &flag; }
  void stop_by(const std::stop_token& token) { token_ = token; }

  void start(detail::group_task& task);
  [[nodiscard]] auto stop_reason() const noexcept -> std::optional<errc>;
  void leave_out(errc why) noexcept;
  void fail(std::exception_ptr thrown) noexcept;
  void one_ended() noexcept;
  void wait_for_all() noexcept;
  void wait_on(worker& self) noexcept;
  void run_own(worker& self) noexcept;
  auto run_other(worker& self) noexcept -> bool;

  static constexpr std::uint32_t awaited = std::uint32_t{1} << 31U;

  executor& where_;
  const stop_flag* flag_ = nullptr;
  std::stop_token token_;
  std::exception_ptr thrown_;            // written by the thread that sets `failed_`, before its function has ended
  atomic<bool> failed_{false};           // a function has thrown; set by the first that does, cleared by `wait`
  atomic<bool> has_posts_{false};        // functions have come from other threads; set by those
  atomic<int> left_out_{0};              // why functions were left out, as an errc; 0: none was
  worker* owner_;                        // whose stack the group lies on; null where that is no worker's
  std::optional<std::uint32_t> oldest_;  // position of its oldest fork in the owner's deque; written by the owner
  atomic<std::uint32_t> unfinished_{0};  // functions that have not ended; and `awaited`, set by the sleeping owner
};

}  // namespace braid
