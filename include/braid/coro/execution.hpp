// braid/coro/execution.hpp: connects braid with std::execution: executors are schedulers, futures and tasks are
// senders, and tasks await senders.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/future_operation.hpp>
#include <braid/coro/detail/outside_wait.hpp>
#include <braid/coro/detail/sender_value.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>
#include <braid/task/senders.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

class schedule_sender;

/// An executor as a scheduler: `schedule` returns a sender that completes on the executor. Threads: any. Lifetime: the
/// executor must outlive the operations.
class executor_scheduler {
 public:
  using scheduler_concept = execution::scheduler_t;

  explicit executor_scheduler(executor& executor) noexcept : executor_(&executor) {}
  explicit executor_scheduler(home& home) noexcept : executor_(&home), home_(&home) {}

  [[nodiscard]] auto schedule() const noexcept -> schedule_sender;

  [[nodiscard]] auto where() const noexcept -> executor& { return *executor_; }
  /// Returns the executor as a `home`, a serial executor that tasks can be bound to. Returns null if it is not a home.
  /// For example, a pool is not a home.
  [[nodiscard]] auto as_home() const noexcept -> home* { return home_; }

  friend auto operator==(const executor_scheduler& a, const executor_scheduler& b) noexcept -> bool {
    return a.executor_ == b.executor_;
  }

 private:
  executor* executor_;
  home* home_ = nullptr;
};

namespace detail {

/// The operation of `schedule`: a job in the operation state. The operation checks for a stop when it starts, and again
/// when the job runs.
template <typename Receiver>
class schedule_operation final : job {
 public:
  using operation_state_concept = execution::operation_state_t;

  schedule_operation(executor& executor, Receiver&& to) : job(&act), executor_(&executor), to_(std::move(to)) {}

  void start() & noexcept {
    if (is_stopped()) return execution::set_stopped(std::move(to_));
    executor& where = *executor_;
    if (!where.try_post(*this))  // after a successful post the operation may be destroyed
      execution::set_error(std::move(to_), make_error_code(where.why_refused()));
  }

 private:
  [[nodiscard]] auto is_stopped() const noexcept -> bool {
    return execution::get_stop_token(execution::get_env(to_)).stop_requested();
  }

  static void act(job& self, action requested) {
    auto& work = static_cast<schedule_operation&>(self);
    if (requested == action::drop) return execution::set_error(std::move(work.to_), make_error_code(errc::dropped));
    if (work.is_stopped()) return execution::set_stopped(std::move(work.to_));
    execution::set_value(std::move(work.to_));
  }

  executor* executor_;
  Receiver to_;
};

/// The attributes of a sender that completes on an executor.
struct schedule_attributes {
  template <typename Completion>
    requires std::same_as<Completion, execution::set_value_t> || std::same_as<Completion, execution::set_stopped_t>
  [[nodiscard]] auto query(execution::get_completion_scheduler_t<Completion> /*query*/) const noexcept
      -> executor_scheduler {
    return scheduler;
  }

  executor_scheduler scheduler;
};

}  // namespace detail

/// A sender that completes as a job of an executor, without a value. Cost: one post; no allocation.
/// Errors: completes with a std::error_code, which is errc::closed or errc::full if the executor refuses the job (then
/// on the thread that starts the operation), and errc::dropped if a shutdown drops the job. Completes as stopped if a
/// stop is requested before the job runs.
class [[nodiscard]] schedule_sender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures =
      execution::completion_signatures<execution::set_value_t(), execution::set_error_t(std::error_code),
                                       execution::set_stopped_t()>;

  explicit schedule_sender(executor_scheduler scheduler) noexcept : scheduler_(scheduler) {}

  template <typename Self, typename... Env>
  static consteval auto get_completion_signatures() noexcept -> completion_signatures {
    return {};
  }
  [[nodiscard]] auto get_env() const noexcept -> detail::schedule_attributes { return {scheduler_}; }
  template <execution::receiver Receiver>
  [[nodiscard]] auto connect(Receiver to) const -> detail::schedule_operation<Receiver> {
    return {scheduler_.where(), std::move(to)};
  }

 private:
  executor_scheduler scheduler_;
};

inline auto executor_scheduler::schedule() const noexcept -> schedule_sender { return schedule_sender(*this); }

/// Returns the scheduler of an executor, such as a pool, a loop or a serial executor. For a runtime, returns the
/// scheduler of its workers.
[[nodiscard]] inline auto scheduler_of(executor& executor) noexcept { return executor_scheduler(executor); }
[[nodiscard]] inline auto scheduler_of(home& home) noexcept { return executor_scheduler(home); }
template <typename Runtime>
  requires requires(Runtime& runtime) {
    { runtime.workers() } -> std::convertible_to<executor&>;
    { runtime.io() } -> std::convertible_to<home&>;
  }
