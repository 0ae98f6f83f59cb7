// braid/coro/scope.hpp: scopes that wait for tasks, stop tasks and set deadlines; and queries about the running task.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {
class departure;
class task_walk;
}  // namespace detail

/// A callback that is called once when a stop reaches a scope. A wait links the callback into the scope.
class stop_callback : public list_hook {
 public:
  using stop_fn = void (*)(stop_callback&) noexcept;
  explicit stop_callback(stop_fn fn) noexcept : fn_(fn) {}

  void call() noexcept { fn_(*this); }
  /// Returns the function that is called, which identifies the kind of callback.
  [[nodiscard]] auto code() const noexcept -> stop_fn { return fn_; }

 private:
  friend struct detail::debug_layout;

  stop_fn fn_;
};

namespace detail {

/// A wait for the tasks of a scope. A stop does not end this wait. It is registered with a scope only so that dumps
/// show it. Threads: any thread until `begins` is called, then only the home's thread.
class BRAID_API deaf_wait : private stop_callback {
 public:
  deaf_wait(const deaf_wait&) = delete;
  auto operator=(const deaf_wait&) -> deaf_wait& = delete;

 protected:
  /// Constructs a wait for the tasks of the scope `joined`.
  explicit deaf_wait(const scope& joined) noexcept : stop_callback(&no_stop), joined_(&joined) {}
  ~deaf_wait() { ends(); }

  /// Registers the wait for dumps. A task that is away from its home is not registered.
  inline void begins(promise_base& promise, await_place place) noexcept;
  void ends() noexcept {
    if (is_linked()) unlink();
  }

 private:
  friend class task_walk;
  friend struct debug_layout;
  static void no_stop(stop_callback& self) noexcept;

  const scope* joined_;
  const promise_base* promise_ = nullptr;
};

template <typename Fn>
concept returns_task_without_value = std::same_as<std::invoke_result_t<std::decay_t<Fn>&>, task<void>>;

/// Ends the compilation with a clear message if a scope cannot run the callable.
template <typename Fn>
struct refused_in_scope : refused_task<Fn> {};
template <typename Fn>
  requires returns_lazy_work<Fn>
struct refused_in_scope<Fn> {
  static_assert(!returns_lazy_work<Fn>,
                "this would drop the value of the task: braid::spawn(scope, callable) returns a future of it");
};

}  // namespace detail

/// An async scope (P3149), also called a nursery. It provides structured concurrency: tasks that are spawned into the
/// scope cannot outlive it. The first task that fails stops the other tasks; errors of the other tasks are only
/// counted. A scope inside another scope is stopped with it and has the earlier of both deadlines. A stop is passed
/// down to inner scopes, and never up: after `request_stop` of a scope, the code that waits for this scope continues
/// (`with_scope`). Inside a coroutine prefer `with_scope`. A coroutine that owns a scope directly may await nothing
/// except `join` of that scope while tasks run in it.
/// Threads: the home's thread, except `request_stop`, `stop` and the construction of a scope without a parent.
class BRAID_API scope : private job, private stop_callback {
 public:
  /// Constructs a scope without a parent. It becomes the root of a home that is being constructed.
  explicit scope(home& home) noexcept;
  explicit scope(scope& parent) noexcept : scope(parent, time_point::max()) {}
  /// Constructs a scope inside `parent` that stops itself at `deadline`. Errors: std::bad_alloc if `deadline` is
  /// earlier than the deadline of `parent`, because the scope then needs a timer of its own.
  scope(scope& parent, time_point deadline);
  /// Requires that every task has ended.
  ~scope();

