// bench/fork_join/tiny.hpp: the least that fork-join needs beside a split deque: records on the stack, thieves that
// spin.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/split_deque.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench::tiny {

/// Work that lies on the stack of whoever forked it, until that one comes back for it.
struct record {
  using run_fn = void (*)(record&) noexcept;

  explicit record(run_fn fn) noexcept : run(fn) {}

  run_fn run;
  braid::atomic<std::uint32_t> done{0};  // 1: written by the thief, after the result
};

/// A thread that forks, joins and steals.
struct alignas(braid::cache_line) worker {
  static constexpr std::size_t capacity = 256;
  static constexpr std::size_t enough = 4;

  /// Whether a fork would be of use to nobody: thieves do not ask, and would find older work if they did.
  [[nodiscard]] auto has_enough() const noexcept -> bool { return deque.private_size() >= enough && !deque.wanted(); }

  /// Steals once from somebody and runs it. False when there was nothing.
  auto steal_one() noexcept -> bool;

  /// Runs what others have until the record is done.
  void wait_for(const record& stolen) noexcept;

  braid::split_deque<record> deque{capacity};
  std::vector<std::unique_ptr<worker>>* all = nullptr;
};

/// The worker that this thread is.
extern constinit thread_local worker* current [[gnu::tls_model("initial-exec")]];

/// Runs `root` on the calling thread as one of `workers`; its result.
template <typename Fn>
auto run(unsigned workers, Fn&& root) -> std::invoke_result_t<Fn>;

namespace detail {

/// The thieves of a run, for as long as this lives.
class crew {
 public:
  explicit crew(unsigned workers);
  crew(const crew&) = delete;
  auto operator=(const crew&) -> crew& = delete;
  ~crew();

 private:
  std::vector<std::unique_ptr<worker>> workers_;
  braid::atomic<bool> over_{false};
  std::vector<std::thread> thieves_;
};

/// A forked callable with a place for its result, which is the same type for all of them here.
template <typename Fn>
struct child final : record {
  explicit child(Fn& forked) noexcept : record(&run_it), fn(forked) {}

  static void run_it(record& self) noexcept {
    auto& mine = static_cast<child&>(self);
    mine.result = mine.fn();
    mine.done.store(1, braid::release);
  }

  Fn& fn;
  std::invoke_result_t<Fn&> result;
};

}  // namespace detail

template <typename Fn>
auto run(unsigned workers, Fn&& root) -> std::invoke_result_t<Fn> {
  const detail::crew helpers(workers);
  return std::forward<Fn>(root)();
}

namespace detail {

/// Out of line: the registers that it saves are no burden to a fork that is of use to nobody. By value: references
/// would keep the captures in memory.
template <typename Left, typename Right>
[[gnu::noinline]] auto fork_and_join(worker& self, Left left, Right right)
    -> std::pair<std::invoke_result_t<Left&>, std::invoke_result_t<Right&>> {
  child<Right> forked(right);
  const bool pushed = self.deque.try_push(forked);
  auto first = left();
  if (!pushed || self.deque.pop() != nullptr) [[likely]]
    return {first, right()};
  self.wait_for(forked);
  return {first, forked.result};
}

template <typename Left, typename Right, typename Join>
[[gnu::noinline]] auto fork_join_and_combine(worker& self, Left left, Right right, Join join)
    -> std::invoke_result_t<Join&, std::invoke_result_t<Left&>, std::invoke_result_t<Right&>> {
  auto [first, second] = fork_and_join(self, left, right);
  return join(first, second);
}

}  // namespace detail

/// Both results. `right` may run on another thread meanwhile. Neither may throw.
template <typename Left, typename Right>
[[gnu::always_inline]] inline auto fork_join(Left left, Right right)
    -> std::pair<std::invoke_result_t<Left&>, std::invoke_result_t<Right&>> {
  worker& self = *current;
  if (!self.has_enough()) [[unlikely]]
    return detail::fork_and_join(self, left, right);
  auto first = left();
  return {first, right()};
}

/// What `join` makes of both results. Where it is a sum or the like, the compiler may turn the last call of a recursion
/// into a loop, as it does in the serial function.
template <typename Left, typename Right, typename Join>
[[gnu::always_inline]] inline auto fork_join(Left left, Right right, Join join)
    -> std::invoke_result_t<Join&, std::invoke_result_t<Left&>, std::invoke_result_t<Right&>> {
  worker& self = *current;
  if (!self.has_enough()) [[unlikely]]
    return detail::fork_join_and_combine(self, left, right, join);
  auto first = left();
  return join(first, right());
}

template <typename Body>
auto sum(std::uint64_t first, std::uint64_t last, const Body& body) -> std::uint64_t;

namespace detail {

/// Forks the later half. The body comes by value: a reference would keep the captures of the loop in memory.
template <typename Body>
[[gnu::noinline]] auto halve(worker& self, std::uint64_t first, std::uint64_t last, Body body) -> std::uint64_t {
  if (last - first == 1) return body(first);
  const std::uint64_t middle = first + (last - first) / 2;
  const auto [earlier, later] =
      fork_and_join(self, [&] { return sum(first, middle, body); }, [&] { return sum(middle, last, body); });
  return earlier + later;
}

}  // namespace detail

/// The sum of `body(i)` for each i from `first` to before `last`; halves go to others when they ask.
template <typename Body>
[[gnu::always_inline]] inline auto sum(std::uint64_t first, std::uint64_t last, const Body& body) -> std::uint64_t {
  worker& self = *current;
  std::uint64_t total = 0;
  for (; first < last; ++first) {
    if (!self.has_enough()) [[unlikely]]
      return total + detail::halve(self, first, last, body);
    total += body(first);
  }
  return total;
}

}  // namespace bench::tiny
