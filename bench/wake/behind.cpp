// bench/wake/behind.cpp: how long quick tasks wait that are posted while one worker runs a long task and another has
// nothing to do.
#include <bench/harness/counter.hpp>
#include <bench/harness/disturbance.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/harness/task_system.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using std::chrono::milliseconds;

constexpr int gap_ms = 10;  // between two quick tasks

/// A quick task that was posted at some time.
struct quick {
  std::int64_t posted_ns = 0;
  bench::moment start{};

  void post_to(bench::task_system& where) {
    posted_ns = bench::now_ns();
    where.post(start.as_task());
  }
};

/// Keeps its worker busy for so long, and may post quick tasks meanwhile.
class long_task {
 public:
  long_task(bench::task_system& where, unsigned ms, std::vector<quick>& posts)
      : where_(where), length_ns_(std::int64_t{ms} * 1'000'000), posts_(posts) {}

  [[nodiscard]] auto as_task() -> bench::task {
    return {.run = [](void* self) { static_cast<long_task*>(self)->run(); }, .with = this};
  }

  void await_start() const { static_cast<void>(begin_.await_ns()); }
  void await_end() const { static_cast<void>(end_.await_ns()); }

 private:
  void run() {
    begin_.has_come();
    const std::int64_t begin_ns = begin_.await_ns();
    std::size_t posted = 0;
    for (std::int64_t passed = 0; passed < length_ns_; passed = bench::now_ns() - begin_ns) {
      const auto due = static_cast<std::int64_t>(posted + 1) * gap_ms * 1'000'000;
      if (posted < posts_.size() && passed >= due) posts_[posted++].post_to(where_);
    }
    while (posted < posts_.size()) posts_[posted++].post_to(where_);  // those that were due while it did not run
    end_.has_come();
  }

  bench::task_system& where_;
  const std::int64_t length_ns_;
  std::vector<quick>& posts_;
  bench::moment begin_;
  bench::moment end_;
};

/// The same from the thread that measures.
void post_from_outside(bench::task_system& where, std::vector<quick>& posts) {
  for (quick& each : posts) {
    std::this_thread::sleep_for(milliseconds(gap_ms));
    each.post_to(where);
  }
}

/// So many short tasks that the system takes all tasks for short; then nothing.
void run_short_tasks(bench::task_system& where) {
  constexpr unsigned tasks = 2'000;
  bench::counter counts;
  for (unsigned i = 0; i < tasks; ++i) where.post(counts.as_task());
  counts.await(tasks);
  std::this_thread::sleep_for(milliseconds(5));
}

enum class poster { outside, long_task };

/// How long each quick task waited, in milliseconds, in their order.
auto measure(bench::task_system& where, poster who, unsigned long_ms) -> std::vector<double> {
  std::vector<quick> posts(std::max<std::size_t>(long_ms * 9 / 10 / gap_ms, 1));
  std::vector<quick> none;
  long_task busy(where, long_ms, who == poster::long_task ? posts : none);
  run_short_tasks(where);
  where.post(busy.as_task());
  busy.await_start();
  if (who == poster::outside) post_from_outside(where, posts);
  busy.await_end();
  std::vector<double> waits_ms;
  for (const quick& each : posts) waits_ms.push_back(static_cast<double>(each.start.await_ns() - each.posted_ns) / 1e6);
  return waits_ms;
}

struct row {
  bench::named_system system;
  std::vector<double> first_ms{};  // of the tasks that were posted first behind a long one
  std::vector<double> later_ms{};
};

void add_round(row& to, poster who, unsigned workers, unsigned long_ms) {
  const std::unique_ptr<bench::task_system> where = to.system.make(workers);
  const std::vector<double> waits_ms = measure(*where, who, long_ms);
  to.first_ms.push_back(waits_ms.front());
  to.later_ms.insert(to.later_ms.end(), waits_ms.begin() + 1, waits_ms.end());
}

auto column(const std::vector<double>& ms) -> std::string {
  if (ms.empty()) return "-";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.3f %.3f", bench::percentile(ms, 0.5), bench::percentile(ms, 1));
  return buffer;
}

void compare(poster who, const bench::options& how) {
  const bench::disturbance others;
  const unsigned workers = how.workers == 0 ? 2 : how.workers;
  std::vector<row> rows;
  for (bench::named_system& each : bench::task_systems()) rows.push_back({.system = std::move(each)});
  for (unsigned round = 0; round < how.rounds; ++round)
    for (row& each : rows) add_round(each, who, workers, how.size);
  std::printf("wake/behind, posted %s, workers: %u, long tasks: %u of %u ms; ms from the post to the start\n",
              who == poster::outside ? "from outside" : "by the long task", workers, how.rounds, how.size);
  std::printf("  %-12s %-24s %-24s\n", "contender", "first: median, longest", "later: median, longest");
  for (const row& each : rows)
    std::printf("  %-12s %-24s %-24s\n", each.system.name.c_str(), column(each.first_ms).c_str(),
                column(each.later_ms).c_str());
  std::printf("  %s\n", others.text().c_str());
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how =
      bench::parse(count, arguments, {.size = 500, .rounds = 5}, "how many milliseconds a long task takes");
  compare(poster::outside, how);
  compare(poster::long_task, how);
}
