// braid/task/detail/fork.hpp: forks two or more calls on any thread: a thief may run the second call.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/worker.hpp>

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A forked callable with space for its result.
template <typename Fn>
class forked final : public fork_record {
 public:
  explicit forked(Fn& fn) noexcept : fork_record(&run_it), fn_(fn) {}

  auto take() -> returned<result_of<Fn>> { return outcome_.take(); }

 private:
  static void run_it(fork_record& self) noexcept {
    auto& mine = static_cast<forked&>(self);
    mine.outcome_.keep(mine.fn_);
    mine.ended.set();
  }

  Fn& fn_;
  call_outcome<result_of<Fn>> outcome_;
};

/// A guard of a forked child. If the forking function throws, the destructor takes the child back. So the exception
/// leaves the caller only after the child has ended or has been prevented from starting.
class pending_child {
 public:
  pending_child(worker& self, fork_record& child) noexcept : self_(self), child_(child) {}
  pending_child(const pending_child&) = delete;
  auto operator=(const pending_child&) -> pending_child& = delete;
  ~pending_child() {
    if (is_out_) static_cast<void>(take_back(self_, child_));
  }

  /// Takes the child back. Returns true if no thief has taken the child, and false if the child has ended on another
  /// thread.
  [[nodiscard]] auto reacquire() noexcept -> bool {
    is_out_ = false;
    return take_back(self_, child_);
  }

 private:
  worker& self_;
  fork_record& child_;
  bool is_out_ = true;
};

/// The tuple of the results of several functions.
template <typename... Fn>
using results_of = std::tuple<returned<result_of<Fn>>...>;

template <typename Left, typename Right>
using both_of = std::pair<returned<result_of<Left>>, returned<result_of<Right>>>;

/// Runs `fn` for a thread that is not a worker, and returns its result. `fn` runs in the default pool. If the thread
/// runs a job of an executor without threads, `fn` runs on this thread.
template <typename Fn>
auto run_elsewhere(Fn&& fn) -> kept_result<Fn> {
  if (runs_inline()) return fn();
  return run_in(default_pool(), fn);
}

template <typename Left, typename Right>
auto fork_on(worker& self, Left& left, Right& right) -> both_of<Left, Right> {
  forked<Right> child(right);
  if (!push_fork(self, child)) return {call(left), call(right)};
  pending_child pending(self, child);
  returned<result_of<Left>> first = call(left);
  if (pending.reacquire()) [[likely]]
    return {std::forward<returned<result_of<Left>>>(first), call(right)};
  return {std::forward<returned<result_of<Left>>>(first), child.take()};
}

/// Forks two calls. This function is not inlined, so that a caller that skips the fork need not save registers for the
/// call of this function. The arguments are passed by value, because references would force the captures to be stored
/// in memory.
template <typename Left, typename Right>
[[gnu::noinline]] auto fork_two(worker* self, Left left, Right right) -> both_of<Left, Right> {
  if (self != nullptr) [[likely]]
    return fork_on(*self, left, right);
  if (runs_inline()) return {call(left), call(right)};
  return run_in(default_pool(), [&]() -> both_of<Left, Right> { return fork_on(*worker_of_thread, left, right); });
}

template <typename Left, typename Right, typename Combine>
[[gnu::noinline]] auto fork_two_and_combine(worker* self, Left left, Right right, Combine combine)
    -> std::invoke_result_t<Combine&, result_of<Left>, result_of<Right>> {
  auto [first, second] = fork_two(self, std::move(left), std::move(right));
  return std::invoke(combine, std::forward<returned<result_of<Left>>>(first),
                     std::forward<returned<result_of<Right>>>(second));
}

/// Forks two calls and returns both results.
template <typename Left, typename Right>
[[gnu::always_inline]] inline auto fork_pair(Left& left, Right& right) -> both_of<Left, Right> {
  worker* const self = worker_of_thread;
  if (self == nullptr || !self->has_enough_forks()) [[unlikely]]
    return fork_two(self, std::move(left), std::move(right));
  return {call(left), call(right)};
}

/// Forks several calls: all calls after the first call form one forked call, which forks again.
template <typename First>
auto fork_tuple(First& first) -> results_of<First> {
  return results_of<First>(call(first));
}
template <typename First, typename Second, typename... Rest>
auto fork_tuple(First& first, Second& second, Rest&... rest) -> results_of<First, Second, Rest...> {
  auto one = [&first]() -> returned<result_of<First>> { return call(first); };
  auto others = [&]() { return fork_tuple(second, rest...); };
  auto [head, tail] = fork_pair(one, others);
  return std::tuple_cat(std::tuple<returned<result_of<First>>>(std::forward<returned<result_of<First>>>(head)),
                        std::move(tail));
}

template <typename Left, typename Right>
[[gnu::always_inline]] inline auto fork_several(Left& left, Right& right) -> both_of<Left, Right> {
  return fork_pair(left, right);
}
template <typename First, typename Second, typename Third, typename... Rest>
auto fork_several(First& first, Second& second, Third& third, Rest&... rest) {
  return fork_tuple(first, second, third, rest...);
}

template <typename... Fn>
inline constexpr bool gives_nothing = (std::is_void_v<result_of<Fn>> && ...);

/// Calls `fn`, unless a stop was requested before.
template <typename Stop, typename Fn>
auto call_unless(const Stop& stop, Fn& fn) -> std::optional<returned<result_of<Fn>>> {
  if (stop.reason()) return std::nullopt;
  return call(fn);
}

}  // namespace braid::detail
