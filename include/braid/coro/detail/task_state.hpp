// braid/coro/detail/task_state.hpp: a task with a future: its start, its scope and its result in one block of memory.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/task_control.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/detail/produced_state.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <utility>

namespace braid::detail {

/// The future of a task that was posted to an executor, and whether the executor accepted the task. If it refused the
/// task, the future has failed.
template <typename T>
struct posted_task {
  future<T> ahead;
  bool accepted = false;
};

/// The producer of a future: a task with a scope of its own. It settles the future when its frame is destroyed and no
/// task is left in its scope.
///
///   posted --begin--> running --root_ended--> joining --children_ended--> leaving --left--> settled
///      \________________ give_up: refused, dropped, or stopped before it began ______________/
///
/// In the state `leaving`, the task first waits for all threads that are about to stop its scope. If one of these
/// threads has posted a stop, the task then waits for that stop. The object itself is the job that begins the task, and
/// later the job that continues the end of the task at its home.
///
/// The derived class provides the scope: an `inner_task` contains it, a `lone_task` uses the scope of its own home.
template <typename T>
class task_state : public future_state<T> {
 public:
  /// Settles the future with an error, because the task did not begin.
  void give_up(errc error) noexcept {
    take_work() = {};
    failure_ = failure_of(error);
    settle_without_value();
  }

  /// Called when the task's coroutine has ended. The task's own scope still counts the task at this point.
  void root_ended(std::coroutine_handle<task_promise<T>> frame) noexcept {
    take_from(frame.promise().result());
    frame.destroy();
    if (failure_ != nullptr) own().request_stop();
    own().when_idle(&children_ended, this);
  }

  void request_stop(errc reason) noexcept override {
    if (!this->is_settled()) control_.request_stop(reason, *this);
  }

  [[nodiscard]] auto info() const noexcept -> const task_info* override { return &control_.info(); }

 protected:
  task_state(job::act_fn act, executor_id executor, spawn_options&& options, task<T>&& work)
      : future_state<T>(act, executor), work_(std::move(work)), control_(std::move(options.name)) {}
  ~task_state() { std::destroy_at(&failure_); }  // after `left` or `give_up`

  /// Posts a new `State` to `executor`, which calls `act` to begin the task. If `is_detached`, the caller will not use
  /// the future.
  template <typename State>
  [[nodiscard]] static auto post_new(executor& executor, job::act_fn act, spawn_options&& options, task<T>&& work,
                                     bool is_detached) -> posted_task<T> {
    auto& made = make_state<State>(act, executor.id(), std::move(options), std::move(work));
    made.control_.set_detached(is_detached);
    posted_task<T> posted{.ahead = future_access::make<T>(made)};
    posted.accepted = executor.try_post(made);
    if (!posted.accepted) made.give_up(executor.why_refused());
    return posted;
  }

  /// Runs the task in `own`, a new scope. The caller runs on the home of `own`.
  [[gnu::always_inline]] void run_in(scope& own) noexcept {
    own.bind(&task_info_key, &control_.info());
    control_.begin(own);
    task<T> work = take_work();
    if (!own.stop().requested()) return own.begin(std::move(work), *this);
    work = {};
    stopped();
    own.when_idle(&children_ended, this);
  }

  /// Settles the future with `failure`, because memory for the home of the task could not be allocated.
  void fail_to_begin(executor& executor, std::exception_ptr failure) noexcept {
    take_work() = {};
    failure_ = std::move(failure);
    if (is_unheard()) executor.report(failure_);
    settle_without_value();
  }

  [[nodiscard]] auto has_begun() const noexcept -> bool { return control_.own_scope() != nullptr; }
  [[nodiscard]] auto own() const noexcept -> scope& { return *control_.own_scope(); }

  /// Waits for a posted stop of the task's scope, and then ends the task.
  void await_posted_stop() noexcept { own().when_idle(&left, this); }

