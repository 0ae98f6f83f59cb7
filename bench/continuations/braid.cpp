// bench/continuations/braid.cpp: chains of `then`, made before and while they run, and many futures joined by when_all;
// beside them a task group, for programs that need no futures.
#include <bench/harness/program.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using braid::future;
using braid::scheduler;

auto next(std::uint64_t n) -> std::uint64_t { return n + 1; }

/// `links` continuations on `first`.
// clang-format off: a page shows these lines
// [chain]
auto chain(future<std::uint64_t> first, std::uint64_t links)
    -> future<std::uint64_t> {
  for (std::uint64_t i = 0; i < links; ++i) first = std::move(first).then(next);
  return first;
}
// [/chain]
// clang-format on

/// The chain is complete when its first value comes.
template <scheduler Chosen>
auto then_before(const parameters& given) -> sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  braid::pool where({.workers = given.workers(), .scheduler = Chosen});
  return bench::timed(static_cast<double>(links), links, [&] {
    braid::promise<std::uint64_t> source(where);
    auto last = chain(source.get_future(), links);
    static_cast<void>(source.set_value(0U));
    return last.get();
  });
}

/// The chain is made while it runs.
template <scheduler Chosen>
auto then_meanwhile(const parameters& given) -> sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  braid::pool where({.workers = given.workers(), .scheduler = Chosen});
  return bench::timed(static_cast<double>(links), links,
                      [&] { return chain(braid::spawn(where, [] { return std::uint64_t{0}; }), links).get(); });
}

/// Everything on one thread: each continuation is called by the end of the one before.
auto then_inline(const parameters& given) -> sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  static_cast<void>(given.workers());
  return bench::timed(static_cast<double>(links), links, [&] {
    braid::promise<std::uint64_t> source;
    auto last = chain(source.get_future(), links);
    static_cast<void>(source.set_value(0U));
    return last.get();
  });
}

/// One future after the other: the next is spawned when the result of the one before was fetched inside a task.
template <scheduler Chosen>
auto awaits(const parameters& given) -> sample {
  const std::uint64_t links = given.number("links", 1'000'000);
  braid::pool where({.workers = given.workers(), .scheduler = Chosen});
  return bench::timed(static_cast<double>(links), links, [&] {
    return braid::spawn(where,
                        [&where, links] {
                          std::uint64_t reached = 0;
                          for (std::uint64_t i = 0; i < links; ++i)
                            reached = braid::spawn(where, [reached] { return next(reached); }).get();
                          return reached;
                        })
        .get();
  });
}

/// Many tasks, each with a continuation, and one that waits for all of them.
template <scheduler Chosen>
auto fan(const parameters& given) -> sample {
  const std::uint64_t width = given.number("width", 100'000);
  braid::pool where({.workers = given.workers(), .scheduler = Chosen});
  return bench::timed(static_cast<double>(width), width * (width + 1) / 2, [&] {
    std::vector<future<std::uint64_t>> all;
    all.reserve(width);
    for (std::uint64_t i = 0; i < width; ++i) all.push_back(braid::spawn(where, [i] { return i; }).then(next));
    const auto sum = [](const std::vector<std::uint64_t>& values) {
      return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    };
    return braid::when_all(std::move(all)).then(sum).get();
  });
}

/// The same sum from a task group, inside the pool.
auto fan_of_group(const parameters& given) -> sample {
  const std::uint64_t width = given.number("width", 100'000);
  braid::pool where({.workers = given.workers()});
  return bench::timed(static_cast<double>(width), width * (width + 1) / 2, [&] {
    return braid::run_in(where, [width] {
      std::vector<std::uint64_t> values(width);
      braid::task_group group;
      for (std::uint64_t i = 0; i < width; ++i) group.run([&values, i] { values[i] = next(i); });
      braid::or_throw(group.wait());
      return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  const bench::contender queue = bench::braid_contender("braid shared_queue");
  return bench::run_program(count, arguments, "continuations",
                            {{"then_before", braid, then_before<scheduler::work_stealing>},
                             {"then_before", queue, then_before<scheduler::shared_queue>},
                             {"then_before", bench::braid_contender("braid inline"), then_inline},
                             {"then_meanwhile", braid, then_meanwhile<scheduler::work_stealing>},
                             {"then_meanwhile", queue, then_meanwhile<scheduler::shared_queue>},
                             {"await", braid, awaits<scheduler::work_stealing>},
                             {"await", queue, awaits<scheduler::shared_queue>},
                             {"fan", braid, fan<scheduler::work_stealing>},
                             {"fan", queue, fan<scheduler::shared_queue>},
                             {"fan", bench::braid_contender("braid task_group"), fan_of_group}});
}
