// bench/enqueue/inbox.cpp: what an empty task costs from one, two and four producers to one consumer, by three ways.
#include <bench/harness/program.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/inbox.hpp>
#include <braid/sync/detail/remote_stack.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;

/// Each task adds to it, so that a run can check its result. A line of its own: beside it there may lie what producers
/// read, such as the addresses of functions in a shared library.
struct alignas(braid::cache_line) {
  std::size_t count = 0;
} runs;

void task() { ++runs.count; }

struct by_inbox {
  void post() { all.post(&task); }
  auto run_some() -> bool { return all.run_one(); }

  braid::detail::asymmetric_barrier barrier;
  braid::detail::inbox<> all{barrier};
};

struct by_remote_stack {
  void post() { static_cast<void>(all.try_push(braid::detail::make_job(&task))); }

  auto run_some() -> bool {
    braid::job* first = all.take();
    if (first == nullptr) return false;
    while (first != nullptr) std::exchange(first, first->next)->run();
    return true;
  }

  braid::detail::remote_stack<braid::job> all;
};

struct by_mutex {
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

/// What a consumer does that finds nothing: polls again after about a microsecond. One that polls at once takes the
/// cache line away that the producer is writing, and pays for it with every task.
void rest() {
  for (int i = 0; i < 64; ++i) __builtin_ia32_pause();
}

/// From the first post to the end of the last task. The way is made anew.
template <typename Way>
auto with_producers(std::size_t producers, std::size_t each) -> sample {
  Way way;
  runs.count = 0;
  std::vector<std::thread> threads;
  const sample measured = bench::timed(static_cast<double>(each * producers), each * producers, [&] {
    for (std::size_t i = 0; i < producers; ++i)
      threads.emplace_back([&way, each] {  // a copy: the original lies beside what the consumer's calls write
        for (std::size_t n = 0; n < each; ++n) way.post();
      });
    while (runs.count < each * producers)
      if (!way.run_some()) rest();
    return runs.count;
  });
  for (std::thread& thread : threads) thread.join();
  return measured;
}

/// The same on one thread, by turns of a hundred: what both sides cost together, without any line that moves.
template <typename Way>
auto alone(std::size_t tasks) -> sample {
  Way way;
  runs.count = 0;
  const std::size_t whole = tasks / 100 * 100;
  return bench::timed(static_cast<double>(whole), whole, [&] {
    while (runs.count < whole) {
      for (int i = 0; i < 100; ++i) way.post();
      while (way.run_some()) {}
    }
    return runs.count;
  });
}

template <typename Way>
auto measure(const parameters& given) -> sample {
  const std::size_t tasks = given.number("tasks", 1'000'000);
  const std::size_t producers = given.number("producers", 1);
  return producers == 0 ? alone<Way>(tasks) : with_producers<Way>(producers, tasks / producers);
}

}  // namespace

auto main(int count, char** arguments) -> int {
  return bench::run_program(count, arguments, "enqueue",
                            {{"inbox", bench::braid_contender(), measure<by_inbox>},
                             {"inbox", bench::braid_contender("braid remote_stack"), measure<by_remote_stack>},
                             {"inbox", bench::reference("mutex and deque"), measure<by_mutex>}});
}
