// braid/coro/detail/task_state.hpp: a task that gives a future: the job that begins it and its result in one block.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/outcome.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/strand_home.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/detail/produced_state.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <coroutine>
#include <exception>
#include <utility>

namespace braid::detail {

/// The producer of a future: a root of a scope, which settles it when its frame is gone.
template <typename T>
class task_state final : public future_state<T> {
 public:
  task_state(job::act_fn act, executor_id where, task<T> work) noexcept
      : future_state<T>(act, where), work_(std::move(work)) {}

  /// Begins the task in `in`, on whose home the caller is.
  [[nodiscard]] static auto spawn(scope& in, task<T> work) -> future<T> {
    auto& made = make_state<task_state>(nullptr, in.where().id(), std::move(work));
    auto made_future = future_access::make<T>(made);
    made.begin(in);
    return made_future;
  }

  /// Begins it by `act`, one of the two below, on `where`.
  [[nodiscard]] static auto post(executor& where, job::act_fn act, task<T> work) -> future<T> {
    auto& made = make_state<task_state>(act, where.id(), std::move(work));
    auto made_future = future_access::make<T>(made);
    if (!where.try_post(made)) made.give_up(failure_of(errc::closed));
    return made_future;
  }

  /// In the root of the home to which it was posted.
  static void begin_at_home(job& self, job::action what) {
    auto& made = static_cast<task_state&>(self);
    if (what == job::action::drop) return made.give_up(failure_of(errc::stopped));
    const executor_use here(made.where());  // the home whose thread this is
    made.begin(static_cast<home&>(*here.get()).root());
  }

  /// In a home of its own, which is made on the executor's thread.
  static void begin_alone(job& self, job::action what) {
    auto& made = static_cast<task_state&>(self);
    if (what == job::action::drop) return made.give_up(failure_of(errc::stopped));
    std::exception_ptr failure;
    const executor_use here(made.where());  // the executor that runs this job
    try {
      strand_home::run_here(
          *here.get(), [](scope& root, void* begun) noexcept { static_cast<task_state*>(begun)->begin(root); }, &made);
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure != nullptr) made.give_up(std::move(failure));  // what comes next does not run in a handler
  }

  /// What the task held is gone before anybody sees the result. The task still counts in its scope meanwhile.
  void root_ended(std::coroutine_handle<task_promise<T>> frame) noexcept {
    std::exception_ptr failure = take_from(frame.promise().result());
    frame.destroy();
    cascade more;
    if (failure == nullptr)
      this->settle(verdict::value, more);
    else
      this->fail(std::move(failure), more);
    more.run();
  }

 private:
  void begin(scope& in) noexcept {
    if (in.stop().requested()) return give_up(failure_of(errc::stopped));
    in.begin(std::move(work_), *this);
  }

  /// Settles without having begun.
  void give_up(std::exception_ptr why) noexcept {
    work_ = {};
    cascade more;
    this->fail(std::move(why), more);
    more.run();
  }

  /// Takes the value over, or gives what there is instead of one.
  [[nodiscard]] auto take_from(outcome<T>& result) noexcept -> std::exception_ptr {
    if (result.has_exception()) return result.exception();
    if (result.is_stopped()) return failure_of(errc::stopped);
    try {
      this->emplace([&result]() -> T { return result.take(); });
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void fire(cascade& /*more*/) noexcept override {}  // it hangs on nothing

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  task<T> work_;  // until it begins
};

}  // namespace braid::detail