[[nodiscard]] auto scheduler_of(Runtime& runtime) noexcept {
  return executor_scheduler(runtime.workers());
}

namespace detail {

/// A function that returns an existing future. The operation calls it when the sender is started.
template <typename T>
struct begun_future {
  template <typename Receiver>
  auto operator()(const Receiver& /*to*/) noexcept -> future<T> {
    return std::move(from);
  }
  future<T> from;
};

/// A function that spawns a task on a known home or executor when a sender is started.
template <typename T, typename Where>
struct task_for_place {
  template <typename Receiver>
  auto operator()(const Receiver& /*to*/) -> future<T> {
    return spawn(*where, std::move(work));
  }
  task<T> work;
  Where* where;
};

/// A function that spawns a task on the scheduler of the receiver when a sender is started.
template <typename T>
struct task_for_receiver {
  template <typename Receiver>
  auto operator()(const Receiver& to) -> future<T> {
    const auto scheduler = execution::get_scheduler(execution::get_env(to));
    static_assert(std::is_same_v<std::remove_cvref_t<decltype(scheduler)>, executor_scheduler>,
                  "the receiver has no scheduler of braid: pass an executor, as_sender(executor, task)");
    if (scheduler.as_home() != nullptr) return spawn(*scheduler.as_home(), std::move(work));
    return spawn(scheduler.where(), std::move(work));
  }
  task<T> work;
};

}  // namespace detail

/// A future or a task as a sender (see `as_sender`). It can be connected only once, as an rvalue.
template <typename T, typename Begin>
class [[nodiscard]] future_sender {
 public:
  using sender_concept = execution::sender_t;
  using completion_signatures =
      execution::completion_signatures<typename detail::value_signature<T>::type,
                                       execution::set_error_t(std::exception_ptr), execution::set_stopped_t()>;

  explicit future_sender(Begin begin) noexcept : begin_(std::move(begin)) {}

  template <typename Self, typename... Env>
  static consteval auto get_completion_signatures() noexcept -> completion_signatures {
    return {};
  }
  template <execution::receiver Receiver>
  [[nodiscard]] auto connect(Receiver to) && -> detail::future_operation<T, Begin, Receiver> {
    return {std::move(begin_), std::move(to)};
  }

 private:
  Begin begin_;
};

/// Returns a sender that completes with the value of the future, with its exception, or as stopped if the work ended as
/// stopped. It completes on the thread that fulfils the future, or in `start` if the future is fulfilled already. A
/// stop is passed to the work as `future::request_stop` does, and the operation completes when the work has ended. A
/// future of a promise ignores the stop. Cost: no allocation.
template <typename T>
[[nodiscard]] auto as_sender(future<T> from) noexcept {
  BRAID_EXPECTS(from.valid(), "this future has no state: it was default-constructed, moved from, or consumed");
  return future_sender<T, detail::begun_future<T>>(detail::begun_future<T>{std::move(from)});
}

/// Returns a sender that spawns the task when it is started. With the argument `place`, which is a home or an executor,
/// the sender spawns the task as `spawn` does. Without `place`, it spawns the task on the scheduler of the receiver,
/// which must be a scheduler of braid. It completes as the sender of a future does. If the task has already ended on
/// another thread when `start` waits for it, the sender completes in `start`.
/// Errors: those of a future's sender; also std::bad_alloc, by set_error. Cost: the same as for `spawn`; memory comes
/// from the free lists of the thread.
template <std::derived_from<executor> Where, typename T>
[[nodiscard]] auto as_sender(Where& place, task<T> work) noexcept {
  using begin = detail::task_for_place<T, Where>;
  return future_sender<T, begin>(begin{std::move(work), &place});
}
template <typename T>
[[nodiscard]] auto as_sender(task<T> work) noexcept {
  using begin = detail::task_for_receiver<T>;
  return future_sender<T, begin>(begin{std::move(work)});
}

namespace detail {

/// The environment that a task provides to a sender: the stop token of its scope, and the scheduler of its home.
class task_environment {
 public:
  task_environment(execution::inplace_stop_source& stop, home& home) noexcept : stop_(&stop), executor_(&home) {}

  [[nodiscard]] auto query(execution::get_stop_token_t /*query*/) const noexcept -> execution::inplace_stop_token {
    return stop_->get_token();
  }
  [[nodiscard]] auto query(execution::get_scheduler_t /*query*/) const noexcept -> executor_scheduler {
    return executor_scheduler(*executor_);
  }

