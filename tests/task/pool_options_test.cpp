// tests/task/pool_options_test.cpp: the number of workers, by the options and by default, and the counts of a pool.
#include <braid/task/pool.hpp>

#include <braid/thread/cgroup.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <thread>

using braid::post;
using braid::scheduler;
using braid::testing::eventually;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE_FIXTURE(watched, "the number of workers is that of the options") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue})
    CHECK(braid::pool({.workers = 3, .scheduler = chosen}).size() == 3);
}

TEST_CASE_FIXTURE(watched, "the number of workers by default follows BRAID_WORKERS and the affinity of the process") {
  const auto is_default = [] { return braid::pool().size() == braid::default_worker_count().workers; };
  CHECK(is_default());
  {
    const braid::testing::environment three("BRAID_WORKERS", "3");
    CHECK(braid::pool().size() == 3);
  }
  {
    const braid::testing::environment ignored("BRAID_WORKERS", "none");
    CHECK(is_default());
  }
  const braid::testing::environment unset("BRAID_WORKERS", nullptr);
  const braid::cpu_set before = braid::this_thread::affinity().value();
  CHECK(is_default());
  CHECK(braid::this_thread::set_affinity({*before.first()}));
  CHECK(braid::pool().size() == 1);
  CHECK(braid::this_thread::set_affinity(before));
  CHECK(is_default());
}

TEST_CASE_FIXTURE(watched, "a pool counts what its workers do") {
  braid::pool where({.workers = 2});
  for (int i = 0; i < 100; ++i) REQUIRE(post(where, [] {}));
  CHECK(where.wait_idle());
  CHECK(where.statistics().jobs == 100);
  CHECK(eventually([&] { return where.statistics().sleeps >= 2; }));
}