  /// Runs `child` until it suspends for the first time. From then on the child belongs to this scope. If the scope is
  /// already stopped, the child does not start. If each task spawns the next task in its first step, up to 64 first
  /// steps are nested on the stack. After that, the first step of the next task is queued at the home instead, so that
  /// chains of tasks cannot overflow the stack.
  void spawn(task<void> child);
  /// Spawns the task that a callable returns. The callable is kept until the task has ended, so the task may use its
  /// captures.
  template <typename Fn>
    requires detail::returns_task_without_value<Fn>
  void spawn(Fn&& fn) {
    spawn(kept_until_end<std::decay_t<Fn>>(std::forward<Fn>(fn)));
  }
  template <typename T>
    requires(!std::is_void_v<T>)
  void spawn(task<T> /*child*/) {
    static_assert(sizeof(T) == 0,
                  "this would drop the value of the task: braid::spawn(scope, task) returns a future of it");
  }
  /// Does not compile; its error message describes what is wrong with the callable.
  template <typename Fn>
    requires(!detail::is_lazy_argument<Fn> && !detail::returns_task_without_value<Fn>)
  auto spawn(Fn&& /*fn*/) {
    static_cast<void>(detail::refused_in_scope<Fn>());
  }

  /// Waits until no task is left. A stop does not cut the wait short, because the stop ends the tasks themselves.
  /// Errors: rethrows the exception of the first task that failed.
  [[nodiscard]] auto join() noexcept;

  /// Stops every task at its next wait, including the body of a `with_scope`. The stop ends at this scope: the code
  /// after `with_scope` runs, whichever task called this function. Repeated calls have no effect. Threads: any, if the
  /// caller ensures that the scope still exists.
  void request_stop(errc reason = errc::stopped) noexcept;

  /// Returns the flag that long computations poll.
  [[nodiscard]] auto stop() const noexcept -> const stop_flag& { return stop_; }

  /// Returns the time at which this scope stops itself, or time_point::max() if it has no deadline.
  [[nodiscard]] auto deadline() const noexcept -> time_point { return deadline_; }
  [[nodiscard]] auto where() const noexcept -> home& { return *home_; }
  /// Returns the scope that this scope is in, or null.
  [[nodiscard]] auto around() const noexcept -> scope* { return parent_; }
  [[nodiscard]] auto tasks() const noexcept -> std::size_t { return tasks_; }
  /// Returns the number of failed tasks, not counting the task that failed first.
  [[nodiscard]] auto further_errors() const noexcept -> std::size_t { return further_errors_; }
  /// Returns whether a surrounding scope or the deadline has stopped a task of this scope before its end, or has kept a
  /// task from starting.
  [[nodiscard]] auto is_cut_short() const noexcept -> bool { return is_cut_short_; }
  /// Returns whether this scope was stopped only by its own `request_stop`. A stop of the surrounding scope counts as a
  /// stop from outside, even if it came later.
  /// Threads: the home's thread.
  [[nodiscard]] auto has_own_stop() const noexcept -> bool {
    return stop_.requested() && !is_stopped_from_outside_ && (parent_ == nullptr || !parent_->stop_.requested());
  }

  /// Calls `callback` when a stop is requested. Requires that no stop was requested yet.
  void link(stop_callback& callback) noexcept { callbacks_.push_back(callback); }
  /// Registers a wait that a stop cannot end, or cannot end any more, so that dumps show this wait. The wait unlinks
  /// itself when it ends.
  void keep(stop_callback& waiting) noexcept { deaf_.push_back(waiting); }
  /// Makes dumps show `other` beside this scope. `other` is a scope of the same home and has no parent. A stop of this
  /// scope does not reach `other`.
  void show(scope& other) noexcept { keep(other); }

  /// Called by `schedule_on` before a task of this scope moves to another executor. Requires that no stop was
  /// requested.
  void sends(detail::departure& way) noexcept;
  /// Called by `schedule_on` after the task has moved. The scope later frees `way`, the job that has moved the task.
  /// Threads: any, while the task is away from its home.
  void has_sent(detail::departure& way) noexcept;

  /// Sets the value of `key` for the tasks of this scope and of inner scopes. Call it once, before any task is spawned.
  void bind(const void* key, void* value) noexcept {
    key_ = key;
    value_ = value;
  }
  /// Returns the value of `key` in this scope or the nearest surrounding scope that has one, or null. Threads: any
  /// thread that runs a task of the scope.
  [[nodiscard]] auto bound(const void* key) const noexcept -> void*;

