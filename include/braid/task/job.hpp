// braid/task/job.hpp: a unit of work: a queue node with a function that runs it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/detail/job_memory.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {
class job_times;
}

/// A unit of work: an intrusive queue node with a function. The thread that removes the job from a queue calls `run` or
/// `drop`, exactly once. The job may be destroyed by that call.
class job {
 public:
  enum class action : std::uint8_t { run, drop };
  using act_fn = void (*)(job&, action);

  explicit job(act_fn act) noexcept : act_(act) {}
  job(const job&) = delete;
  auto operator=(const job&) -> job& = delete;

  /// Runs the work. Errors: any exception of the user's code; the worker loop that calls this reports it.
  void run() { act_(*this, action::run); }

  /// Drops the work, because the executor that had accepted it is shutting down. Waiters fail with errc::dropped. An
  /// exception thrown here ends the program, because no waiter could receive it and the remaining jobs must also be
  /// dropped.
  void drop() noexcept { act_(*this, action::drop); }

  /// Returns the job's function, which identifies the job in a trace.
  /// Threads: the thread that owns the job, while the job is not in a queue.
  [[nodiscard]] BRAID_API auto code() const noexcept -> act_fn;

  job* next = nullptr;  ///< belongs to the queue that holds the job

 protected:
  ~job() = default;

 private:
  friend class detail::job_times;

  act_fn act_;
};

namespace detail {

/// True if the result of a call is lazy, like a task: it does nothing until it is started. A job that discards such a
/// result would lose the work.
template <typename R>
inline constexpr bool is_lazy_work = false;

/// A callable that can be posted: it can be called once without arguments, as an rvalue. Callables that return tasks
/// are posted by the overloads of the coroutine layer.
template <typename Fn>
concept job_function = std::move_constructible<std::decay_t<Fn>> && std::invocable<std::decay_t<Fn>&&> &&
                       !detail::is_lazy_work<std::invoke_result_t<std::decay_t<Fn>&&>>;

/// A posted callable in a block from `allocate_job`.
template <typename Fn>
class closure_job final : public job {
 public:
  template <typename F>
  static auto create(F&& fn) -> closure_job& {
    void* place = allocate_block<closure_job>();
    try {
      return *std::construct_at(static_cast<closure_job*>(place), std::forward<F>(fn));
    } catch (...) {
      free_block<closure_job>(place);
      throw;
    }
  }

  template <typename F>
  explicit closure_job(F&& fn) : job(&act), fn_(std::forward<F>(fn)) {}

  /// Frees the job without running it.
  void discard() noexcept {
    std::destroy_at(this);
    free_block<closure_job>(this);
  }

 private:
  /// Runs or drops the callable. Its captures are destroyed before the job counts as done, even if the callable throws.
  static void act(job& self, action request) {
    struct guard {
      closure_job& owned;
      ~guard() { owned.discard(); }
    } const owner{static_cast<closure_job&>(self)};
    if (request == action::run) std::invoke(std::move(owner.owned.fn_));
  }

  Fn fn_;
};

/// Returns a new job that runs `fn` once, in an allocated block.
template <detail::job_function Fn>
[[nodiscard]] auto make_job(Fn&& fn) -> detail::closure_job<std::decay_t<Fn>>& {
  return detail::closure_job<std::decay_t<Fn>>::create(std::forward<Fn>(fn));
}

}  // namespace detail

}  // namespace braid
