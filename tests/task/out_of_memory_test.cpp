// tests/task/out_of_memory_test.cpp: whichever allocation fails, nothing ends the program, is lost, leaks or hangs.
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/job_slab.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;
using testing::eventually;
using testing::fail_everywhere;
using testing::is_shortage;
using testing::survives;
using testing::watchdog;

namespace {

constexpr std::array with_threads = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

/// A pool of two workers. What its jobs throw can only be that memory was short.
auto two_workers(scheduler chosen) -> pool::options {
  return {.workers = 2,
          .scheduler = chosen,
          .on_error = [](const std::exception_ptr& thrown, const error_callback::origin&) {
            if (!is_shortage(thrown)) std::terminate();
          }};
}

/// Runs the scene with a pool of each scheduler that has threads. The making of the pool fails first.
template <typename Scene>
void fail_everywhere_in_pools(Scene&& scene) {
  const watchdog dog(600s);
  for (const scheduler chosen : with_threads) {
    CAPTURE(static_cast<int>(chosen));
    fail_everywhere([&] {
      pool workers(two_workers(chosen));
      scene(workers);
    });
  }
}

/// As much as no queue keeps inline.
struct large {
  std::array<char, 2000> bytes{};
};

/// Waits, and tells whether there is a value. A failure must be one of memory, or of work that was refused or dropped.
template <typename T>
auto has_value(future<T> from) -> bool {
  try {
    static_cast<void>(from.get());
    return true;
  } catch (const std::system_error& error) {
    if (error.code() == errc::closed || error.code() == errc::dropped) return false;
    throw;
  }
}

}  // namespace

TEST_CASE("a pool is made and shut down, or says that it cannot be") {
  const watchdog dog(600s);
  for (const scheduler chosen : with_threads) {
    for (const shutdown_mode mode : {shutdown_mode::drain, shutdown_mode::stop_now}) {
      CAPTURE(static_cast<int>(chosen));
      const bool knows_places = chosen == scheduler::work_stealing && mode == shutdown_mode::drain;  // reads many files
      const thread_registry registry;
      std::atomic<int> started{0};
      std::atomic<int> stopped{0};
      fail_everywhere([&] {
        started = stopped = 0;
        {
          pool made({.workers = knows_places ? 3U : 2U,
                     .name = "a name that is longer than a thread may have",
                     .scheduler = chosen,
                     .on_worker_start = [&](std::size_t) { ++started; },
                     .on_worker_stop = [&](std::size_t) { ++stopped; },
                     .placement = worker_placement::spread,
                     .registration = worker_registration{.tag = "a tag that is not short", .registry = registry}});
          CHECK(made.shutdown(mode));
        }
        CHECK(started == stopped);
      });
      CHECK(registry.size() == 0);
    }
  }
}

TEST_CASE("an executor without threads is made and runs a job, or says that it cannot") {
  const watchdog dog(600s);
  fail_everywhere([] {
    manual_executor waits;
    CHECK(has_value(spawn(waits, [] { return large(); })));
  });
  fail_everywhere([] {
    inline_executor posts;
    CHECK(has_value(spawn(posts, [] { return large(); })));
  });
}

TEST_CASE("a post of large captures from outside is done or refused") {
  fail_everywhere_in_pools([](pool& where) {
    std::atomic<int> ran{0};
    int accepted = 0;
    for (int i = 0; i < 8; ++i) {
      survives([&] { accepted += post(where, [&ran, big = large()] { ran += 1 + big.bytes[0]; }) ? 1 : 0; });
      survives(
          [&] { accepted += post(where, priority::high, [&ran, big = large()] { ran += 1 + big.bytes[0]; }) ? 1 : 0; });
      survives([&] { accepted += post(static_cast<executor&>(where), [&ran] { ++ran; }) ? 1 : 0; });
    }
    REQUIRE(where.wait_idle());
    CHECK(ran == accepted);
  });
}

