// bench/pools/two_workers.cpp: whether a second worker helps, by the length of the tasks and by who posts them.
#include <bench/harness/disturbance.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/harness/work.hpp>
#include <bench/pools/contenders.hpp>

#include <braid/task/pool.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::many_tasks;
using bench::poster;

/// Each worker counts what it has run, so that a run can check its result.
struct alignas(braid::cache_line) tally {
  std::uint64_t runs = 0;
};

auto on_pool(braid::scheduler chosen, const many_tasks& what, unsigned workers) -> bench::sample {
  braid::pool where({.workers = workers, .scheduler = chosen});
  std::vector<tally> tallies(workers);
  const auto post_all = [&where, &tallies, what] {
    for (unsigned i = 0; i < what.tasks; ++i)
      static_cast<void>(braid::post(where, [&tallies, steps = what.steps] {
        bench::work_for(steps);
        ++tallies[braid::current_worker()->index].runs;
      }));
  };
  return bench::timed([&] {
    if (what.who == poster::outside)
      post_all();
    else
      static_cast<void>(braid::post(where, post_all));
    static_cast<void>(where.wait_idle());
    std::uint64_t total = 0;
    for (const tally& each : tallies) total += each.runs;
    return total;
  });
}

/// What all tasks cost without anybody to post them to.
auto in_a_loop(const many_tasks& what) -> bench::sample {
  return bench::timed([&] {
    std::uint64_t total = 0;
    for (; total < what.tasks; ++total) bench::work_for(what.steps);
    return total;
  });
}

struct contender {
  std::string name;
  std::function<bench::sample(const many_tasks&, unsigned workers)> run;
  bench::over_rounds one{};     // ns a task with one worker
  bench::over_rounds two{};     // with more
  bench::over_rounds ratios{};  // of the same round
};

auto contenders() -> std::vector<contender> {
  const auto pool_with = [](std::string name, braid::scheduler chosen) -> contender {
    return {std::move(name), [=](const many_tasks& what, unsigned workers) { return on_pool(chosen, what, workers); }};
  };
  std::vector<contender> all{
      {"loop", [](const many_tasks& what, unsigned) { return in_a_loop(what); }},
      pool_with("stealing", braid::scheduler::work_stealing),
      pool_with("least_loaded", braid::scheduler::least_loaded),
      pool_with("shared_queue", braid::scheduler::shared_queue),
  };
#if defined(BENCH_TBB)
  all.push_back({"oneTBB", bench::many_tasks_tbb});
#endif
  return all;
}

auto ns_per_task(const contender& who, const many_tasks& what, unsigned workers) -> double {
  const bench::sample measured = who.run(what, workers);
  if (measured.result == what.tasks) return measured.ns / what.tasks;
  std::fprintf(stderr, "%s: wrong result\n", who.name.c_str());
  std::exit(1);
}

void compare(const std::string& name, const many_tasks& what, const bench::options& how) {
  const bench::disturbance others;
  const unsigned more = how.workers == 0 ? 2 : how.workers;
  std::vector<contender> all = contenders();
  for (unsigned round = 0; round < how.rounds; ++round) {
    for (contender& each : all) {
      each.one.values.push_back(ns_per_task(each, what, 1));
      each.two.values.push_back(ns_per_task(each, what, more));
      each.ratios.values.push_back(each.two.values.back() / each.one.values.back());
    }
  }
  std::printf("%s, tasks: %u, rounds: %u; ns a task, median (min..max)\n", name.c_str(), what.tasks, how.rounds);
  std::printf("  %-12s %-26s %u %-24s ratio\n", "contender", "1 worker", more, "workers");
  for (const contender& each : all)
    std::printf("  %-12s %-26s %-26s %s\n", each.name.c_str(), each.one.text().c_str(), each.two.text().c_str(),
                each.ratios.text().c_str());
  std::printf("  %s\n", others.text().c_str());
}

}  // namespace

/// Of long tasks there are fewer, so that a run takes a tenth of a second at most on one worker.
auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 200'000}, "how many tasks");
  const double each_step_ns = bench::step_ns();
  for (const poster who : {poster::outside, poster::worker}) {
    for (const unsigned ns : {0U, 100U, 1'000U, 10'000U, 100'000U}) {
      const many_tasks what{.who = who,
                            .tasks = std::max(1U, std::min(how.size, 100'000'000U / std::max(ns, 1U))),
                            .steps = static_cast<std::uint64_t>(ns / each_step_ns)};
      const std::string name = std::string("pools/two_workers/posted by ") +
                               (who == poster::outside ? "a thread outside" : "a worker") + "/ns:" + std::to_string(ns);
      compare(name, what, how);
    }
  }
}
