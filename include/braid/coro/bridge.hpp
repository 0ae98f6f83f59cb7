// braid/coro/bridge.hpp: connects futures and tasks: a task can await a future, and a spawned task has a future.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>  // needed by all code that awaits futures

#include <concepts>
#include <coroutine>
#include <exception>
#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

extern BRAID_API const wait_layout future_wait_layout;

/// True for the promise type of a coroutine that does not belong to braid.
template <typename Promise>
concept foreign_promise = !std::derived_from<Promise, promise_base>;

/// Connects a future with the task that awaits it, and is the only consumer of the future's result. The future may
/// become ready before or after the task is stopped. For a coroutine that does not belong to braid, this object is also
/// the job that resumes the coroutine.
template <typename T>
class awaited_future final : public continuation {
 public:
  explicit awaited_future(future_state<T>& state) noexcept : continuation(&act), future_(&state) {}

  void fire(cascade& /*more*/) noexcept override {
    bool is_last = false;
    bool is_foreign = false;
    {
      wake_list woken;
      const std::lock_guard guard(lock);
      is_last = task_left_;
      settled = true;
      is_foreign = static_cast<bool>(foreign_);
      is_posted_ = is_foreign && !is_last;
      waiting.pop_all(woken);
    }
    if (is_last)
      destroy();
    else if (is_foreign)
      post_foreign();
  }

  void leave() noexcept {
    bool is_last = false;
    {
      const std::lock_guard guard(lock);
      task_left_ = true;
      is_last = settled && !is_posted_;
    }
    if (is_last) destroy();
  }

  /// Registers `waits`, a coroutine that does not belong to braid, to be resumed when the future settles. Returns false
  /// if the future has already settled.
  [[nodiscard]] auto try_suspend(std::coroutine_handle<> waits) noexcept -> bool {
    const std::lock_guard guard(lock);
    if (!settled) foreign_ = waits;
    return !settled;
  }

  [[nodiscard]] auto made_by() const noexcept -> std::uint64_t {
    const task_info* const known = future_->info();
    return known != nullptr ? known->id.number : 0;
  }

  /// Returns the value of the future or throws its exception. Requires that the future has settled.
  auto take() -> T {
    if (refused_ != errc{}) throw std::system_error(make_error_code(refused_));
    if (future_->how() == verdict::failure) std::rethrow_exception(future_->take_failure());
    return future_->take();
  }

  small_mutex lock;  // guards `settled`, `waiting` and `task_left_`
  bool settled = false;
  wait_queue waiting;  // contains the waiting task

 private:
  friend struct debug_layout;
  void destroy() noexcept {
    future_->drop_reference();
    destroy_state(*this);
  }

  /// Posts the coroutine to the executor that runs the future's work. The coroutine may end and destroy this object
  /// before this function returns.
  void post_foreign() noexcept {
    const executor_id where = future_->where();
    if (where && try_post_to(where, *this)) return;
    if (where) refused_ = errc::closed;
    resume_foreign();
  }

  static void act(job& self, action requested) {
    auto& node = static_cast<awaited_future&>(self);
    if (requested == action::drop) node.refused_ = errc::dropped;
    node.resume_foreign();
  }

  void resume_foreign() noexcept {
    bool is_last = false;
    {
      const std::lock_guard guard(lock);
      is_posted_ = false;
      is_last = task_left_;
    }
    if (is_last)
      destroy();
    else
      foreign_.resume();
  }

  future_state<T>* future_;
  bool task_left_ = false;
  bool is_posted_ = false;           // `foreign_` was posted; under the lock
  errc refused_{};                   // the reason why `foreign_` could not be posted
  std::coroutine_handle<> foreign_;  // a coroutine that does not belong to braid
};

template <typename T>
class [[nodiscard, gnu::warn_unused]] future_awaiter final : public queue_awaiter<future_awaiter<T>> {
 public:
  static constexpr const char* waits_for = "future";
  static constexpr const wait_layout* layout = &future_wait_layout;

  explicit future_awaiter(awaited_future<T>& awaited) noexcept
      : queue_awaiter<future_awaiter>(awaited.lock), awaited_(&awaited) {}
  ~future_awaiter() { awaited_->leave(); }

