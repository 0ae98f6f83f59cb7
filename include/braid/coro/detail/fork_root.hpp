// braid/coro/detail/fork_root.hpp: the root of a tree of forking coroutines, which delivers the tree's result.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/fork_promise.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/job_memory.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A job that starts a coroutine that no task awaits. The root is also a fork record, so that workers can wait for it
/// as they wait for a fork. The root is never pushed to a deque.
class BRAID_API fork_root : public job, public fork_record {
 public:
  /// Runs the coroutine on this thread, except the parts that other threads run. Returns when the coroutine has ended.
  void run_here() noexcept;

 protected:
  /// Called when the result is available. This is the last call on the root, and it may destroy the root.
  using end_fn = void (*)(fork_root& self) noexcept;

  template <typename Promise>
  fork_root(std::coroutine_handle<Promise> frame, end_fn end) noexcept
      : job(&act), fork_record(nullptr), frame_(frame), promise_(frame.promise()), end_(end) {
    promise_.attach(&has_ended, this);
  }
  ~fork_root() { frame_.destroy(); }

 private:
  static void act(job& self, action action);
  static auto has_ended(fork_promise_base& promise) noexcept -> std::coroutine_handle<>;

  const std::coroutine_handle<> frame_;
  fork_promise_base& promise_;
  const end_fn end_;
};

/// A root on the stack of the thread that waits for the result.
template <typename T>
class awaited_root final : public fork_root {
 public:
  explicit awaited_root(std::coroutine_handle<fork_promise<T>> frame) noexcept
      : fork_root(frame, &signal_end), promise_(frame.promise()) {}

  auto take() -> T { return promise_.take(); }

 private:
  static void signal_end(fork_root& self) noexcept { self.ended.set(); }

  fork_promise<T>& promise_;
};

/// A root whose result is a future. It frees itself.
template <typename T>
class future_root final : public fork_root {
 public:
  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* root, std::size_t size) noexcept { free_job(root, size); }

  future_root(std::coroutine_handle<fork_promise<T>> frame, promise<T> to) noexcept
      : fork_root(frame, &settle), promise_(frame.promise()), result_(std::move(to)) {}

 private:
  static void settle(fork_root& self) noexcept {
    std::unique_ptr<future_root> mine(static_cast<future_root*>(&self));
    promise<T> to = std::move(mine->result_);
    std::exception_ptr thrown = mine->promise_.thrown();
    if (thrown == nullptr) thrown = give(std::move(mine), to);
    mine.reset();
    if (thrown != nullptr) static_cast<void>(to.set_exception(std::move(thrown)));
  }

  /// Passes the result to the future. All local objects of the coroutine are destroyed before another thread can read
  /// the result. If moving the result throws an exception, returns that exception.
  static auto give(std::unique_ptr<future_root> mine, promise<T>& to) noexcept -> std::exception_ptr {
    try {
      if constexpr (std::is_void_v<T>) {
        mine.reset();
        static_cast<void>(to.set_value());
      } else {
        T value = mine->promise_.take();
        mine.reset();
        static_cast<void>(to.set_value(std::forward<T>(value)));
      }
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  fork_promise<T>& promise_;
  promise<T> result_;
};

}  // namespace braid::detail
