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

/// The future of a posted task, and whether the executor accepted the task. If it did not, the future has failed.
template <typename T>
struct posted_task {
  future<T> ahead;
  bool accepted = false;
};

/// The producer of a future: a task in a scope of its own, inside the scope that it was spawned into. It settles the
/// future when its frame is destroyed and no task is left in its scope.
///
///   posted --begin--> running --root_ended--> joining --children_ended--> leaving --left--> settled
///      \________________ give_up: refused, dropped, or stopped before it began ______________/
///
/// In the state `leaving`, the task first waits for all threads that are about to stop its scope. If one of these
/// threads has posted a stop, the task then waits for that stop. The object itself is the job that begins the task, and
/// later the job that continues the end of the task at its home.
template <typename T>
class task_state final : public future_state<T> {
 public:
  task_state(job::act_fn act, executor_id executor, spawn_options&& options, task<T>&& work)
      : future_state<T>(act, executor), work_(std::move(work)), control_(std::move(options.name)) {}
  ~task_state() { std::destroy_at(&failure_); }  // after `left` or `give_up`

  /// Begins the task in `scope`. The caller runs on the home of `scope`.
  [[nodiscard]] static auto spawn(scope& scope, spawn_options&& options, task<T>&& work) -> future<T> {
    auto& made = make_state<task_state>(&continue_end, scope.where().id(), std::move(options), std::move(work));
    auto made_future = future_access::make<T>(made);
    made.begin(scope);
    return made_future;
  }

  /// Posts the task to `executor`. `act` is `begin_at_home` or `begin_alone`. If `is_detached`, the caller will not use
  /// the future.
  [[nodiscard]] static auto post(executor& executor, job::act_fn act, spawn_options&& options, task<T>&& work,
                                 bool is_detached = false) -> posted_task<T> {
    auto& made = make_state<task_state>(act, executor.id(), std::move(options), std::move(work));
    made.control_.set_detached(is_detached);
    posted_task<T> posted{.ahead = future_access::make<T>(made)};
    posted.accepted = executor.try_post(made);
    if (!posted.accepted) made.give_up(executor.why_refused());
    return posted;
  }

  /// Continues the end of the task, which was deferred.
  static void continue_end(job& self, job::action /*what*/) { static_cast<task_state&>(self).await_posted_stop(); }

  /// Begins the task in the root scope of the home to which it was posted.
  static void begin_at_home(job& self, job::action action) {
    auto& made = static_cast<task_state&>(self);
    if (made.has_begun()) return made.await_posted_stop();
    if (action == job::action::drop) return made.give_up(errc::stopped);
    const executor_use here(made.where());  // the home whose thread this is
    made.begin(static_cast<home&>(*here.get()).root());
  }

  /// Begins the task in a new home, which is created on the executor's thread.
  static void begin_alone(job& self, job::action action) {
    auto& made = static_cast<task_state&>(self);
    if (made.has_begun()) return made.await_posted_stop();
    if (action == job::action::drop) return made.give_up(errc::stopped);
    std::exception_ptr failure;
    const executor_use here(made.where());  // the executor that runs this job
    try {
      serial_executor::run_here(
          *here.get(), [](scope& root, void* begun) noexcept { static_cast<task_state*>(begun)->begin(root); }, &made);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure == nullptr) return;
    made.take_work() = {};
    made.failure_ = std::move(failure);  // the following code must not run in a handler
    if (made.is_unheard()) here.get()->report(made.failure_);
    made.settle_without_value();
  }

  /// Begins the task on the home of `scope`.
  void begin(scope& scope) noexcept {
    if (scope.stop().requested()) return give_up(errc::stopped);
    around_ = &scope;
    scope.enter();
    std::construct_at(&own_, scope);
    own_.bind(&task_info_key, &control_.info());
    control_.begin(own_);
    task<T> work = take_work();
    if (!own_.stop().requested()) return own_.begin(std::move(work), *this);
    work = {};
    stopped();
    own_.when_idle(&children_ended, this);
  }

  /// Settles the future with an error, because the task did not begin.
  void give_up(errc error) noexcept {
    take_work() = {};
    failure_ = failure_of(error);
    settle_without_value();
  }

  /// Called when the task's coroutine has ended. The task's own scope still counts it as a task.
  void root_ended(std::coroutine_handle<task_promise<T>> frame) noexcept {
    take_from(frame.promise().result());
    frame.destroy();
    if (failure_ != nullptr) own_.request_stop();
    own_.when_idle(&children_ended, this);
  }

  void request_stop(errc reason) noexcept override {
    if (!this->is_settled()) control_.request_stop(reason, *this);
  }

  [[nodiscard]] auto info() const noexcept -> const task_info* override { return &control_.info(); }

 private:
  [[nodiscard]] auto has_begun() const noexcept -> bool { return around_ != nullptr; }

  /// Returns the work, and ends its lifetime here, so that `failure_` can be used.
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
    if (auto error = made.own_.take_error();
        error != nullptr && (made.failure_ == nullptr || made.control_.is_stopped())) {
      if (made.failure_ == nullptr) made.destroy_value();
      made.failure_ = std::move(error);
      made.control_.set_stopped(false);
    }
    if (!made.control_.try_leave()) return {};
    const ending_depth here;
    if (here.is_deep())
      made.around_->where().post_resumption(made);
    else
      made.await_posted_stop();
    return {};
  }

  void await_posted_stop() noexcept { own_.when_idle(&left, this); }

  static auto left(void* self) noexcept -> std::coroutine_handle<> {
    auto& made = *static_cast<task_state*>(self);
    scope& around = *made.around_;
    std::destroy_at(&made.own_);
    made.settle_task(around.where());
    return around.leave();
  }

  [[nodiscard]] auto is_unheard() const noexcept -> bool { return control_.is_detached() || this->is_abandoned(); }

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

  void settle_without_value() noexcept {
    cascade more;
    this->fail(std::move(failure_), more);
    more.run();
  }

  void fire(cascade& /*more*/) noexcept override {}  // never called: it is not attached to a future

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  union {
    task<T> work_;                // until it begins
    std::exception_ptr failure_;  // from then on, until it settles
  };
  mutable task_control control_;
  scope* around_ = nullptr;  // set when it begins
  union {
    scope own_;  // from the beginning of the task until `left`
  };
};

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer
static_assert(sizeof(task_state<void>) <= 296, "each task with a future has such an object");
#endif

/// Starts a task whose future has already been returned, on a thread that is chosen later. If this object is destroyed
/// without having been called, the future fails with errc::closed. If it was called, but the returned task does not
/// begin, the future fails with errc::stopped.
template <typename T>
class task_start {
 public:
  explicit task_start(task_state<T>& state) noexcept : state_(&state) {}
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

  task_state<T>* state_;
  errc why_not_ = errc::closed;
};

}  // namespace braid::detail
