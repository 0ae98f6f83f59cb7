// braid/task/scheduled.hpp: schedules work at a time, after a delay, or periodically.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/detail/scheduled_spawn.hpp>
#include <braid/task/detail/scheduled_state.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/detail/time_span.hpp>
#include <braid/task/every_options.hpp>
#include <braid/task/executor.hpp>
#include <braid/thread/detail/registry_handle.hpp>
#include <braid/thread/detail/thread_control.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

/// A handle to scheduled work. You can use it to cancel the work or to query its state. Copies refer to the same work.
/// Dropping the handle detaches the work, which continues. Its members require a handle that refers to work, such as
/// the result of `post_at`; an empty handle is never active. Threads: any, but only one thread at a time may use a
/// handle.
class scheduled_task {
 public:
  /// Creates a handle that refers to no work.
  scheduled_task() noexcept = default;

  scheduled_task(const scheduled_task& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->keep();
  }
  scheduled_task(scheduled_task&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(scheduled_task other) noexcept -> scheduled_task& {
    std::swap(state_, other.state_);
    return *this;
  }
  ~scheduled_task() {
    if (state_ != nullptr) state_->let_go();
  }

  /// Cancels the work. No run begins after this call. The captures are destroyed as soon as no run uses them; the
  /// result shows whether that has happened already. If the result is not `after_run`, the timers no longer use the
  /// executor, so the executor may be destroyed.
  /// Threads: any, including the function itself. Blocks: while another thread passes the work from the timers to the
  /// executor, unless the result is `after_run`.
  auto cancel() const noexcept -> cancellation {
    if (state_ == nullptr) return cancellation::too_late;
    const scheduled_task kept(*this);  // this handle may be among the captures
    return kept.state_->cancel();
  }

  /// Returns the status of the work. If it is not `active`, the captures have been destroyed.
  [[nodiscard]] auto status() const noexcept -> schedule_status {
    return state_ == nullptr ? schedule_status::cancelled : state_->status();
  }
  [[nodiscard]] auto is_active() const noexcept -> bool { return status() == schedule_status::active; }

  /// Returns the number of runs that have begun, including the current run.
  [[nodiscard]] auto runs() const noexcept -> std::uint64_t { return state_ == nullptr ? 0 : state_->runs(); }

  /// Creates a handle that takes over a reference to the work. Called by the scheduling functions.
  static auto adopt(detail::scheduled_state& owned) noexcept -> scheduled_task { return scheduled_task(owned); }

 private:
  explicit scheduled_task(detail::scheduled_state& owned) noexcept : state_(&owned) {}

  detail::scheduled_state* state_ = nullptr;
};

namespace detail {

/// A callable that can be scheduled for one run. It is called without arguments, or with its own handle.
template <typename Fn>
concept scheduled_function =
    std::move_constructible<std::decay_t<Fn>> &&
    (std::invocable<std::decay_t<Fn>&&, const scheduled_task&> || std::invocable<std::decay_t<Fn>&&>);

/// A callable that can be scheduled for repeated runs. It is called without arguments, or with its own handle, which it
/// can use to end the series.
template <typename Fn>
concept periodic_function =
    std::move_constructible<std::decay_t<Fn>> &&
    (std::invocable<std::decay_t<Fn>&, const scheduled_task&> || std::invocable<std::decay_t<Fn>&>);

enum class repeats : std::uint8_t { no, yes };

/// Scheduled work with its function, in a block from `allocate_job`.
template <typename Fn, repeats Repeats>
class scheduled_closure final : public scheduled_state {
 public:
  /// Creates the work and schedules its first run. `now` is the time from which `first` was computed.
  /// Errors: errc::closed if the timers are closed.
  template <typename F>
  [[nodiscard]] static auto start(executor& executor, const shared_timers& timers, tick_rule rule, time_point first,
                                  time_point now, F&& fn) -> result<scheduled_task>;

  template <typename F>
  scheduled_closure(executor_id executor, std::shared_ptr<timer_keeper> keeper, tick_rule rule, F&& fn)
      : scheduled_state(executor, std::move(keeper), rule), fn_(std::forward<F>(fn)) {}

 private:
  // A function that runs once is called as an rvalue; a function that runs repeatedly is called as an lvalue.
  using callee = std::conditional_t<Repeats == repeats::yes, Fn&, Fn&&>;

  void call() override;
  void destroy_captures() noexcept override { fn_.reset(); }
  void free() noexcept override {
    std::destroy_at(this);
    free_block<scheduled_closure>(this);
  }

