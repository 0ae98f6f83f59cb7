// braid/coro/detail/fork_awaiter.hpp: awaitables for several child coroutines: a fixed number, or one for each element.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/detail/fork_point.hpp>
#include <braid/coro/detail/fork_promise.hpp>
#include <braid/coro/detail/resume.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>

#include <algorithm>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// An awaiter that contains only a reference to a fork. The fork itself cannot be the awaiter, because g++ 12 copies
/// awaiters that are named or passed by reference.
template <typename Fork>
class fork_awaiter {
 public:
  explicit fork_awaiter(Fork& fork) noexcept : fork_(&fork) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return fork_->is_empty(); }
  template <std::derived_from<fork_promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> parent) noexcept -> transfer {
    return transfer_to(fork_->begin(parent));
  }
  auto await_resume() -> decltype(auto) { return fork_->take(); }

 private:
  Fork* fork_;
};

/// The result type of awaiting several tasks that return `T...`: void if all of them return void.
template <typename... T>
using forked_values = std::conditional_t<(std::is_void_v<T> && ...), void, std::tuple<returned<T>...>>;

/// A fork of children that were created before the fork. The fork owns their frames and destroys them at the end of the
/// await.
template <typename Stop, typename... T>
class [[nodiscard, gnu::warn_unused]] forked_tasks final : public fork_point {
 public:
  explicit forked_tasks(Stop stop, std::coroutine_handle<fork_promise<T>>... children) noexcept
      : stop_(std::move(stop)), children_(children...) {}
  ~forked_tasks() {
    std::apply([](auto... child) { (child.destroy(), ...); }, children_);
  }

  auto operator co_await() noexcept { return fork_awaiter<forked_tasks>(*this); }

  [[nodiscard]] static auto is_empty() noexcept -> bool { return false; }
  [[nodiscard]] auto begin(std::coroutine_handle<> parent) noexcept -> std::coroutine_handle<> {
    this->come_from(parent);
    return start<0>(*this);
  }
  auto take() -> unless_stopped<Stop, forked_values<T...>> {
    this->rethrow();
    if constexpr (!std::is_same_v<Stop, never_stopped>)
      if (why_) return braid::fail(*why_);
    return values();
  }

 private:
  friend class fork_point;

  template <std::size_t Index>
  static auto start(fork_point& self) noexcept -> std::coroutine_handle<> {
    auto& mine = static_cast<forked_tasks&>(self);
    if (!mine.goes_on()) [[unlikely]]
      return mine.join();
    const auto child = std::get<Index>(mine.children_);
    if constexpr (Index + 1 == sizeof...(T))
      mine.template run_last<forked_tasks>(child.promise());
    else
      mine.template run_eager_child<forked_tasks, &start<Index + 1>>(child.promise());
    return child;
  }

  static auto close(fork_promise_base& child) noexcept -> fork_point& {
    auto& mine = *static_cast<forked_tasks*>(static_cast<fork_point*>(child.context()));
    if (child.thrown() != nullptr) [[unlikely]]
      mine.fail(child.thrown());
    return mine;
  }

  [[nodiscard]] auto goes_on() noexcept -> bool {
    if (this->has_failed()) return false;
    if constexpr (std::is_same_v<Stop, never_stopped>)
      return true;
    else
      return !(why_ = stop_.reason());
  }

  auto values() -> unless_stopped<Stop, forked_values<T...>> {
    if constexpr (std::is_void_v<forked_values<T...>>)
      return unless_stopped<Stop, void>();
    else
      return std::apply([](auto... child) { return forked_values<T...>(value_of(child)...); }, children_);
  }

  template <typename U>
  static auto value_of(std::coroutine_handle<fork_promise<U>> child) -> returned<U> {
    if constexpr (std::is_void_v<U>)
      return {};
    else
      return child.promise().take();
  }

  struct nothing {};

  [[no_unique_address]] Stop stop_;
  // The reason of the stop, if a stop kept children from starting. Written by the thread that runs the continuation.
  [[no_unique_address]] std::conditional_t<std::is_same_v<Stop, never_stopped>, nothing, std::optional<errc>> why_{};
  std::tuple<std::coroutine_handle<fork_promise<T>>...> children_;
};

/// The state that is shared by all loops over the same range.
template <typename Stop, typename Iterator, typename Fn>
struct fork_range {
  /// Returns whether the next child may begin.
  [[nodiscard]] auto goes_on() noexcept -> bool {
    if (failed.load(relaxed)) return false;
    const std::optional<errc> why = stop.reason();
    if (why) left_out.store(static_cast<int>(*why), relaxed);
    return !why;
  }

  const Iterator first;
  Fn& fn;
  const Stop stop;
  atomic<bool> failed{false};  // set by each child that has failed
  atomic<int> left_out{0};     // an errc; set by the thread that has skipped children
};

/// A loop that runs one child for each element of a part of a range. The thread that runs the continuation creates each
/// child just before the child starts. It frees the child after the child has ended. So at any time there are about as
/// many children as threads.
template <typename Range>
class fork_loop final : public fork_point {
 public:
  fork_loop(Range& all, std::size_t from, std::size_t to) noexcept : range_(all), next_(from), end_(to) {}

  auto operator co_await() noexcept { return fork_awaiter<fork_loop>(*this); }

  [[nodiscard]] auto is_empty() const noexcept -> bool { return next_ == end_; }
  [[nodiscard]] auto begin(std::coroutine_handle<> parent) noexcept -> std::coroutine_handle<> {
    this->come_from(parent);
    return next(*this);
  }
  void take() { this->rethrow(); }

 private:
  friend class fork_point;

  static auto next(fork_point& self) noexcept -> std::coroutine_handle<> {
    auto& mine = static_cast<fork_loop&>(self);
    if (mine.next_ == mine.end_ || !mine.range_.goes_on()) return mine.join();
    const auto child = mine.make_child(mine.next_++);
    if (!child) return mine.join();
    if (mine.next_ == mine.end_)
      mine.template run_last<fork_loop>(child.promise());
    else
      mine.template run_eager_child<fork_loop, &next>(child.promise());
    return child;
  }

  static auto close(fork_promise_base& child) noexcept -> fork_point& {
    auto& mine = *static_cast<fork_loop*>(static_cast<fork_point*>(child.context()));
    if (child.thrown() != nullptr) [[unlikely]]
      mine.give_up(child.thrown());
    std::coroutine_handle<fork_promise<void>>::from_promise(static_cast<fork_promise<void>&>(child)).destroy();
    return mine;
  }

  /// Creates the child for an element. Returns null if the creation threw an exception; the exception is recorded.
  auto make_child(std::size_t index) noexcept -> std::coroutine_handle<fork_promise<void>> {
    try {
      auto made = std::invoke(range_.fn, at(range_.first, index));
      return made.release();
    } catch (...) {
      give_up(std::current_exception());
      return nullptr;
    }
  }

  void give_up(const std::exception_ptr& thrown) noexcept {
    this->fail(thrown);
    range_.failed.store(true, relaxed);
  }

  Range& range_;
  std::size_t next_;  // the next element; written by the thread that runs the continuation
  const std::size_t end_;
};

/// Returns the maximum number of elements in one loop. Larger ranges are halved first, because thieves can steal only
/// one continuation per loop.
constexpr auto max_fork_loop(std::size_t count) noexcept -> std::size_t {
  return std::max<std::size_t>(16, count / 128);
}

}  // namespace braid::detail