TEST_CASE("a spawned job gives a value or the spawn throws, from outside and from workers") {
  fail_everywhere_in_pools([](pool& where) {
    std::atomic<int> calls{0};
    const auto tree = [&](auto& self, int depth) -> int {
      ++calls;
      if (depth == 0) return 1;
      auto left = spawn(where, [&] { return self(self, depth - 1); });
      int right = 0;
      const bool whole = survives(
          [&] { right = spawn(where, [&, big = large()] { return self(self, depth - 1) + big.bytes[0]; }).get(); });
      const int sum = left.get() + right;
      if (!whole) throw std::bad_alloc();
      return sum;
    };
    int sum = 0;
    if (survives([&] { sum = spawn(where, [&] { return tree(tree, 3); }).get(); })) CHECK(sum == 8);
  });
}

TEST_CASE("a chain of continuations ends with its value or with a failure of memory") {
  fail_everywhere_in_pools([](pool& where) {
    promise<int> first;
    std::atomic<int> seen{0};
    survives([&] {
      auto chain = first.get_future().then(where, [](int value) { return value + 1; });
      auto looks = chain.then([&seen](const int& value) { seen += value; });
      auto unwrapped =
          std::move(chain).then([&where](int value) { return spawn(where, [value] { return value + 1; }); });
      auto shared = std::move(unwrapped)
                        .recover([](const std::exception_ptr& thrown) -> int { std::rethrow_exception(thrown); })
                        .then_inline([big = large()](int value) { return value + big.bytes[0]; })
                        .share();
      auto twice = shared.then([](const int& value) { return 2 * value; });
      static_cast<void>(first.set_value(1));
      looks.get();
      const int last = twice.get();
      CHECK(last == 6);
      CHECK(seen == 2);
    });
  });
}

TEST_CASE("a promise that is dropped while memory is short fails its future") {
  const watchdog dog(600s);
  fail_everywhere([] {
    future<int> left;
    survives([&] {
      promise<int> dropped;
      left = dropped.get_future();
    });
    if (left.valid()) CHECK_THROWS_AS(left.get(), std::system_error);
  });
}

TEST_CASE("futures that are waited for together have their values, or none is lost") {
  fail_everywhere_in_pools([](pool& where) {
    std::atomic<int> ran{0};
    int spawned = 0;
    const auto some = [&] {
      std::vector<future<int>> all;
      all.reserve(6);
      for (int i = 0; i < 6; ++i) {
        all.push_back(spawn(where, [&ran] { return ++ran; }));
        ++spawned;
      }
      return all;
    };
    survives([&] {
      const std::vector<int> all = when_all(some()).get();
      CHECK(all.size() == 6);
    });
    survives([&] {
      const int first = when_any(some()).get().value;
      CHECK(first > 0);
    });
    survives([&] {
      auto [number, text] = when_all(spawn(where, [] { return 1; }), spawn(where, [] { return large(); })).get();
      CHECK(number == 1);
    });
    REQUIRE(where.wait_idle());
    CHECK(ran == spawned);
  });
}

TEST_CASE("jobs that wait on a worker end, whether a thread that works at its seat can be made or not") {
  fail_everywhere_in_pools([](pool& where) {
    promise<void> opens;
    std::atomic<int> ended{0};
    int accepted = 0;
    const auto open = opens.get_future().share();
    for (int i = 0; i < 4; ++i)
      survives([&] {
        accepted += post(static_cast<executor&>(where),
                         [&] {
                           open.wait();
                           ++ended;
                         })
                        ? 1
                        : 0;
      });
    if (!survives([&] { spawn(where, [&] { static_cast<void>(opens.set_value()); }).get(); }))
      static_cast<void>(opens.set_value());
    REQUIRE(where.wait_idle());
    CHECK(ended == accepted);
  });
}

TEST_CASE("fork-join and the parallel algorithms give the right result or throw") {
  fail_everywhere_in_pools([](pool& where) {
    survives([&] {
      std::vector<int> numbers(5000);
      std::iota(numbers.rbegin(), numbers.rend(), 0);
      run_in(where, [&] {
        const auto [left, right] =
            fork_join([] { return std::vector<int>(10, 1); }, [] { return std::vector<int>(20, 2); });
        CHECK(left.size() + right.size() == 30);
        const int sum = parallel_reduce(numbers, 0, std::plus<>());
        CHECK(sum == 5000 * 4999 / 2);
        parallel_sort(numbers);
        CHECK(std::ranges::is_sorted(numbers));
        parallel_stable_sort(numbers, std::greater<>());
        CHECK(std::ranges::is_sorted(numbers, std::greater<>()));
        parallel_for(0, 5000, [&](int i) { numbers[static_cast<std::size_t>(i)] = 1; });
        std::vector<int> sums(numbers.size());
        parallel_inclusive_scan(numbers, sums.begin(), std::plus<>());
        CHECK(sums.back() == 5000);
      });
    });
  });
}

