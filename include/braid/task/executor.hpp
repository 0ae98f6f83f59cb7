// braid/task/executor.hpp: the interface of executors, which run jobs: posts, refusals, error reports and timers.
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
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {
struct debug_layout;
}

/// A callback that is called with an exception and, if it has a second parameter, with the exception's origin. If the
/// callback itself throws, both exceptions go to stderr. Without a callback, all exceptions go to stderr. Threads: the
/// thread that ran the job calls it, so several threads may call it at the same time.
class error_callback {
 public:
  /// The place at which an exception was thrown.
  struct origin {
    static constexpr std::size_t no_worker = SIZE_MAX;

    std::size_t worker = no_worker;  ///< the index of the worker; no_worker if the thread is not a worker
    /// The sequence number of the job among all jobs that this worker has begun, counted from 1. The number is 0 if no
    /// job threw the exception.
    std::uint64_t job = 0;
    /// A description of the code that threw, such as `the handler of GET /users`. The text is valid only during the
    /// call.
    const char* what = "a posted job";
  };

  error_callback() = default;

  template <typename Fn>
    requires(!std::same_as<std::remove_cvref_t<Fn>, error_callback>) &&
            (std::invocable<std::decay_t<Fn>&, std::exception_ptr> ||
             std::invocable<std::decay_t<Fn>&, std::exception_ptr, const error_callback::origin&>)
  error_callback(Fn&& fn) : call_(with_origin(std::forward<Fn>(fn))) {}  // NOLINT: stands for the callable

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }

  /// Calls the callable. Requires that this object contains a callable. Errors: exceptions of the callable.
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

/// The number of a spawned task. No two tasks of a process have the same number. 0 means no task.
struct task_id {
  std::uint64_t number = 0;
  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// The name of a spawned task. Most tasks have no name, so an empty name needs only a pointer.
class task_name {
 public:
  task_name() = default;
  /// Constructs a name from a string. Errors: std::bad_alloc.
  explicit task_name(std::string text)
      : text_(text.empty() ? nullptr : std::make_unique<const std::string>(std::move(text))) {}
  task_name(const task_name& other) : task_name(std::string(std::string_view(other))) {}
  task_name(task_name&&) noexcept = default;
  auto operator=(task_name other) noexcept -> task_name& {
    text_.swap(other.text_);
    return *this;
  }
  ~task_name() = default;

  [[nodiscard]] auto empty() const noexcept -> bool { return text_ == nullptr; }
  operator std::string_view() const noexcept {  // NOLINT: a name is used as text
    return text_ == nullptr ? std::string_view() : std::string_view(*text_);
  }
  [[nodiscard]] friend auto operator==(const task_name& name, std::string_view text) noexcept -> bool {
    return std::string_view(name) == text;
  }

 private:
  friend struct detail::debug_layout;

  std::unique_ptr<const std::string> text_;  // null if the name is empty
};

/// The identity of a spawned task.
struct task_info {
  task_id id;
  task_name name;
};

/// The options of a spawn.
struct spawn_options {
  std::string name = {};  ///< given by `future::name` and `this_task`
};

/// The priority of a job. Jobs of priority `high` start before all other jobs. Jobs of priority `low` start only when
/// no other job is waiting. There are two exceptions, so that no priority starves another. After `max_consecutive_high`
/// jobs of priority `high` in a row, a worker takes a job of another priority if it finds one. Once in
/// `polls_between_low` searches for work, a worker takes a job of priority `low`.
enum class priority : std::uint8_t { normal, high, low };

namespace detail {

/// The number of consecutive jobs of priority `high` after which a worker takes a job of another priority, if it finds
/// one.
/// docs/design/constants.md says what these values rest on.
inline constexpr std::uint32_t max_consecutive_high = 16;
/// Once in this number of searches for work, a worker takes a job of priority `low` first.
inline constexpr std::uint32_t polls_between_low = 256;

}  // namespace detail

/// Selects what happens to a job if a `bounded_executor`, or the ring of a `job_slab`, is full.
enum class when_full : std::uint8_t {
  refuse,      ///< it fails with errc::full
  run_inline,  ///< the caller runs it, at once
  wait,        ///< the caller blocks until there is room; not for job slabs
};

/// The interface of pools, event loops, and all other objects that run jobs. A post from another thread makes one
/// virtual call; pushes and pops of a worker make no virtual call.
/// Threads: any, unless a member states otherwise. Lifetime: futures, scheduled work, serial executors and tasks may
/// outlive the executor. They refer to the executor by its `id`. Work that they post to a destroyed executor is refused
/// with errc::closed.
class BRAID_API executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  auto operator=(const executor&) -> executor& = delete;
  virtual ~executor();

  /// Queues the job. Returns false if the executor is closed; the job then still belongs to the caller. Threads: any.
  /// Blocks: never; but some executors hold a lock for a short time.
  [[nodiscard]] virtual auto try_post(job& work) noexcept -> bool = 0;

  /// Returns the reason why the executor has refused the caller's last `try_post`. Threads: any.
  [[nodiscard]] virtual auto why_refused() const noexcept -> errc { return errc::closed; }

