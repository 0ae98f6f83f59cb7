// bench/wake/latency.cpp: how long a task waits that is posted from outside while all workers sleep.
#include <bench/harness/consumption.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/harness/task_system.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

struct one_round {
  std::vector<double> latencies_us;
  double sleeps_per_post;  // below one where workers did not sleep, and then the times mean nothing
};

/// Between two posts there is about a millisecond, never quite the same.
auto measure(bench::task_system& where, unsigned posts, std::uint32_t seed) -> one_round {
  std::minstd_rand draws(seed);
  std::uniform_int_distribution<int> gap_us(700, 1300);
  one_round measured{};
  const bench::consumption before = bench::consumption_of_other_threads();
  for (unsigned i = 0; i < posts; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(gap_us(draws)));
    bench::moment first;
    const std::int64_t begin = bench::now_ns();
    where.post(first.as_task());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    measured.latencies_us.push_back(static_cast<double>(first.await_ns() - begin) / 1e3);
  }
  const bench::consumption taken = bench::consumption_of_other_threads() - before;
  measured.sleeps_per_post = static_cast<double>(taken.sleeps) / posts;
  return measured;
}

struct row {
  bench::named_system system;
  bench::over_rounds p50{};
  bench::over_rounds p99{};
  bench::over_rounds sleeps{};
  double longest = 0;
};

void add_round(row& to, unsigned workers, const bench::options& how, std::uint32_t seed) {
  const std::unique_ptr<bench::task_system> where = to.system.make(workers);
  static_cast<void>(measure(*where, 10, seed));
  const one_round measured = measure(*where, how.size, seed);
  to.p50.values.push_back(bench::percentile(measured.latencies_us, 0.5));
  to.p99.values.push_back(bench::percentile(measured.latencies_us, 0.99));
  to.sleeps.values.push_back(measured.sleeps_per_post);
  to.longest = std::max(to.longest, bench::percentile(measured.latencies_us, 1));
}

void compare(unsigned workers, const bench::options& how) {
  std::vector<row> rows;
  for (bench::named_system& each : bench::task_systems()) rows.push_back({.system = each});
  rows.push_back({.system = bench::bare_thread()});
  for (unsigned round = 0; round < how.rounds; ++round)
    for (row& each : rows) add_round(each, workers, how, round + 1);
  std::printf("wake/latency, workers: %u, rounds: %u, posts in a round: %u; us from the post to the start\n", workers,
              how.rounds, how.size);
  std::printf("  %-12s %-22s %-22s %10s %18s\n", "contender", "p50 (min..max)", "p99 (min..max)", "longest",
              "sleeps per post");
  for (const row& each : rows)
    std::printf("  %-12s %-22s %-22s %10.1f %18s\n", each.system.name.c_str(), each.p50.text().c_str(),
                each.p99.text().c_str(), each.longest, each.sleeps.text().c_str());
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 1'000, .rounds = 5}, "how many posts in a round");
  for (const unsigned workers : how.workers == 0 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{how.workers})
    compare(workers, how);
}
