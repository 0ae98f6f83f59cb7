// braid/task/executor.hpp: what runs jobs; its errors, its refusals, its timers.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/job.hpp>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace braid {

/// A callback that is called with the exception and, if it has a second parameter, with the place. If the callback
/// itself throws, both exceptions go to stderr, as all exceptions do if there is no callback.
/// Threads: the one that ran the job, so several may call it at a time.
class error_callback {
 public:
  /// The place at which an exception was thrown.
  struct origin {
    static constexpr std::size_t no_worker = SIZE_MAX;

    std::size_t worker = no_worker;  ///< the index of the worker; no_worker if the thread is not a worker
    /// the number of the job among those that this worker has begun, from 1; 0 if it was not a job
    std::uint64_t job = 0;
    /// the code that threw, such as `the handler of GET /users`; only valid during the call
    const char* what = "a posted job";
  };

  error_callback() = default;

  template <typename Fn>
    requires(!std::same_as<std::remove_cvref_t<Fn>, error_callback>) &&
            (std::invocable<std::decay_t<Fn>&, std::exception_ptr> ||
             std::invocable<std::decay_t<Fn>&, std::exception_ptr, const error_callback::origin&>)
  error_callback(Fn&& fn) : call_(with_origin(std::forward<Fn>(fn))) {}  // NOLINT: stands for the callable

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }

  /// Requires that there is a callable. Errors: what it throws.
  void operator()(std::exception_ptr error, const origin& from) const { call_(std::move(error), from); }

 private:
  using function = std::function<void(std::exception_ptr, const origin&)>;

  template <typename Fn>
  static auto with_origin(Fn&& fn) -> function {
    if constexpr (requires { fn == nullptr; })
      if (fn == nullptr) return {};
    if constexpr (std::invocable<std::decay_t<Fn>&, std::exception_ptr, const error_callback::origin&>)
      return std::forward<Fn>(fn);
    else
      return [fn = std::forward<Fn>(fn)](std::exception_ptr error, const error_callback::origin&) mutable {
        std::invoke(fn, std::move(error));
      };
  }

  function call_;
};

/// The number of a spawned task: unique for the life of the process. 0 is not a task.
struct task_id {
  std::uint64_t number = 0;
  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// The identity of a spawned task.
struct task_info {
  task_id id;
  std::string name;
};

/// The options of a spawn.
struct spawn_options {
  std::string name = {};  ///< given by `future::name` and `this_task`
};

/// Jobs of priority `high` start before all others, jobs of priority `low` when no other job is waiting. Neither
/// starves the rest: a worker that has begun `max_consecutive_high` jobs of priority `high` takes another job if it
/// finds one, and every `polls_between_low` times that a worker looks for work it takes one of priority `low`.
enum class priority : std::uint8_t { normal, high, low };

namespace detail {

/// After this many jobs of priority `high` a worker takes another one, if it finds one.
inline constexpr std::uint32_t max_consecutive_high = 16;
/// A worker takes a job of priority `low` once in this many searches for work.
inline constexpr std::uint32_t polls_between_low = 256;

}  // namespace detail

/// The treatment of a job if a `bounded_executor`, or the ring of a `job_slab`, is full.
enum class when_full : std::uint8_t {
  refuse,      ///< it fails with errc::full
  run_inline,  ///< the caller runs it, at once
  wait,        ///< the caller blocks until there is room; not for job slabs
};

/// A pool, an event loop, or any other object that runs jobs. A post from outside makes one indirect call; a worker's
/// own push and pop make none.
/// Threads: any for the members, unless one says otherwise. Lifetime: futures, scheduled work, serial executors and
/// tasks may outlive it. They refer to it by its `id`, and work that they still send there is refused with
/// errc::closed.
class BRAID_API executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  auto operator=(const executor&) -> executor& = delete;
  virtual ~executor();

  /// Queues the job. Returns false if the executor is closed: then the job still belongs to the caller. Threads: any.
  /// Blocks: never, beyond a short lock of some executors.
  [[nodiscard]] virtual auto try_post(job& work) noexcept -> bool = 0;

  /// Returns why a `try_post` of the caller was refused a moment ago. Threads: any.
  [[nodiscard]] virtual auto why_refused() const noexcept -> errc { return errc::closed; }

  /// Returns whether the calling thread runs this executor's jobs.
  /// Threads: any.
  [[nodiscard]] virtual auto is_current() const noexcept -> bool = 0;