  using queue_awaiter<future_awaiter>::await_suspend;
  template <foreign_promise Promise>
  [[nodiscard]] auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    return awaited_->try_suspend(self);
  }

  auto await_resume() -> T { return awaited_->take(); }

  [[nodiscard]] auto try_take(wake_list& /*woken*/) const noexcept -> bool { return awaited_->settled; }
  [[nodiscard]] auto queue() const noexcept -> wait_queue& { return awaited_->waiting; }
  void describe(std::string& text) const { describe_task(text, "of", needs().task); }
  [[nodiscard]] auto needs() const noexcept -> needed_task { return {.task = awaited_->made_by()}; }

 private:
  friend struct debug_layout;
  awaited_future<T>* awaited_;
};

/// The awaiter for a shared future. It waits for a future that is created for this wait and becomes ready together with
/// the shared future.
template <typename T>
class [[nodiscard, gnu::warn_unused]] shared_future_awaiter {
 public:
  explicit shared_future_awaiter(const shared_future<T>& future);

  [[nodiscard]] auto await_ready() noexcept -> bool { return ready_.await_ready(); }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return ready_.await_suspend(self, place);
  }
  template <foreign_promise Promise>
  [[nodiscard]] auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> bool {
    return ready_.await_suspend(self);
  }
  auto await_resume() -> decltype(auto) {
    ready_.await_resume();
    return future_->get();
  }

 private:
  const shared_future<T>* future_;
  future_awaiter<void> ready_;
};

}  // namespace detail

/// `co_await std::move(future)` waits for the value and moves it out; the task continues on its home, the serial
/// executor that the task is bound to. A task that is stopped does not get the result; the effect on the work is the
/// same as if the future had been dropped.
/// A coroutine that does not belong to braid may await a future, too. It resumes on the executor of the work. If the
/// future has no executor, it resumes on the thread that fulfils the future. braid does not stop such a coroutine.
/// Errors: rethrows the exception of the future, such as errc::broken_promise. A coroutine of another library also gets
/// errc::closed or errc::dropped if the executor refused or dropped its resumption; it then resumes on the thread that
/// noticed the refusal. Cost: one block of memory for jobs.
template <typename T>
[[nodiscard]] auto operator co_await(future<T>&& from) {
  auto* const state = detail::future_access::find_state(from);
  BRAID_EXPECTS(state != nullptr, "this future has no state: it was default-constructed, moved from, or consumed");
  auto& between = detail::make_state<detail::awaited_future<T>>(*state);
  const auto own = detail::future_access::consume(from);
  detail::cascade more;
  own.state->consume_by(between, own.others, more);
  more.run();
  return detail::future_awaiter<T>(between);
}

template <typename T>
auto operator co_await(future<T>& /*from*/) {
  static_assert(sizeof(T*) == 0, "a future can be awaited only once: use co_await std::move(future)");
}

/// `co_await shared` waits for the value of a shared future. It returns the value as a const T&, as `shared.get()`
/// does; the reference is valid as long as a copy of the future exists. A stop and errors have the same effect as for
/// `future`. Cost: two blocks of memory for jobs.
template <typename T>
[[nodiscard]] auto operator co_await(const shared_future<T>& from) {
  return detail::shared_future_awaiter<T>(from);
}
template <typename T>
auto operator co_await(shared_future<T>&& /*from*/) {
  static_assert(
      sizeof(T*) == 0,
      "the value exists only as long as the shared future: store the future in a variable, and co_await that variable");
}

namespace detail {

template <typename T>
shared_future_awaiter<T>::shared_future_awaiter(const shared_future<T>& future)
    : future_(&future), ready_(operator co_await(future.then_inline([](const auto&... /*value*/) {}))) {}

}  // namespace detail

/// `co_await as_outcome(std::move(future))` waits for the future and returns its outcome (a value, an exception or
/// stopped) instead of throwing. Work that fails with errc::stopped counts as stopped.
template <typename T>
[[nodiscard]] auto as_outcome(future<T> from) -> task<outcome<T>> {
  outcome<T> ended;
  try {
    if constexpr (std::is_void_v<T>)
      (co_await std::move(from), ended.set_value());
    else
      ended.set_value(co_await std::move(from));
  } catch (const std::system_error& thrown) {
    if (thrown.code() != errc::stopped) ended.set_exception(std::current_exception());
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  co_return ended;
}

}  // namespace braid
