// tests/runtime/metrics_test.cpp: what the metrics of a runtime say of work that was done.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/net/http_server.hpp>
#include <braid/task/spawn.hpp>

#include <tests/rankd/server/metrics.hpp>
#include <tests/support/eventually.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

using namespace braid;
using testing::eventually;

namespace {

/// The sum of a family, over all labels.
auto sum_of(runtime& of, std::string_view name) -> double {
  double sum = 0;
  for (const metric& each : metrics(of))
    if (each.name == name) sum += each.value;
  return sum;
}

/// How many a histogram has counted, over all labels.
auto count_of(runtime& of, std::string_view name) -> std::uint64_t {
  std::uint64_t count = 0;
  for (const metric& each : metrics(of))
    if (each.name == name) count += each.buckets.back().count;
  return count;
}

/// A thread that has not posted before times its first post.
template <typename Fn>
void on_new_thread(Fn fn) {
  std::thread(fn).join();
}

auto dozes() -> task<void> { co_await sleep_for(1h); }

}  // namespace

TEST_CASE("the jobs of workers and of threads that may block are counted, each once") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto mine = runtime::create({.workers = 2, .shape = shape}).value();
    const double jobs = sum_of(*mine, "braid_worker_jobs");
    for (int i = 0; i < 10; ++i) spawn(mine->workers(), [] {}).get();
    CHECK(sum_of(*mine, "braid_worker_jobs") >= jobs + 10);
    spawn(mine->blocking(), [] {}).get();
    CHECK(sum_of(*mine, "braid_blocking_jobs") == 1);
    CHECK(sum_of(*mine, "braid_blocking_threads_started") == 1);
    CHECK(sum_of(*mine, "braid_pool_workers") == 2);
  }
}

TEST_CASE("jobs that wait are counted in the queue of their priority") {
  for (const auto how : {scheduler::work_stealing, scheduler::shared_queue}) {
    std::latch begun(1);
    std::latch end(1);  // both outlive the runtime, whose job waits for the second
    const auto mine = runtime::create({.workers = 1, .scheduler = how}).value();
    static_cast<void>(post(mine->workers(), [&] {
      begun.count_down();
      end.wait();
    }));
    begun.wait();
    static_cast<void>(post(mine->workers(), priority::low, [] {}));
    static_cast<void>(post(mine->workers(), priority::low, [] {}));
    static_cast<void>(post(mine->workers(), [] {}));
    CHECK(sum_of(*mine, "braid_pool_queue_jobs") == (how == scheduler::shared_queue ? 3 : 2));
    CHECK(sum_of(*mine, "braid_worker_inbox_jobs") == (how == scheduler::shared_queue ? 0 : 1));
    CHECK(sum_of(*mine, "braid_worker_busy") == 1);
    end.count_down();
  }
}

TEST_CASE("a loop counts its tasks and its timers while they are armed") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto mine = runtime::create({.workers = 1, .shape = shape}).value();
    auto sleeps = spawn(*mine, dozes());
    CHECK(eventually([&] { return sum_of(*mine, "braid_loop_timers") == 1; }));
    CHECK(sum_of(*mine, "braid_loop_spawned_tasks") == 1);
    CHECK(sum_of(*mine, "braid_loop_timers_fired") == 0);
    mine->run([]() -> task<void> { co_await sleep_for(1ms); });
    CHECK(sum_of(*mine, "braid_loop_timers_fired") == 1);
    CHECK(sum_of(*mine, "braid_loop_timers") == 1);
    CHECK(sum_of(*mine, "braid_loop_jobs") > 0);
    CHECK(sum_of(*mine, "braid_loop_iterations") > 0);
  }
}

TEST_CASE("the first jobs of a thread are timed, wherever they were posted from and to") {
  for (const auto how : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    const auto mine = runtime::create({.workers = 1, .scheduler = how}).value();
    on_new_thread([&] { CHECK(post(mine->workers(), [] {})); });
    CHECK(mine->workers().wait_idle());
    CHECK(count_of(*mine, "braid_pool_queue_seconds") == 1);
    CHECK(count_of(*mine, "braid_pool_run_seconds") == 1);
    on_new_thread([&] {  // its own post, and one of a worker that has not posted before
      CHECK(post(mine->workers(), priority::high, [&] { CHECK(post(mine->workers(), [] {})); }));
    });
    CHECK(mine->workers().wait_idle());
    CHECK(count_of(*mine, "braid_pool_queue_seconds") == 3);
    CHECK(count_of(*mine, "braid_pool_run_seconds") == 3);
    on_new_thread([&] { spawn(mine->blocking(), [] {}).get(); });
    CHECK(count_of(*mine, "braid_blocking_queue_seconds") == 1);
    CHECK(eventually([&] { return count_of(*mine, "braid_blocking_run_seconds") == 1; }));
  }
}

TEST_CASE("a loop times what is posted to it, and its iterations") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto mine = runtime::create({.workers = 1, .shape = shape}).value();
    on_new_thread([&] { CHECK(post(mine->io(), [] {})); });
    CHECK(eventually([&] { return count_of(*mine, "braid_loop_run_seconds") >= 1; }));
    CHECK(count_of(*mine, "braid_loop_queue_seconds") >= 1);
    for (int i = 0; i < 100; ++i) mine->run([]() -> task<void> { co_return; });
    const std::uint64_t timed = count_of(*mine, "braid_loop_iteration_seconds");
    const double all = sum_of(*mine, "braid_loop_iterations");
    CHECK(timed >= 1);
    CHECK(static_cast<double>(timed) <= all);
    CHECK(eventually([&] {  // that they have ended is seen a moment later
      return static_cast<double>(count_of(*mine, "braid_loop_iteration_seconds") + 64) >= all;
    }));
  }
}

TEST_CASE("a server is in the metrics of its loop as long as it lives") {
  const auto mine = runtime::create({.workers = 1}).value();
  const auto other = runtime::create({.workers = 1, .name = "other"}).value();
  http_router routes;
  std::optional<http_server> server;
  const auto servers = [](runtime& of) {
    int count = 0;
    for (const metric& each : metrics(of)) count += each.name == "braid_http_requests" ? 1 : 0;
    return count;
  };
  mine->run([&]() -> task<void> {
    server.emplace(mine->io(), routes);
    co_return;
  });
  CHECK(servers(*mine) == 1);
  CHECK(servers(*other) == 0);
  mine->run([&]() -> task<void> {
    server.reset();
    co_return;
  });
  CHECK(servers(*mine) == 0);
}

TEST_CASE("the text of all metrics is as strict readers want it, with a family for each name") {
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto mine = runtime::create({.workers = 2, .shape = shape}).value();
    const auto all = metrics(*mine);
    std::set<std::string> families;
    std::size_t samples = 0;
    for (const metric& each : all) {
      samples += each.kind == metric::type::histogram ? each.buckets.size() + 2 : 1;
      families.insert(each.name);
      CHECK(each.name.starts_with("braid_"));
      CHECK(each.help.ends_with("."));
      CHECK_FALSE(each.name.ends_with("_total"));
    }
    CHECK(families.size() >= 30);
    CHECK(rankd::testing::read_metrics(metrics_text(all)).size() == samples);
  }
}