  /// `when_idle` makes the home call `fn(context)` once no task is left in the scope, or at once if there is no task.
  /// `fn` may destroy the scope. It returns a coroutine, which the home resumes. Only one such call may be pending at a
  /// time.
  using idle_fn = std::coroutine_handle<> (*)(void* context) noexcept;
  void when_idle(idle_fn fn, void* context) noexcept;

  /// Begins a task for a caller that handles its end; `spawn` is built on this function. When the task has ended, its
  /// home calls `owner.root_ended(frame)`, which destroys the frame. The task is counted until then. Requires that no
  /// stop was requested.
  template <typename T, typename Owner>
  void begin(task<T> child, Owner& owner) noexcept;

  /// Counts an additional task of this scope, such as a task that runs in its own scope inside this one. `leave` ends
  /// the count and returns the coroutine to resume.
  void enter() noexcept { ++tasks_; }
  [[nodiscard]] auto leave() noexcept -> std::coroutine_handle<> { return root_left(); }

  /// Returns the exception of the first task that failed. Returns null in later calls.
  [[nodiscard]] auto take_error() noexcept -> std::exception_ptr { return std::exchange(error_, nullptr); }

 private:
  friend class detail::task_walk;
  friend struct detail::debug_layout;
  class join_awaiter;
  enum class remote_stop : std::uint8_t {
    none,     // no other thread has requested a stop
    posted,   // a stop is posted: its job is queued, or will be refused
    awaited,  // a stop is posted, and a wait for the scope also waits for the job of the stop
    arrived,  // the job has run or was refused: no other thread refers to the scope any more
  };

  template <typename Fn>
  static auto kept_until_end(Fn fn) -> task<void> {
    co_await std::invoke(fn);
  }
  template <typename T, typename Owner>
  static auto ended(detail::promise_base& root, detail::ending ending) noexcept -> std::coroutine_handle<>;
  auto root_left() noexcept -> std::coroutine_handle<>;
  static void stop_posted(job& self, action action);
  static void parent_stopped(stop_callback& self) noexcept;
  static void deadline_passed(timer& self) noexcept;
  void free_sent() noexcept;

  inline void root_ended(std::coroutine_handle<detail::task_promise<void>> frame) noexcept;  // only for scope.cpp
  void stop_here(errc reason) noexcept;
  void stop_from_outside(errc reason) noexcept;
  void post_stop() noexcept;
  auto remote_is_over() noexcept -> bool;
  auto idle_continuation() noexcept -> std::coroutine_handle<>;
  [[nodiscard]] auto is_idle() const noexcept -> bool;

  struct deadline_timer : timer {
    explicit deadline_timer(scope& s) noexcept : timer(&deadline_passed), owner(&s) {}

    static auto operator new(std::size_t size) -> void* { return detail::allocate_job(size); }
    static void operator delete(void* block, std::size_t size) noexcept { detail::free_job(block, size); }

    scope* owner;
  };

  home* home_;
  scope* parent_ = nullptr;
  time_point deadline_ = time_point::max();
  std::unique_ptr<deadline_timer> timer_;  // null if the deadline is the parent's
  intrusive_list<stop_callback> callbacks_;
  intrusive_list<stop_callback> deaf_;  // the waits that `keep` has registered
  std::size_t tasks_ = 0;
  std::exception_ptr error_;
  const void* key_ = nullptr;
  void* value_ = nullptr;
  idle_fn idle_ = nullptr;
  void* idle_context_ = nullptr;
  atomic<detail::departure*> sent_{nullptr};       // linked by `next`; pushed by the threads to which tasks have moved
  std::uint32_t further_errors_ = 0;               // counted after the first one, so after the scope was stopped
  atomic<remote_stop> remote_{remote_stop::none};  // one stop at most is posted, by the first thread that requests it
  stop_flag stop_;
  enum class callback_state : std::uint8_t { pending, called } callback_state_ : 1 = callback_state::pending;
  bool is_stopped_from_outside_ : 1 = false;  // a stop from outside came before any other stop
  bool is_cut_short_ : 1 = false;
};

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer
static_assert(sizeof(scope) <= 168, "a scope must stay small, because each spawned task contains one");
#endif

