// bench/enqueue/inbox.cpp: what an empty task costs from one, two and four producers to one consumer, by three ways.
#include <braid/base/config.hpp>
#include <braid/sync/asymmetric_barrier.hpp>
#include <braid/sync/inbox.hpp>
#include <braid/sync/remote_stack.hpp>
#include <braid/task/job.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;

/// Each task adds to it, so that a run can check its result. A line of its own: beside it there may lie what producers
/// read, such as the addresses of functions in a shared library.
struct alignas(braid::cache_line) {
  std::size_t count = 0;
} runs;

void task() { ++runs.count; }

struct by_inbox {
  static constexpr const char* name = "inbox";

  void post() { all.post(&task); }
  auto run_some() -> bool { return all.run_one(); }

  braid::asymmetric_barrier barrier;
  braid::inbox<> all{barrier};
};

struct by_remote_stack {
  static constexpr const char* name = "remote_stack of jobs";

  void post() { static_cast<void>(all.try_push(braid::make_job(&task))); }

  auto run_some() -> bool {
    braid::job* first = all.take();
    if (first == nullptr) return false;
    while (first != nullptr) std::exchange(first, first->next)->run();
    return true;
  }

  braid::remote_stack<braid::job> all;
};

struct by_mutex {
  static constexpr const char* name = "mutex and deque";

  void post() {
    const std::lock_guard lock(mutex);
    all.emplace_back(&task);
  }

  auto run_some() -> bool {
    std::function<void()> first;
    {
      const std::lock_guard lock(mutex);
      if (all.empty()) return false;
      first = std::move(all.front());
      all.pop_front();
    }
    first();
    return true;
  }

  std::mutex mutex;
  std::deque<std::function<void()>> all;
};

/// What a consumer does that finds nothing: looks again after about a microsecond. One that looks at once takes the
/// cache line away that the producer is writing, and pays for it with every task.
void rest() {
  for (int i = 0; i < 64; ++i) __builtin_ia32_pause();
}

/// Nanoseconds a task, from the first post to the end of the last task. The way is made anew.
template <typename Way>
auto measure(std::size_t producers, std::size_t count) -> double {
  Way way;
  runs.count = 0;
  const std::size_t each = count / producers;
  const auto begin = clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < producers; ++i)
    threads.emplace_back([&way, each] {  // a copy: the original lies beside what the consumer's calls write
      for (std::size_t n = 0; n < each; ++n) way.post();
    });
  while (runs.count < each * producers)
    if (!way.run_some()) rest();
  const std::chrono::duration<double, std::nano> taken = clock::now() - begin;
  for (std::thread& thread : threads) thread.join();
  return taken.count() / static_cast<double>(each * producers);
}

/// The same on one thread, by turns of a hundred: what both sides cost together, without any line that moves.
template <typename Way>
auto measure_alone(std::size_t count) -> double {
  Way way;
  runs.count = 0;
  const auto begin = clock::now();
  while (runs.count < count) {
    for (int i = 0; i < 100; ++i) way.post();
    while (way.run_some()) {}
  }
  const std::chrono::duration<double, std::nano> taken = clock::now() - begin;
  return taken.count() / static_cast<double>(runs.count);
}

struct result {
  const char* name;
  std::vector<double> ns;
};

void print(std::vector<result>& results) {
  for (result& one : results) {
    std::sort(one.ns.begin(), one.ns.end());
    std::printf("  %-22s median %7.1f  minimum %7.1f\n", one.name, one.ns[one.ns.size() / 2], one.ns.front());
  }
}

}  // namespace

/// Arguments: tasks in a run, rounds. The ways alternate from round to round.
auto main(int argc, char** argv) -> int {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const std::size_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 9;
  for (const std::size_t producers : {0U, 1U, 2U, 4U}) {
    std::vector<result> results{{by_inbox::name, {}}, {by_remote_stack::name, {}}, {by_mutex::name, {}}};
    for (std::size_t round = 0; round < rounds; ++round) {
      results[0].ns.push_back(producers == 0 ? measure_alone<by_inbox>(count) : measure<by_inbox>(producers, count));
      results[1].ns.push_back(producers == 0 ? measure_alone<by_remote_stack>(count)
                                             : measure<by_remote_stack>(producers, count));
      results[2].ns.push_back(producers == 0 ? measure_alone<by_mutex>(count) : measure<by_mutex>(producers, count));
    }
    std::printf("enqueue/inbox/producers:%zu, ns per task%s\n", producers,
                producers == 0 ? " (one thread does both)" : "");
    print(results);
  }
}
