// bench/fork_join/coro.cpp: the problems of fork-join by coroutines: those that compute and fork; `when_all`, whose
// tasks share one home and so one worker at a time; and tasks that are spawned at a home of their own each.
#include <bench/fork_join/problems.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/fork_task.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/task/pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using braid::fork_task;
using braid::task;
using number = std::uint64_t;

auto fib_forked(number n) -> fork_task<number> {
  if (n < 2) co_return n;
  const auto [left, right] = co_await braid::fork_join(fib_forked(n - 1), fib_forked(n - 2));
  co_return left + right;
}

auto fib_in_sequence(braid::pool& on, number n) -> task<number> {
  if (n < 2) co_return n;
  const number left = co_await fib_in_sequence(on, n - 1);
  const number right = co_await fib_in_sequence(on, n - 2);
  co_return left + right;
}

auto fib_at_one_home(braid::pool& on, number n) -> task<number> {
  if (n < 2) co_return n;
  auto both = braid::when_all(fib_at_one_home(on, n - 1), fib_at_one_home(on, n - 2));
  const auto [left, right] = co_await std::move(both);
  co_return left + right;
}

auto fib_at_own_homes(braid::pool& on, number n) -> task<number> {
  if (n < 2) co_return n;
  auto forked = braid::spawn(on, fib_at_own_homes(on, n - 1));
  const number right = co_await fib_at_own_homes(on, n - 2);
  const number left = co_await std::move(forked);
  co_return left + right;
}

auto skynet_forked(number first, number size, number& into) -> fork_task<void> {
  if (size == 1) {
    into = first;
    co_return;
  }
  const number step = size / bench::skynet_children;
  std::array<number, bench::skynet_children> sums{};
  auto child = [&](number i) { return skynet_forked(first + i * step, step, sums[i]); };
  co_await braid::fork_each(std::views::iota(number{0}, bench::skynet_children), std::ref(child));
  into = std::accumulate(sums.begin(), sums.end(), number{0});
}

auto skynet_in_sequence(braid::pool& on, number first, number size) -> task<number> {
  if (size == 1) co_return first;
  const number step = size / bench::skynet_children;
  number sum = 0;
  for (number i = 0; i < bench::skynet_children; ++i) sum += co_await skynet_in_sequence(on, first + i * step, step);
  co_return sum;
}

auto skynet_at_one_home(braid::pool& on, number first, number size) -> task<number> {
  if (size == 1) co_return first;
  const number step = size / bench::skynet_children;
  std::vector<task<number>> children;
  children.reserve(bench::skynet_children);
  for (number i = 0; i < bench::skynet_children; ++i)
    children.push_back(skynet_at_one_home(on, first + i * step, step));
  auto all = braid::when_all(std::move(children));
  number sum = 0;
  const std::vector<number> values = co_await std::move(all);
  for (const number each : values) sum += each;
  co_return sum;
}

auto skynet_at_own_homes(braid::pool& on, number first, number size) -> task<number> {
  if (size == 1) co_return first;
  const number step = size / bench::skynet_children;
  std::vector<braid::future<number>> children;
  children.reserve(bench::skynet_children);
  for (number i = 0; i < bench::skynet_children; ++i)
    children.push_back(braid::spawn(on, skynet_at_own_homes(on, first + i * step, step)));
  number sum = 0;
  for (auto& each : children) sum += co_await std::move(each);
  co_return sum;
}

auto nqueens_forked(bench::board queens, unsigned row, unsigned n, number& into) -> fork_task<void> {
  if (row == n) {
    into = 1;
    co_return;
  }
  std::array<number, std::tuple_size_v<decltype(queens.columns)>> ways{};
  std::array<unsigned, ways.size()> places{};
  unsigned count = 0;
  for (unsigned column = 0; column < n; ++column)
    if (queens.allows(row, column)) places[count++] = column;
  auto child = [&](unsigned column) { return nqueens_forked(queens.with(row, column), row + 1, n, ways[column]); };
  co_await braid::fork_each(std::span(places).first(count), std::ref(child));
  into = std::accumulate(ways.begin(), ways.end(), number{0});
}

/// By itself: as a part of the coroutine it was seen to take twice as long, by clang 22.
[[gnu::noinline]] void multiply_one(bench::block a, bench::block b, bench::block c, std::size_t n) {
  bench::multiply_block(a, b, c, n);
}

auto multiply_forked(bench::block a, bench::block b, bench::block c, std::size_t n) -> fork_task<void> {
  if (n <= bench::matmul_block) {
    multiply_one(a, b, c, n);
    co_return;
  }
  const std::size_t half = n / 2;
  for (unsigned inner = 0; inner < 2; ++inner) {
    const auto part = [=](unsigned row, unsigned column) {
      return multiply_forked(a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column),
                             half);
    };
    auto all = braid::fork_join(part(0, 0), part(0, 1), part(1, 0), part(1, 1));
    co_await all;
  }
}