namespace detail {
template <>
inline constexpr place_kind place_kind_of<scope> = place_kind::tasks_only;
}  // namespace detail

template <typename T, typename Owner>
void scope::begin(task<T> child, Owner& owner) noexcept {
  BRAID_ASSERT(home_->is_current(), "a task must be spawned on the home of its scope");
  const auto frame = child.release();
  BRAID_EXPECTS(frame, "only a task that has not been awaited yet can be spawned");
  ++tasks_;
  frame.promise().attach_root(this, &ended<T, Owner>, &owner);
  frame.promise().begin();
}

template <typename T, typename Owner>
auto scope::ended(detail::promise_base& root, detail::ending ending) noexcept -> std::coroutine_handle<> {
  auto& promise = static_cast<detail::task_promise<T>&>(root);
  scope& self = *promise.where();
  if (!self.home_->is_current()) {
    promise.end_at_home(ending);
    return {};
  }
  if (ending == detail::ending::stopped && self.is_stopped_from_outside_) self.is_cut_short_ = true;
  const auto frame = std::coroutine_handle<detail::task_promise<T>>::from_promise(promise);
  static_cast<Owner*>(promise.context())->root_ended(frame);
  return self.root_left();
}

class [[nodiscard, gnu::warn_unused]] scope::join_awaiter : detail::deaf_wait {
 public:
  explicit join_awaiter(scope& target) noexcept : deaf_wait(target), scope_(&target) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool {
    BRAID_ASSERT(scope_->home_->is_current(), "a scope must be joined on its home");
    return scope_->is_idle();
  }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> waiter,
                     detail::await_place place = detail::await_place::current()) noexcept {
    if constexpr (std::derived_from<Promise, detail::promise_base>) begins(waiter.promise(), place);
    scope_->when_idle([](void* address) noexcept { return std::coroutine_handle<>::from_address(address); },
                      waiter.address());
  }
  void await_resume() {
    ends();
    if (auto error = scope_->take_error()) std::rethrow_exception(error);
  }

 private:
  scope* scope_;
};

inline auto scope::join() noexcept { return join_awaiter(*this); }

namespace detail {

inline void deaf_wait::begins(promise_base& promise, await_place place) noexcept {
  scope* const in = promise.where();
  if (in == nullptr || !in->where().is_current()) return;
  promise.suspends_at(place);
  promise_ = &promise;
  in->keep(*this);
}

struct [[nodiscard, gnu::warn_unused]] this_scope_awaiter {
  scope* found = nullptr;

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    found = self.promise().where();
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> scope& {
    BRAID_EXPECTS(found != nullptr, "this task has no home executor: spawn it into a scope, or pass it to sync_wait");
    return *found;
  }
};

struct [[nodiscard, gnu::warn_unused]] stop_awaiter {
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
    return transfer_to(self.promise().stop());
  }
  void await_resume() const noexcept {}
};

}  // namespace detail

/// `co_await this_scope()` returns the scope that the calling task belongs to. Threads: any. Blocks: never.
[[nodiscard]] inline auto this_scope() noexcept { return detail::this_scope_awaiter{}; }

/// `co_await stop_here()` ends the calling task as stopped. Threads: any.
[[nodiscard]] inline auto stop_here() noexcept { return detail::stop_awaiter{}; }

namespace detail {

/// The address of this variable is the key under which a scope stores the description of its task.
extern BRAID_API const char task_info_key;

class [[nodiscard, gnu::warn_unused]] task_info_awaiter {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    if (const scope* const in = self.promise().where(); in != nullptr)
      found_ = static_cast<const task_info*>(in->bound(&task_info_key));
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> const task_info* { return found_; }

 private:
  const task_info* found_ = nullptr;
};

}  // namespace detail

/// `co_await this_task()` returns a description of the calling task, or of the nearest surrounding task that `spawn`
/// started. Returns null if there is no such task.
/// Threads: any. Blocks: never.
[[nodiscard]] inline auto this_task() noexcept { return detail::task_info_awaiter(); }

}  // namespace braid