TEST_CASE("a group runs each function that it took, whatever else could not be added") {
  fail_everywhere_in_pools([](pool& where) {
    const auto fill = [&where](int& added, std::atomic<int>& ran) {
      task_group group(where);
      for (int i = 0; i < 10; ++i)
        survives([&] {
          group.run([&ran, big = large()] { ran += 1 + big.bytes[0]; });
          ++added;
        });
      if (!group.wait()) CHECK(added < 10);
    };
    std::atomic<int> ran{0};
    int added = 0;
    fill(added, ran);
    CHECK(ran == added);
    survives([&] {
      run_in(where, [&] {
        fill(added, ran);
        CHECK(ran == added);
      });
    });
  });
}

TEST_CASE("a serial executor runs what it took, in its order") {
  fail_everywhere_in_pools([](pool& where) {
    serial_executor turns(where);
    std::vector<int> order;
    order.reserve(20);
    int accepted = 0;
    for (int i = 0; i < 20; ++i)
      survives([&] {
        const auto posted = post(turns, [&order, i, big = large()] { order.push_back(i + big.bytes[0]); });
        accepted += posted ? 1 : 0;
      });
    REQUIRE(where.wait_idle());
    CHECK(order.size() == static_cast<std::size_t>(accepted));
    CHECK(std::ranges::is_sorted(order));
  });
}

TEST_CASE("scheduled work is armed or refused, and its captures end") {
  const watchdog dog(600s);
  const auto counted = std::make_shared<std::atomic<int>>(0);
  fail_everywhere([&] {
    *counted = 0;
    pool workers({.workers = 1});
    timer_thread timers({.label = thread_label{.tag = "a tag that is not short", .name = "a name that is not short"}});
    auto at = post_at(workers, timers, steady_time().now(), [counted, big = large()] { *counted += 1 + big.bytes[0]; });
    auto later = post_after(workers, timers, 10h, [counted] { ++*counted; });
    auto often = post_every(workers, timers, {.interval = 50us}, [counted](const scheduled_task&) { ++*counted; });
    REQUIRE(at);
    REQUIRE(later);
    REQUIRE(often);
    CHECK(eventually([&] { return at->status() == schedule_status::done && often->runs() > 1; }));
    CHECK(later->cancel() == cancellation::done);
    often->cancel();
  });
  CHECK(counted.use_count() == 1);
}

TEST_CASE("a lane of threads that may block runs what it took") {
  const watchdog dog(600s);
  fail_everywhere([] {
    std::atomic<int> ran{0};
    int accepted = 0;
    {
      blocking_pool blocking_threads({.max_threads = 3, .name = "a long name for a lane"});
      for (int i = 0; i < 6; ++i)
        survives(
            [&] { accepted += post(blocking_threads, [&ran, big = large()] { ran += 1 + big.bytes[0]; }) ? 1 : 0; });
      survives([&] { static_cast<void>(has_value(spawn(blocking_threads, [] { return 1; }))); });
    }
    CHECK(ran == accepted);
  });
}

TEST_CASE("a slab is made, or says that it cannot be; large jobs run or are refused") {
  const watchdog dog(600s);
  fail_everywhere([] {
    job_slab slab({.jobs_per_thread = 8, .threads = 2});
    if (!slab.start()) return;
    for (int i = 0; i < 4; ++i)
      survives([&] {
        const auto job = slab.allocate([big = large()]() mutable { big.bytes[0] = 1; });
        if (!job) return;
        REQUIRE(slab.schedule(*job));
        CHECK(slab.wait(*job));
      });
  });
}
