// bench/futures/chain.cpp: what a link of a long chain of continuations costs, made before, while and after it runs.
#include <bench/harness/rounds.hpp>

#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/promise.hpp>
#include <braid/task/spawn.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using braid::future;

auto next(std::uint64_t n) -> std::uint64_t { return n + 1; }

/// `links` continuations on `first`.
auto chain(future<std::uint64_t> first, unsigned links) -> future<std::uint64_t> {
  for (unsigned i = 0; i < links; ++i) first = std::move(first).then(next);
  return first;
}

/// The loop that the chains stand for.
auto calls(unsigned links) -> bench::contender {
  return {"calls", [=](unsigned) {
            return bench::timed([=] {
              std::uint64_t n = 0;
              for (unsigned i = 0; i < links; ++i) {
                n = next(n);
                asm("" : "+r"(n));  // not to be looked through
              }
              return n;
            });
          }};
}

/// Everything on one thread: each continuation is called by the end of the one before.
auto inline_chain(unsigned links) -> bench::contender {
  return {"inline", [=](unsigned) {
            return bench::timed([=] {
              braid::promise<std::uint64_t> source;
              auto last = chain(source.get_future(), links);
              static_cast<void>(source.set_value(0U));
              return last.get();
            });
          }};
}

/// The chain is complete when its first value comes.
auto made_before(std::string name, braid::scheduler how, unsigned links) -> bench::contender {
  return {std::move(name), [=](unsigned workers) {
            braid::pool where({.workers = workers, .scheduler = how});
            return bench::timed([&] {
              braid::promise<std::uint64_t> source(where);
              auto last = chain(source.get_future(), links);
              static_cast<void>(source.set_value(0U));
              return last.get();
            });
          }};
}

/// The chain is made while it runs.
auto made_meanwhile(std::string name, braid::scheduler how, unsigned links) -> bench::contender {
  return {
      std::move(name), [=](unsigned workers) {
        braid::pool where({.workers = workers, .scheduler = how});
        return bench::timed([&] { return chain(braid::spawn(where, [] { return std::uint64_t{0}; }), links).get(); });
      }};
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 1'000'000}, "how many links");
  const unsigned links = how.size;
  constexpr auto stealing = braid::scheduler::work_stealing;
  constexpr auto queue = braid::scheduler::shared_queue;
  bench::compare_all({"futures/chain", static_cast<double>(links), links}, how,
                     {calls(links), inline_chain(links), made_before("before", stealing, links),
                      made_meanwhile("meanwhile", stealing, links), made_before("queue before", queue, links),
                      made_meanwhile("queue m.", queue, links)});
  return 0;
}
