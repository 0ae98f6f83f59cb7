// bench/idle/cpu.cpp: what of a core is taken by workers that have nothing to do, or an empty task each millisecond.
#include <bench/harness/consumption.hpp>
#include <bench/harness/counter.hpp>
#include <bench/harness/disturbance.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/harness/task_system.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

/// Parts of a core, in percent.
struct shares {
  double workers;
  double poster;
  double sleeps_per_ms;
};

/// Of each side between two moments.
class meter {
 public:
  [[nodiscard]] auto read() const -> shares {
    const double wall_ns = static_cast<double>(bench::now_ns() - begin_ns_);
    const bench::consumption others = bench::consumption_of_other_threads() - others_;
    const bench::consumption own = bench::consumption_of_this_thread() - own_;
    return {.workers = others.cpu_ns / wall_ns * 100,
            .poster = own.cpu_ns / wall_ns * 100,
            .sleeps_per_ms = static_cast<double>(others.sleeps) / (wall_ns / 1e6)};
  }

 private:
  std::int64_t begin_ns_ = bench::now_ns();
  bench::consumption others_ = bench::consumption_of_other_threads();
  bench::consumption own_ = bench::consumption_of_this_thread();
};

auto of_nothing(bench::task_system& /*where*/, unsigned ms) -> shares {
  const meter since;
  std::this_thread::sleep_for(milliseconds(ms));
  return since.read();
}

auto of_a_task_each_ms(bench::task_system& where, unsigned ms) -> shares {
  bench::counter tasks;
  const meter since;
  auto due = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < ms; ++i) {
    due += milliseconds(1);
    std::this_thread::sleep_until(due);
    where.post(tasks.as_task());
  }
  std::this_thread::sleep_for(milliseconds(1));
  const shares taken = since.read();
  tasks.await(ms);
  return taken;
}

/// One worker is held up by a task that sleeps; the others look now and then whether jobs wait behind it.
auto beside_a_held_up_worker(bench::task_system& where, unsigned ms) -> shares {
  struct sleeper {
    unsigned ms;
    bench::moment start{};
    bench::moment end{};
    void run() {
      start.has_come();
      std::this_thread::sleep_for(milliseconds(ms));
      end.has_come();
    }
  } held_up{.ms = ms + 20};
  where.post({.run = [](void* self) { static_cast<sleeper*>(self)->run(); }, .with = &held_up});
  static_cast<void>(held_up.start.await_ns());
  std::this_thread::sleep_for(milliseconds(10));
  const meter since;
  std::this_thread::sleep_for(milliseconds(ms));
  const shares taken = since.read();
  static_cast<void>(held_up.end.await_ns());
  return taken;
}

struct situation {
  const char* name;
  auto (*measure)(bench::task_system&, unsigned) -> shares;
};

struct row {
  bench::named_system system;
  bench::over_rounds workers{};
  bench::over_rounds poster{};
  bench::over_rounds sleeps{};
};

/// Workers that have just done something, and have come to rest.
void add_round(row& to, const situation& what, unsigned workers, unsigned ms) {
  const std::unique_ptr<bench::task_system> where = to.system.make(workers);
  bench::moment first;
  where->post(first.as_task());
  static_cast<void>(first.await_ns());
  std::this_thread::sleep_for(milliseconds(50));
  const shares taken = what.measure(*where, ms);
  to.workers.values.push_back(taken.workers);
  to.poster.values.push_back(taken.poster);
  to.sleeps.values.push_back(taken.sleeps_per_ms);
}

void compare(const situation& what, unsigned workers, const bench::options& how) {
  const bench::disturbance others;
  std::vector<row> rows;
  for (bench::named_system& each : bench::task_systems()) rows.push_back({.system = each});
  rows.push_back({.system = bench::bare_thread()});
  for (unsigned round = 0; round < how.rounds; ++round)
    for (row& each : rows) add_round(each, what, workers, how.size);
  std::printf("idle/cpu/%s, workers: %u, rounds: %u of %u ms; percent of a core\n", what.name, workers, how.rounds,
              how.size);
  std::printf("  %-12s %-24s %-24s %s\n", "contender", "workers (min..max)", "poster (min..max)",
              "sleeps of workers in a ms");
  for (const row& each : rows)
    std::printf("  %-12s %-24s %-24s %s\n", each.system.name.c_str(), each.workers.text().c_str(),
                each.poster.text().c_str(), each.sleeps.text().c_str());
  std::printf("  %s\n", others.text().c_str());
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 500, .rounds = 3}, "how many milliseconds in a round");
  for (const unsigned workers : how.workers == 0 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{how.workers}) {
    compare({.name = "nothing", .measure = of_nothing}, workers, how);
    compare({.name = "a_task_each_ms", .measure = of_a_task_each_ms}, workers, how);
    if (workers > 1) compare({.name = "beside_a_held_up_worker", .measure = beside_a_held_up_worker}, workers, how);
  }
}