  /// Returns whether the calling thread runs this executor's jobs.
  /// Threads: any.
  [[nodiscard]] virtual auto is_current() const noexcept -> bool = 0;

  /// Returns whether the executor's jobs run only on threads that poll the executor. A thread polls it, for example,
  /// while it waits for a future, a group or a task.
  [[nodiscard]] virtual auto needs_polls() const noexcept -> bool { return false; }

  /// Runs one job on the calling thread if the executor depends on polls. Returns false if no job is queued, or if
  /// another thread is running a job of this executor.
  /// Threads: any. Blocks: as long as the job, like `run_one`.
  [[nodiscard]] virtual auto poll() noexcept -> bool { return false; }

  /// Runs one waiting job on the calling worker, whose own job is blocked. Returns false if no job is queued, or if the
  /// caller is not a worker of this executor.
  [[nodiscard]] virtual auto run_one() noexcept -> bool { return false; }

  /// Returns the stop token that spawned work gets if it accepts a token. The executor requests a stop of this token
  /// when its work is no longer needed. This default implementation never requests a stop.
  [[nodiscard]] virtual auto stop_token() const noexcept -> std::stop_token { return {}; }

  /// Counts a job of this executor that ended late, after the code that waited for it had given up. Threads: the thread
  /// that ran the job.
  virtual void ran_late() noexcept {}

  /// Reports the exception of a job that no code waits for. This default implementation prints the exception on stderr.
  /// Threads: the thread that ran the job.
  virtual void report(std::exception_ptr error) noexcept;

  /// Returns an id for objects that may outlive the executor: see detail::executor_use. Threads: any. Errors: the first
  /// call may throw std::bad_alloc.
  [[nodiscard]] auto id() const -> detail::executor_id {
    const std::uint64_t known = id_.load(acquire);  // edge executor.id: observe the slot with this number
    return known != 0 ? detail::executor_id::from_word(known) : make_id();
  }
  [[nodiscard]] auto has_id(detail::executor_id other) const noexcept -> bool {
    return other && id_.load(relaxed) == other.to_word();
  }

 protected:
  /// Invalidates the id.
  /// Blocks: while another thread uses the executor by its id. If other threads may use the executor, its destructor
  /// must first wait for the end of the jobs, and then call this function. Otherwise, the destructor of the base class
  /// calls it.
  void retire() noexcept;

  /// Assigns the id of `other` to this executor. Executors that only pass jobs to `other` use this. The destructor must
  /// call `give_up_id`. Errors: std::bad_alloc.
  void share_id(const executor& other) {
    // edge executor.id: publish the slot of `other`, which this executor uses from now on
    id_.store(other.id().to_word(), release);
  }
  void give_up_id() noexcept { id_.store(0, relaxed); }

 private:
  [[nodiscard]] auto make_id() const -> detail::executor_id;

  mutable atomic<std::uint64_t> id_{0};  // written once, by the first thread that needs it, and by `retire`
};

/// Posts `fn` to run once on `executor` at some later time. There is no handle; an exception goes to the executor's
/// error report. Threads: any. Errors: errc::closed, or errc::full if a bound is reached; `fn` has then been destroyed
/// without being called. Throws std::bad_alloc if there is no memory; nothing was posted then.
template <detail::job_function Fn>
[[nodiscard]] auto post(executor& executor, Fn&& fn) -> result<void> {
  auto& work = detail::make_job(std::forward<Fn>(fn));
  if (executor.try_post(work)) return {};
  work.discard();
  return fail(executor.why_refused());
}

namespace detail {

/// An executor whose jobs have priorities.
template <typename Executor>
concept takes_priorities = requires(Executor& executor, job& work, priority level) { executor.try_post(work, level); };

}  // namespace detail

/// Posts `fn` with a priority.
/// Threads: any. Errors: errc::closed (`fn` has then been destroyed without being called); std::bad_alloc.
template <std::derived_from<executor> Executor, detail::job_function Fn>
  requires detail::takes_priorities<Executor>
[[nodiscard]] auto post(Executor& executor, priority level, Fn&& fn) -> result<void> {
  auto& work = detail::make_job(std::forward<Fn>(fn));
  if (executor.try_post(work, level)) return {};
  work.discard();
  return fail(errc::closed);
}

/// A timer service: keeps armed timers and fires each timer once, not before its time. Event loops and `shared_timers`
/// are timer services.
/// Threads: only the thread that the service belongs to, which also fires the timers. Some services allow other
/// threads.
class BRAID_API timer_service {
 public:
  timer_service() = default;
  timer_service(const timer_service&) = delete;
  auto operator=(const timer_service&) -> timer_service& = delete;
  virtual ~timer_service();

  /// Arms `item` to fire at `time`. A timer that is already armed is moved to the new time.
  virtual void arm(timer& item, time_point time) noexcept = 0;

  /// Disarms `item`; it does not fire after this.
  virtual void disarm(timer& item) noexcept = 0;

  /// Returns the current time of the clock that the timers use.
  [[nodiscard]] virtual auto now() const noexcept -> time_point = 0;
};

}  // namespace braid