  void settle_task(executor& executor) noexcept {
    control_.note_end();
    if (failure_ != nullptr) {
      if (!control_.is_stopped() && is_unheard()) executor.report(failure_);
      return settle_without_value();
    }
    cascade more;
    this->settle(verdict::value, more);
    more.run();
  }

 private:
  /// Releases the task's scope, and settles the future by `settle_task`. This may destroy the object. Returns the
  /// coroutine to resume.
  virtual auto leave() noexcept -> std::coroutine_handle<> = 0;

  /// Moves the work out and ends the lifetime of the member, so that `failure_` can be used.
  BRAID_COROUTINE_WRAPPER [[nodiscard]] auto take_work() noexcept -> task<T> {
    task<T> work = std::move(work_);
    std::destroy_at(&work_);
    std::construct_at(&failure_);
    return work;
  }

  void take_from(outcome<T>& result) noexcept {
    if (result.is_stopped()) return stopped();
    if (result.has_exception()) {
      failure_ = result.exception();
      return;
    }
    try {
      this->emplace([&result]() -> T { return result.take(); });
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  void stopped() noexcept {
    failure_ = failure_of(errc::stopped);
    control_.set_stopped(true);
  }

  static auto children_ended(void* self) noexcept -> std::coroutine_handle<> {
    auto& made = *static_cast<task_state*>(self);
    if (auto error = made.own().take_error();
        error != nullptr && (made.failure_ == nullptr || made.control_.is_stopped())) {
      if (made.failure_ == nullptr) made.destroy_value();
      made.failure_ = std::move(error);
      made.control_.set_stopped(false);
    }
    if (!made.control_.try_leave()) return {};
    const ending_depth here;
    if (here.is_deep())
      made.own().where().post_resumption(made);
    else
      made.await_posted_stop();
    return {};
  }

  static auto left(void* self) noexcept -> std::coroutine_handle<> { return static_cast<task_state*>(self)->leave(); }

  [[nodiscard]] auto is_unheard() const noexcept -> bool { return control_.is_detached() || this->is_abandoned(); }

  void settle_without_value() noexcept {
    cascade more;
    this->fail(std::move(failure_), more);
    more.run();
  }

  void fire(cascade& /*more*/) noexcept override {}  // never called: it is not attached to a future

  union {
    task<T> work_;                // used until the task begins
    std::exception_ptr failure_;  // used from then on, until the future settles
  };
  mutable task_control control_;
};

/// A task in its own scope, which is inside the scope that the task was spawned into.
template <typename T>
class inner_task final : public task_state<T> {
 public:
  inner_task(job::act_fn act, executor_id executor, spawn_options&& options, task<T>&& work)
      : task_state<T>(act, executor, std::move(options), std::move(work)) {}
  ~inner_task() {}  // after `leave` or `give_up`

  /// Begins the task in `scope`. The caller runs on the home of `scope`.
  [[nodiscard]] static auto spawn(scope& scope, spawn_options&& options, task<T>&& work) -> future<T> {
    auto& made = make_state<inner_task>(&continue_end, scope.where().id(), std::move(options), std::move(work));
    auto made_future = future_access::make<T>(made);
    made.begin(scope);
    return made_future;
  }

  /// Posts the task to a home. If `is_detached`, the caller will not use the future.
  [[nodiscard]] static auto post(home& home, spawn_options&& options, task<T>&& work, bool is_detached = false)
      -> posted_task<T> {
    return inner_task::template post_new<inner_task>(home, &begin_at_home, std::move(options), std::move(work),
                                                     is_detached);
  }

  /// Continues the deferred end of the task.
  static void continue_end(job& self, job::action /*what*/) { static_cast<inner_task&>(self).await_posted_stop(); }

  /// Begins the task on the home of `around`.
  void begin(scope& around) noexcept {
    if (around.stop().requested()) return this->give_up(errc::stopped);
    around.enter();
    std::construct_at(&scope_, around);
    this->run_in(scope_);
  }

 private:
  /// Begins the task in the root scope of the home to which the task was posted.
  static void begin_at_home(job& self, job::action action) {
    auto& made = static_cast<inner_task&>(self);
    if (made.has_begun()) return made.await_posted_stop();
    if (action == job::action::drop) return made.give_up(errc::stopped);
    const executor_use here(made.where());  // the home whose thread this is
    made.begin(static_cast<home&>(*here.get()).root());
  }

  auto leave() noexcept -> std::coroutine_handle<> override {
    scope& around = *scope_.around();
    std::destroy_at(&scope_);
    this->settle_task(around.where());
    return around.leave();
  }

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  union {
    scope scope_;  // exists from the beginning of the task until `leave`
  };
};

/// A task that has its own home and uses the first scope of that home.
template <typename T>
class lone_task final : public task_state<T> {
 public:
  lone_task(job::act_fn act, executor_id executor, spawn_options&& options, task<T>&& work)
      : task_state<T>(act, executor, std::move(options), std::move(work)) {}
  ~lone_task() = default;

  /// Posts the task to an executor that is not a home. If `is_detached`, the caller will not use the future.
  [[nodiscard]] static auto post(executor& executor, spawn_options&& options, task<T>&& work, bool is_detached = false)
      -> posted_task<T> {
    return lone_task::template post_new<lone_task>(executor, &begin_alone, std::move(options), std::move(work),
                                                   is_detached);
  }

 private:
  /// Begins the task in a new home, which is created on the executor's thread.
  static void begin_alone(job& self, job::action action) {
    auto& made = static_cast<lone_task&>(self);
    if (made.has_begun()) return made.await_posted_stop();
    if (action == job::action::drop) return made.give_up(errc::stopped);
    std::exception_ptr failure;
    const executor_use here(made.where());  // the executor that runs this job
    try {
      serial_executor::run_task_here(
          *here.get(), [](scope& own, void* begun) noexcept { static_cast<lone_task*>(begun)->run_in(own); }, &made);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr) made.fail_to_begin(*here.get(), std::move(failure));  // must not run in a handler
  }

  auto leave() noexcept -> std::coroutine_handle<> override {
    scope& own = this->own();
    own.bind(nullptr, nullptr);  // the description of the task ends with the future
    auto& home = static_cast<serial_executor&>(own.where());
    this->settle_task(home);
    home.task_has_left();
    return {};
  }

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }
};

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer
static_assert(sizeof(inner_task<void>) <= 264,
              "an inner_task must stay small, because each task with a future in a scope has one");
static_assert(sizeof(lone_task<void>) <= 104,
              "a lone_task must stay small, because each task with a future and its own home has one");
#endif

/// Starts a task whose future has already been returned, on a thread that is chosen later. If this object is destroyed
/// without having been called, the future fails with errc::closed. If it was called, but the returned task does not
/// begin, the future fails with errc::stopped.
template <typename T>
class task_start {
 public:
  explicit task_start(inner_task<T>& state) noexcept : state_(&state) {}
  task_start(task_start&& other) noexcept : state_(std::exchange(other.state_, nullptr)), why_not_(other.why_not_) {}
  auto operator=(task_start&&) -> task_start& = delete;
  ~task_start() {
    if (state_ != nullptr) state_->give_up(why_not_);
  }

  /// Returns a task that runs the work and ends with it. Errors: std::bad_alloc.
  BRAID_COROUTINE_WRAPPER [[nodiscard]] auto operator()() && -> task<void> {
    why_not_ = errc::stopped;
    return run(std::move(*this));
  }

 private:
  static auto run(task_start self) -> task<void> {
    scope& around = co_await this_scope();
    scope all(around);
    std::exchange(self.state_, nullptr)->begin(all);
    co_await all.join();
  }

  inner_task<T>* state_;
  errc why_not_ = errc::closed;
};

}  // namespace braid::detail