 private:
  execution::inplace_stop_source* stop_;
  home* executor_;
};

/// An awaiter that connects a sender in the frame of its task. A stop of the task is passed to the sender. The task
/// ends or continues when the sender has completed.
template <typename Sender>
class [[nodiscard, gnu::warn_unused]] sender_awaiter final : outside_wait {
  using value = sender_value_t<Sender, task_environment>;

  class receiver {
   public:
    using receiver_concept = execution::receiver_t;

    explicit receiver(sender_awaiter& to) noexcept : to_(&to) {}

    template <typename... Values>
    void set_value(Values&&... values) && noexcept {
      try {
        to_->outcome_.set_value(std::forward<Values>(values)...);
      } catch (...) {
        to_->outcome_.set_exception(std::current_exception());
      }
      to_->end(ending::done);
    }
    template <typename Error>
    void set_error(Error&& error) && noexcept {
      to_->outcome_.set_exception(as_exception(std::forward<Error>(error)));
      to_->end(ending::done);
    }
    void set_stopped() && noexcept { to_->end(ending::stopped); }
    [[nodiscard]] auto get_env() const noexcept -> task_environment { return {to_->stop_, to_->where()}; }

   private:
    template <typename Error>
    static auto as_exception(Error&& error) noexcept -> std::exception_ptr {
      using plain = std::remove_cvref_t<Error>;
      if constexpr (std::is_same_v<plain, std::exception_ptr>)
        return std::forward<Error>(error);
      else if constexpr (std::is_same_v<plain, std::error_code>)
        return std::make_exception_ptr(std::system_error(error));
      else
        return std::make_exception_ptr(std::forward<Error>(error));
    }

    sender_awaiter* to_;
  };
  using operation_state = execution::connect_result_t<Sender, receiver>;

 public:
  explicit sender_awaiter(Sender&& from) : outside_wait(functions), from_(std::forward<Sender>(from)) {}
  /// Requires that `other` has not been awaited.
  sender_awaiter(sender_awaiter&& other) noexcept(std::is_nothrow_move_constructible_v<Sender>)
      : outside_wait(functions), from_(std::forward<Sender>(other.from_)) {}
  ~sender_awaiter() {
    if (is_connected_) std::destroy_at(&work_);
  }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }
  auto await_resume() -> value { return outcome_.take(); }

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<sender_awaiter&>(self);
    return waiting.start_with([&waiting] {
      try {
        ::new (static_cast<void*>(std::addressof(waiting.work_)))
            operation_state(execution::connect(std::forward<Sender>(waiting.from_), receiver(waiting)));
      } catch (...) {
        waiting.outcome_.set_exception(std::current_exception());
        return waiting.end(ending::done);
      }
      waiting.is_connected_ = true;
      execution::start(waiting.work_);
    });
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    static_cast<sender_awaiter&>(self).stop_.request_stop();
    return withdrawal::later;
  }
  static constexpr operation functions{&start, &withdraw, "sender"};

  Sender from_;
  execution::inplace_stop_source stop_;
  outcome<value> outcome_;
  union {
    operation_state work_;
  };
  bool is_connected_ = false;
};

template <typename S>
concept tagged_sender = requires { typename std::remove_cvref_t<S>::sender_concept; } && !awaiter<S>;

}  // namespace detail

/// `co_await await_sender(sender)` starts the sender and resumes the task on its home executor. The result is the
/// sender's value; if the sender completes without a value, the result is void, and if it completes with several
/// values, a tuple. The receiver's environment has a stop token and the scheduler of the task's home. If the task is
/// stopped, a stop of that token is requested. If the sender then completes as stopped, the task ends. If the sender
/// completes in another way, the task continues to its next wait. A sender that completes as stopped on its own also
/// ends the task as stopped.
/// Threads: any; a task that runs on another executor returns to its home first. Blocks: no thread.
/// Errors: rethrows the sender's error; a std::error_code is thrown as a std::system_error. Cost: the operation is kept
/// in the frame of the task.
template <detail::tagged_sender Sender>
[[nodiscard]] auto await_sender(Sender&& from) {
  return detail::sender_awaiter<std::remove_cvref_t<Sender>>(std::remove_cvref_t<Sender>(std::forward<Sender>(from)));
}

/// Awaits a sender as `await_sender` does, by `co_await sender`. Argument-dependent lookup finds this operator for
/// senders of braid. For other senders, the code must be in namespace braid, or contain `using namespace braid` or
/// `using braid::operator co_await`.
template <detail::tagged_sender Sender>
[[nodiscard]] auto operator co_await(Sender&& from) {
  return await_sender(std::forward<Sender>(from));
}

}  // namespace braid
