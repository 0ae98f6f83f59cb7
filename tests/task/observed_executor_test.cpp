// tests/task/observed_executor_test.cpp: hooks see each job with its times and its end, and the counts add up.
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace braid;
using testing::eventually;
using testing::failure_code;
using testing::manual_executor;
using namespace std::chrono_literals;

namespace {

void named_work() {}

/// A callable of a class, whose member can be spawned as well.
struct tariff {
  auto operator()() const -> int { return 3; }
  [[nodiscard]] auto price(int pieces) const -> int { return 2 * pieces; }
};

/// An executor that the test turns, with a clock that it moves.
struct scene {
  manual_executor where;
  manual_clock clock;
  std::vector<observed_executor::job_report> started;
  std::vector<observed_executor::job_report> ended;
  observed_executor seen{where,
                         {.on_start = [this](const observed_executor::job_report& job) { started.push_back(job); },
                          .on_end = [this](const observed_executor::job_report& job) { ended.push_back(job); }},
                         clock};
};

auto spawn_lambda(observed_executor& where) -> future<int> {
  return spawn(where, [] { return 7; });
}

auto make_message(const std::exception_ptr& error) -> std::string {
  try {
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a job has a number, the name of its function, the time that it waited and the time that it took") {
  scene s;
  CHECK(post(s.seen, &named_work));
  auto slow = spawn(s.seen, [&s] { return s.clock.advance(30ms), 7; });
  CHECK(s.seen.counts().pending == 2);
  s.clock.advance(5ms);
  s.where.run_all();
  CHECK(slow.get() == 7);
  REQUIRE(s.ended.size() == 2);
  REQUIRE(s.started.size() == 2);
  CHECK(s.started[1].id == task_id{2});
  CHECK(s.started[1].queued == 5ms);
  CHECK(s.started[1].ran == 0ms);
  CHECK(s.ended[0].id == task_id{1});
  CHECK(s.ended[0].how == observed_executor::ending::finished);
  CHECK(s.ended[0].function() != "");
  CHECK(s.ended[1].function() != s.ended[0].function());
  CHECK(s.ended[1].ran == 30ms);
  CHECK(s.ended[1].error == nullptr);
  CHECK(observed_executor::job_report().function() == "");
  const observed_executor::totals all = s.seen.counts();
  CHECK(all.posted == 2);
  CHECK(all.finished == 2);
  CHECK(all.pending == 0);
  CHECK(all.running == 0);
  CHECK(all.queued == 10ms);
  CHECK(all.max_queued == 5ms);
  CHECK(all.ran == 30ms);
  CHECK(all.max_ran == 30ms);
  spawn(s.seen, [&s] { s.clock.advance(10ms); }).detach();
  s.where.run_all();
  CHECK(s.seen.counts().ran == 40ms);
  CHECK(s.seen.counts().max_ran == 30ms);
}

TEST_CASE("the report of a job has the name of the function that was posted or spawned") {
  scene s;
  const tariff shop;
  spawn_lambda(s.seen).detach();
  CHECK(post(s.seen, tariff()));
  spawn(s.seen, tariff()).detach();
  spawn(s.seen, &tariff::price, &shop, 4).detach();
  spawn(s.seen, named_work).detach();  // a pointer: its value is not part of a name
  s.where.run_all();
  REQUIRE(s.ended.size() == 5);
  const auto names = [&s](std::size_t job, const char* part) {
    return s.ended[job].function().find(part) != std::string::npos;
  };
  CHECK(names(0, "spawn_lambda("));
  CHECK(names(1, "tariff"));
  CHECK(names(2, "tariff"));
  CHECK(names(3, "tariff::*)(int) const"));
  CHECK(names(4, "(*)()"));
  for (const auto& each : s.ended) {
    CAPTURE(each.function());
    CHECK(each.function().find("braid::detail") == std::string::npos);
    CHECK(each.function().find("spawned<") == std::string::npos);
  }
}

TEST_CASE("what is thrown, a stop and a drop are told apart, and reach their futures as ever") {
  scene s;
  auto failed = spawn(s.seen, []() -> int { throw std::runtime_error("spilled"); });
  stop_flag stop;
  auto left_out = spawn(s.seen, stop, [] { return 1; });
  auto inner = spawn(s.seen, [&s] {  // a job inside of a job: each has its own end
    auto other = spawn(s.seen, []() -> int { throw std::runtime_error("inside"); });
    s.where.run_all();
    return other.is_ready();
  });
  stop.request(errc::deadline_exceeded);
  s.where.run_all();
  CHECK_THROWS_AS(failed.get(), std::runtime_error);
  CHECK(failure_code(left_out) == errc::deadline_exceeded);
  CHECK(inner.get());
  auto dropped = spawn(s.seen, [] {});
  s.where.drop();
  CHECK(failure_code(dropped) == errc::dropped);
  REQUIRE(s.ended.size() == 5);
  CHECK(s.ended[0].how == observed_executor::ending::failed);
  CHECK(make_message(s.ended[0].error) == "spilled");
  CHECK(s.ended[1].how == observed_executor::ending::stopped);
  CHECK(s.ended[2].how == observed_executor::ending::failed);
  CHECK(make_message(s.ended[2].error) == "inside");
  CHECK(s.ended[3].how == observed_executor::ending::finished);
  CHECK(s.ended[4].how == observed_executor::ending::dropped);
  CHECK(s.started.size() == 4);
  const observed_executor::totals all = s.seen.counts();
  CHECK(all.failed == 2);
  CHECK(all.stopped == 1);
  CHECK(all.dropped == 1);
  CHECK(all.finished == 1);
}

TEST_CASE("what a posted job throws, and what a hook throws, is reported by the executor") {
  testing::watchdog dog(60s);
  std::atomic<int> reported = 0;
  pool where({.workers = 1,
              .on_error = [&reported](const std::exception_ptr&, const error_callback::origin&) { ++reported; }});
  std::atomic<int> failed = 0;
  observed_executor seen(where, {.on_end = [&failed](const observed_executor::job_report& job) {
                           failed += job.how == observed_executor::ending::failed ? 1 : 0;
                           throw std::runtime_error("the hook");
                         }});
  CHECK(post(seen, [] { throw std::runtime_error("the job"); }));
  CHECK(eventually([&reported] { return reported == 2; }));
  CHECK(failed == 1);
}

TEST_CASE("hooks come and go while jobs run, and the counts go on") {
  testing::watchdog dog(60s);
  pool where({.workers = 2});
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  std::optional<observed_executor> seen(
      std::in_place, where, observed_executor::hooks{.on_end = [&](const observed_executor::job_report&) { ++first; }});
  spawn(*seen, [] {}).get();
  CHECK(eventually([&first] { return first == 1; }));
  seen->set_hooks({.on_end = [&](const observed_executor::job_report&) { ++second; }});
  for (int i = 0; i < 100; ++i) spawn(*seen, [] {}).detach();
  seen.emplace(where);  // the first waits for its jobs
  CHECK(first == 1);
  CHECK(second == 100);
  seen->set_hooks({});
  spawn(*seen, [] {}).get();
  REQUIRE(where.shutdown(shutdown_mode::drain));
  CHECK(post(*seen, [] {}).error() == errc::closed);
  CHECK(seen->counts().refused == 1);
  CHECK(seen->counts().posted == 1);
}

TEST_CASE("continuations go to the executor itself") {
  scene s;
  auto next = spawn(s.seen, [] { return 1; }).then([](int value) { return value + 1; });
  s.where.run_all();
  CHECK(next.get() == 2);
  CHECK(s.ended.size() == 1);
}
