// bench/wake/latency.cpp: how long a task waits that is posted from outside while all workers sleep.
#include <bench/harness/consumption.hpp>
#include <bench/harness/disturbance.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/harness/task_system.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Who takes part, for all rounds: those whose turn it is not sleep.
struct row {
  std::string name;
  std::unique_ptr<bench::task_system> where;
  std::vector<double> all_us{};
  bench::over_rounds medians_us{};
  bench::over_rounds above_bare_us{};  // by how much the median exceeds that of the bare thread
  std::int64_t sleeps = 0;
};

/// Between two posts there is about a millisecond, never quite the same.
auto post_some(row& to, unsigned posts, std::minstd_rand& draws) -> double {
  std::uniform_int_distribution<int> gap_us(700, 1300);
  std::vector<double> waits_us;
  const bench::consumption before = bench::consumption_of_other_threads();
  for (unsigned i = 0; i < posts; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(gap_us(draws)));
    bench::moment start;
    const std::int64_t begin_ns = bench::now_ns();
    to.where->post(start.as_task());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    waits_us.push_back(static_cast<double>(start.await_ns() - begin_ns) / 1e3);
  }
  to.sleeps += (bench::consumption_of_other_threads() - before).sleeps;
  to.all_us.insert(to.all_us.end(), waits_us.begin(), waits_us.end());
  to.medians_us.values.push_back(bench::percentile(waits_us, 0.5));
  return to.medians_us.values.back();
}

void run_round(std::vector<row>& rows, row& bare, unsigned posts, std::minstd_rand& draws) {
  const double least = post_some(bare, posts, draws);
  for (row& each : rows) each.above_bare_us.values.push_back(post_some(each, posts, draws) - least);
}

void print(const row& each) {
  std::printf("  %-12s %-20s %8.1f %10.1f  %-20s %.2f\n", each.name.c_str(), each.medians_us.text().c_str(),
              bench::percentile(each.all_us, 0.99), bench::percentile(each.all_us, 1),
              each.above_bare_us.values.empty() ? "-" : each.above_bare_us.text().c_str(),
              static_cast<double>(each.sleeps) / static_cast<double>(each.all_us.size()));
}

void compare(unsigned workers, const bench::options& how) {
  const bench::disturbance others;
  std::vector<row> rows;
  for (const bench::named_system& each : bench::task_systems())
    rows.push_back({.name = each.name, .where = each.make(workers)});
  row bare{.name = bench::bare_thread().name, .where = bench::bare_thread().make(1)};
  std::minstd_rand draws(1);
  for (unsigned round = 0; round < how.rounds; ++round) run_round(rows, bare, how.size, draws);
  std::printf("wake/latency, workers: %u, rounds: %u, posts in a round: %u; us from the post to the start\n", workers,
              how.rounds, how.size);
  std::printf("  %-12s %-20s %8s %10s  %-20s %s\n", "contender", "p50 (min..max)", "p99", "longest", "p50 above bare",
              "sleeps per post");
  print(bare);
  for (const row& each : rows) print(each);
  std::printf("  %s\n", others.text().c_str());
}

}  // namespace

/// Where a post has less than one sleep, workers were awake, and its times mean little.
auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 100, .rounds = 20}, "how many posts in a round");
  for (const unsigned workers : how.workers == 0 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{how.workers})
    compare(workers, how);
}