auto uts_forked(number state, number& into) -> fork_task<void> {
  into = 1;
  if (!bench::uts_has_children(state)) co_return;
  std::array<number, bench::uts_children> nodes{};
  auto child = [&](number i) { return uts_forked(bench::uts_child(state, i), nodes[i]); };
  co_await braid::fork_each(std::views::iota(number{0}, bench::uts_children), std::ref(child));
  into = std::accumulate(nodes.begin(), nodes.end(), number{1});
}

/// On one home of a pool. Starting and stopping the pool is not part of the time.
template <typename Make>
auto at_home(const parameters& given, double items, number expected, Make make) -> sample {
  braid::pool pool({.workers = given.workers()});
  braid::serial_executor home(pool);
  return bench::timed(items, expected, [&] { return braid::sync_wait(home, make(pool)); });
}

template <auto Fib>
auto run_fib(const parameters& given) -> sample {
  const number n = given.number("n", 22);
  return at_home(given, bench::fib_calls_of(n), bench::fib_of(n), [n](braid::pool& on) { return Fib(on, n); });
}

/// On all workers of a pool.
template <typename Make>
auto in_pool(const parameters& given, double items, number expected, Make make) -> sample {
  braid::pool pool({.workers = given.workers()});
  return bench::timed(items, expected, [&] { return braid::run_in(pool, make()); });
}

auto run_fib_forked(const parameters& given) -> sample {
  const number n = given.number("n", 22);
  return in_pool(given, bench::fib_calls_of(n), bench::fib_of(n), [n] { return fib_forked(n); });
}

auto whole_skynet(number leaves) -> fork_task<number> {
  number sum = 0;
  co_await skynet_forked(0, leaves, sum);
  co_return sum;
}

auto run_skynet_forked(const parameters& given) -> sample {
  const number leaves = bench::skynet_leaves(given.number("depth", 4));
  return in_pool(given, static_cast<double>(leaves), leaves * (leaves - 1) / 2,
                 [leaves] { return whole_skynet(leaves); });
}

auto whole_nqueens(unsigned n) -> fork_task<number> {
  number ways = 0;
  co_await nqueens_forked({}, 0, n, ways);
  co_return ways;
}

auto run_nqueens_forked(const parameters& given) -> sample {
  const auto n = static_cast<unsigned>(given.number("n", 12));
  return in_pool(given, 1, bench::nqueens_of(n), [n] { return whole_nqueens(n); });
}

auto run_matmul_forked(const parameters& given) -> sample {
  braid::pool pool({.workers = given.workers()});
  return bench::timed_matmul(given.number("n", 1'024), [&](auto a, auto b, auto c, std::size_t n) {
    braid::run_in(pool, multiply_forked(a, b, c, n));
  });
}

/// The root has more children than any other node.
auto whole_uts(number roots) -> fork_task<number> {
  std::vector<number> nodes(roots);
  auto child = [&](number i) { return uts_forked(bench::uts_child(bench::uts_root, i), nodes[i]); };
  co_await braid::fork_each(std::views::iota(number{0}, roots), std::ref(child));
  co_return std::accumulate(nodes.begin(), nodes.end(), number{1});
}

auto run_uts_forked(const parameters& given) -> sample {
  const number roots = given.number("roots", 40'000);
  const number nodes = given.number("nodes", 0);
  return in_pool(given, static_cast<double>(nodes), nodes, [roots] { return whole_uts(roots); });
}

template <auto Skynet>
auto run_skynet(const parameters& given) -> sample {
  const number leaves = bench::skynet_leaves(given.number("depth", 4));
  return at_home(given, static_cast<double>(leaves), leaves * (leaves - 1) / 2,
                 [leaves](braid::pool& on) { return Skynet(on, 0, leaves); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender forks = bench::braid_contender("braid forks");
  const bench::contender in_sequence = bench::reference("braid awaits in turn");
  const bench::contender one_home = bench::braid_contender("braid when_all");
  const bench::contender own_homes = bench::braid_contender("braid own homes");
  return bench::run_program(count, arguments, "fork_join",
                            {{"coro_fib", forks, &run_fib_forked},
                             {"coro_fib", in_sequence, &run_fib<&fib_in_sequence>},
                             {"coro_fib", one_home, &run_fib<&fib_at_one_home>},
                             {"coro_fib", own_homes, &run_fib<&fib_at_own_homes>},
                             {"coro_skynet", forks, &run_skynet_forked},
                             {"nqueens", forks, &run_nqueens_forked},
                             {"matmul", forks, &run_matmul_forked},
                             {"uts", forks, &run_uts_forked},
                             {"coro_skynet", in_sequence, &run_skynet<&skynet_in_sequence>},
                             {"coro_skynet", one_home, &run_skynet<&skynet_at_one_home>},
                             {"coro_skynet", own_homes, &run_skynet<&skynet_at_own_homes>}});
}