  /// Returns whether jobs run only on threads that poll: waits for futures, groups and tasks do so.
  [[nodiscard]] virtual auto needs_polls() const noexcept -> bool { return false; }

  /// Runs one job on the calling thread, if the executor needs that. Returns false if there is none, and while another
  /// thread does the same.
  /// Threads: any. Blocks: as the job does; so also `run_one`.
  [[nodiscard]] virtual auto poll() noexcept -> bool { return false; }

  /// Runs one waiting job on the calling worker, whose own job waits for something meanwhile. Returns false if there is
  /// none, or if the caller is not a worker of this executor.
  [[nodiscard]] virtual auto run_one() noexcept -> bool { return false; }

  /// Returns the token for spawned work that asks for one. It is stopped when the executor's work is no longer wanted.
  /// This implementation never stops it.
  [[nodiscard]] virtual auto stop_token() const noexcept -> std::stop_token { return {}; }

  /// Counts a job of this executor that ended late: after its waiter had stopped waiting.
  /// Threads: the one that ran the job.
  virtual void ran_late() noexcept {}

  /// Reports the exception of a job that has no waiter. This implementation prints it on stderr.
  /// Threads: the one that ran the job.
  virtual void report(std::exception_ptr error) noexcept;

  /// Names the executor for what may outlive it: see detail::executor_use. Threads: any.
  /// Errors: std::bad_alloc, at the first call.
  [[nodiscard]] auto id() const -> detail::executor_id {
    const std::uint64_t known = id_.load(acquire);  // edge executor.id: observe the slot that the number is of
    return known != 0 ? detail::executor_id::from_word(known) : make_id();
  }
  [[nodiscard]] auto has_id(detail::executor_id of) const noexcept -> bool {
    return of && id_.load(relaxed) == of.to_word();
  }

 protected:
  /// Invalidates the id.
  /// Blocks: while another thread uses the executor by its id. An executor whose users may be on other threads calls
  /// this first in its destructor, once its jobs have ended; the base class does it last.
  void retire() noexcept;

  /// For an executor that only passes jobs to another one: it has the name of the other executor until `give_up_id`, in
  /// its destructor. Errors: std::bad_alloc.
  void share_id(const executor& other) {
    // edge executor.id: publish the slot of the other, which this one has from now on
    id_.store(other.id().to_word(), release);
  }
  void give_up_id() noexcept { id_.store(0, relaxed); }

 private:
  [[nodiscard]] auto make_id() const -> detail::executor_id;

  mutable atomic<std::uint64_t> id_{0};  // written once, by the first thread that asks for it, and by `retire`
};

/// Runs `fn` on `executor`, some time later, once. There is no handle: an exception goes to the executor's error
/// report. Threads: any. Errors: errc::closed, or errc::full if a bound refuses it, and then `fn` has been destroyed
/// without being called; std::bad_alloc, and then nothing was posted.
template <detail::job_function Fn>
[[nodiscard]] auto post(executor& executor, Fn&& fn) -> result<void> {
  auto& work = detail::make_job(std::forward<Fn>(fn));
  if (executor.try_post(work)) return {};
  work.discard();
  return fail(executor.why_refused());
}

namespace detail {

/// An executor whose jobs have priorities.
template <typename Where>
concept takes_priorities = requires(Where& where, job& work, priority level) { where.try_post(work, level); };

}  // namespace detail

/// Does the same with a priority.
/// Threads: any. Errors: errc::closed, and then `fn` is destroyed; std::bad_alloc.
template <std::derived_from<executor> Where, detail::job_function Fn>
  requires detail::takes_priorities<Where>
[[nodiscard]] auto post(Where& where, priority level, Fn&& fn) -> result<void> {
  auto& work = detail::make_job(std::forward<Fn>(fn));
  if (where.try_post(work, level)) return {};
  work.discard();
  return fail(errc::closed);
}

/// Keeps armed timers and fires each once, not before its time. An event loop is one, and so are `shared_timers`.
/// Threads: all calls, and the firing, on the thread that the service belongs to, unless the service allows more.
class BRAID_API timer_service {
 public:
  timer_service() = default;
  timer_service(const timer_service&) = delete;
  auto operator=(const timer_service&) -> timer_service& = delete;
  virtual ~timer_service();

  /// Fires `item` at `time`; an armed timer is moved.
  virtual void arm(timer& item, time_point time) noexcept = 0;

  /// Disarms `item`; it does not fire after this.
  virtual void disarm(timer& item) noexcept = 0;

  /// Returns the time that deadlines are compared with.
  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

}  // namespace braid