  std::optional<Fn> fn_;
};

template <typename Fn, repeats Repeats>
void scheduled_closure<Fn, Repeats>::call() {
  if constexpr (std::invocable<callee, const scheduled_task&>) {
    keep();
    std::invoke(static_cast<callee>(*fn_), scheduled_task::adopt(*this));
  } else {
    std::invoke(static_cast<callee>(*fn_));
  }
}

template <typename Fn, repeats Repeats>
template <typename F>
auto scheduled_closure<Fn, Repeats>::start(executor& executor, const shared_timers& timers, tick_rule rule,
                                           time_point first, time_point now, F&& fn) -> result<scheduled_task> {
  void* place = allocate_block<scheduled_closure>();
  scheduled_closure* work = nullptr;
  try {
    work = std::construct_at(static_cast<scheduled_closure*>(place), executor.id(), timers.keeper(), rule,
                             std::forward<F>(fn));
  } catch (...) {
    free_block<scheduled_closure>(place);
    throw;
  }
  auto handle = scheduled_task::adopt(*work);
  if (!work->scheduled_state::start(first, now)) return fail(errc::closed);
  return handle;
}

}  // namespace detail

/// Runs `fn` on `executor` once, not before `time`, or at once if that time has passed. Exceptions go to the executor's
/// error report. Threads: any. Errors: errc::closed if the timers are closed. If the executor is closed when the run is
/// due, or if the executor drops the run, the status of the handle shows this. Lifetime: if `executor` no longer exists
/// when the run is due, the status becomes `refused`. Cost: one block of memory for jobs, and arming a timer.
template <detail::scheduled_function Fn>
[[nodiscard]] auto post_at(executor& executor, detail::shared_timers& timers, time_point time, Fn&& fn)
    -> result<scheduled_task> {
  using closure = detail::scheduled_closure<std::decay_t<Fn>, detail::repeats::no>;
  return closure::start(executor, timers, {}, time, timers.now(), std::forward<Fn>(fn));
}

/// Works like `post_at`, but uses the timers of the process. The first use of these timers starts them, and they are
/// never closed. Errors: in addition, std::system_error if their thread cannot be started.
template <detail::scheduled_function Fn>
[[nodiscard]] auto post_at(executor& executor, time_point time, Fn&& fn) -> result<scheduled_task> {
  return post_at(executor, detail::timers_of_process(), time, std::forward<Fn>(fn));
}

/// Runs `fn(args...)` on `executor` once, not before `time`, and returns a future of its result. Dropping the future
/// detaches the work. `request_stop` of the future prevents the run, and the future then fails with errc::stopped.
/// Threads: any. Blocks: `request_stop` blocks while the timers pass the work to its executor on another thread.
/// Errors: the future fails with errc::closed if the timers are closed, or if the executor is closed or destroyed when
/// the run is due. It fails with errc::dropped if the timers or the executor drop the work. Lifetime: the same as for
/// `post_at`. Cost: a single block of memory for jobs, and arming a timer.
template <typename Fn, typename... Args>
  requires detail::spawned_at_a_time<Fn, Args...>
auto spawn_at(executor& executor, detail::shared_timers& timers, time_point time, Fn&& fn, Args&&... args)
    -> detail::timed_future<Fn, Args...> {
  return detail::scheduled_spawn_of<Fn, Args...>::start(executor, timers, time, std::forward<Fn>(fn),
                                                        std::forward<Args>(args)...);
}

/// Works like `spawn_at`, but uses the timers of the process: see `post_at`.
template <typename Fn, typename... Args>
  requires detail::spawned_at_a_time<Fn, Args...>
auto spawn_at(executor& executor, time_point time, Fn&& fn, Args&&... args) -> detail::timed_future<Fn, Args...> {
  return spawn_at(executor, detail::timers_of_process(), time, std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// Works like `spawn_at`, but runs the function once `delay` has passed from now; `delay` is a duration of any unit.
/// Threads, lifetime, cost: the same as for `spawn_at`. Errors: the errors of `spawn_at`. The future also fails with
/// errc::invalid_argument if the delay is negative or the time cannot be represented.
template <typename Fn, typename... Args>
  requires detail::spawned_at_a_time<Fn, Args...>
auto spawn_after(executor& executor, detail::shared_timers& timers, detail::time_span delay, Fn&& fn, Args&&... args)
    -> detail::timed_future<Fn, Args...> {
  const auto when = detail::later(timers.now(), delay.value());
  if (delay.value() < duration::zero() || !when)
    return failed_future<typename detail::timed_future<Fn, Args...>::value_type>(
        make_error_code(errc::invalid_argument));
  return spawn_at(executor, timers, *when, std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// Works like `spawn_after`, but uses the timers of the process: see `post_at`.
template <typename Fn, typename... Args>
  requires detail::spawned_at_a_time<Fn, Args...>
auto spawn_after(executor& executor, detail::time_span delay, Fn&& fn, Args&&... args)
    -> detail::timed_future<Fn, Args...> {
  return spawn_after(executor, detail::timers_of_process(), delay, std::forward<Fn>(fn), std::forward<Args>(args)...);
}

/// Works like `post_at`, but runs the function once `delay` has passed from now; `delay` is a duration of any unit.
/// Threads, lifetime, cost: the same as for `post_at`. Errors: in addition, errc::invalid_argument if the delay is
/// negative or the time cannot be represented.
template <detail::scheduled_function Fn>
[[nodiscard]] auto post_after(executor& executor, detail::shared_timers& timers, detail::time_span delay, Fn&& fn)
    -> result<scheduled_task> {
  const auto when = detail::later(timers.now(), delay.value());
  if (delay.value() < duration::zero() || !when) return fail(errc::invalid_argument);
  return post_at(executor, timers, *when, std::forward<Fn>(fn));
}

/// Works like `post_after`, but uses the timers of the process: see `post_at`.
template <detail::scheduled_function Fn>
[[nodiscard]] auto post_after(executor& executor, detail::time_span delay, Fn&& fn) -> result<scheduled_task> {
  return post_after(executor, detail::timers_of_process(), delay, std::forward<Fn>(fn));
}

/// Runs `fn` on `executor` repeatedly, until the task is cancelled, the executor refuses or drops a run, or the timers
/// are closed. On every executor, a run begins only after the previous run has ended. Exceptions go to the executor's
/// error report, and the series continues.
/// Threads, lifetime, cost: the same as for `post_at`. Errors: errc::closed if the timers are closed;
/// errc::bad_interval if the interval is not positive or the next time cannot be represented.
template <detail::periodic_function Fn>
[[nodiscard]] auto post_every(executor& executor, detail::shared_timers& timers, every_options options, Fn&& fn)
    -> result<scheduled_task> {
  using closure = detail::scheduled_closure<std::decay_t<Fn>, detail::repeats::yes>;
  const detail::tick_rule rule{.interval = options.interval.value(), .mode = options.mode, .missed = options.missed};
  const time_point now = timers.now();
  if (!rule.repeats() || !detail::later(now, rule.interval)) return fail(errc::bad_interval);
  return closure::start(executor, timers, rule, options.first.value_or(now), now, std::forward<Fn>(fn));
}

/// Works like `post_every`, but uses the timers of the process: see `post_at`.
template <detail::periodic_function Fn>
[[nodiscard]] auto post_every(executor& executor, every_options options, Fn&& fn) -> result<scheduled_task> {
  return post_every(executor, detail::timers_of_process(), options, std::forward<Fn>(fn));
}

/// A timer service with its own thread. The functions of the timers should be short, such as a post of a job, because
/// they delay later timers. The thread sleeps until the next timer is due, to the precision of the kernel, and is woken
/// when an earlier timer is armed. You can control this thread like any other thread. The destructor closes the timers
/// and joins the thread. Threads: any; the timer thread itself must not call the destructor. Blocks: the destructor
/// blocks until a function that is running has ended.
class BRAID_API timer_thread final : public detail::shared_timers, public detail::thread_control<timer_thread> {
 public:
  /// The options of the thread: its settings, and the registry that lists it.
  struct options {
    braid::thread::options thread = {};                ///< the options of the thread; its default name is braid-timer
    std::optional<thread_label> label = std::nullopt;  ///< registers the thread under this label
    detail::registry_handle registry = {};  ///< the registry for the label: a `thread_registry`, or the default
  };

  /// Starts the thread. Blocks: until the thread has its settings and is registered.
  /// Errors: std::system_error if the thread cannot be started, or if the system refuses a setting that may not be
  /// ignored.
  explicit timer_thread(options options);
  timer_thread() : timer_thread(options()) {}
  ~timer_thread() override;

  /// Returns whether the name and the settings of the thread could be applied.
  [[nodiscard]] auto report() const noexcept -> const settings_report& { return thread_.report(); }

  /// Returns the identity of the thread. Errors: no_such_process once the timers are closed and the thread has ended.
  [[nodiscard]] auto info() const -> result<thread_info> { return thread_.info(); }

 private:
  [[nodiscard]] auto start(options options) -> result<thread>;

  thread thread_;
};

}  // namespace braid
