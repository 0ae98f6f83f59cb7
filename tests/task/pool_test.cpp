// tests/task/pool_test.cpp: every accepted job runs once or is dropped, every call returns, and workers survive all.
#include <braid/task/pool.hpp>

#include <braid/thread/cgroup.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/chosen_pool.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/privileges.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::cpu_set;
using braid::errc;
using braid::post;
using braid::relaxed;
using braid::scheduling;
using braid::shutdown_mode;
using braid::testing::eventually;
using braid::testing::settings_can_change;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{60s};
};

/// Captured by jobs, to see when their captures are gone.
class token {
 public:
  [[nodiscard]] auto held() const -> std::shared_ptr<int> { return shared_; }
  [[nodiscard]] auto all_gone() const -> bool { return shared_.use_count() == 1; }

 private:
  std::shared_ptr<int> shared_ = std::make_shared<int>(0);
};

/// Keeps one worker busy until it is opened.
class gate {
 public:
  explicit gate(pool& where) {
    REQUIRE(post(where, [shared = shared_] {
      shared->entered.count_down();
      shared->opened.wait();
      shared->passed.store(true, relaxed);
    }));
    shared_->entered.wait();
  }
  void open() { shared_->opened.count_down(); }
  [[nodiscard]] auto passed() const -> bool { return shared_->passed.load(relaxed); }

 private:
  struct state {
    std::latch entered{1};
    std::latch opened{1};
    braid::atomic<bool> passed{false};
  };
  std::shared_ptr<state> shared_ = std::make_shared<state>();  // the job may outlive the gate
};

/// A policy that needs no privilege, and lets workers end on a busy machine.
auto patient() -> scheduling { return scheduling::batch{*braid::this_thread::nice()}; }

/// Posts jobs that count themselves until the pool refuses; gives how many it took.
auto post_until_refused(pool& where, braid::atomic<int>& ran) -> int {
  int accepted = 0;
  const bool refused = eventually([&] {
    const bool taken = post(where, [&ran] { ran.fetch_add(1, relaxed); }).has_value();
    accepted += taken ? 1 : 0;
    return !taken;
  });
  CHECK(refused);
  return accepted;
}

}  // namespace

TEST_CASE_FIXTURE(watched, "every posted job runs once") {
  for (const unsigned workers : {1U, 2U, 5U}) {
    pool where({.workers = workers});
    CHECK(where.size() == (braid::testing::chosen_has_threads() ? workers : 1));
    std::array<braid::atomic<int>, 500> runs{};
    for (auto& count : runs) REQUIRE(post(where, [&count] { count.fetch_add(1, relaxed); }));
    CHECK(where.wait_idle());
    CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& count) { return count.load(relaxed) == 1; }));
  }
}

TEST_CASE_FIXTURE(watched, "all workers take part" * braid::testing::needs_threads()) {
  constexpr unsigned workers = 4;
  pool where({.workers = workers});
  std::latch all_here(workers);
  std::mutex mutex;
  std::set<std::size_t> indices;
  std::set<std::thread::id> threads;
  for (unsigned i = 0; i < workers; ++i)
    REQUIRE(post(where, [&] {
      {
        const std::lock_guard lock(mutex);
        indices.insert(braid::detail::current_worker()->index);
        threads.insert(std::this_thread::get_id());
      }
      all_here.arrive_and_wait();  // returns only when as many jobs run at once as there are workers
    }));
  CHECK(where.wait_idle());
  CHECK(indices == std::set<std::size_t>{0, 1, 2, 3});
  CHECK(threads.size() == workers);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE_FIXTURE(watched, "one worker runs jobs in the order in which they were posted") {
  pool where({.workers = 1});
  std::vector<int> order;
  for (int i = 0; i < 300; ++i) REQUIRE(post(where, [&order, i] { order.push_back(i); }));
  CHECK(where.wait_idle());
  CHECK(order.size() == 300);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE_FIXTURE(watched, "jobs post jobs, also on a pool with one worker, and wait_idle waits for them too") {
  struct tree {
    void grow(int depth) {
      nodes.fetch_add(1, relaxed);
      if (depth == 0) return;
      for (int i = 0; i < 2; ++i)
        if (!post(where, [this, depth] { grow(depth - 1); })) refused.store(true, relaxed);
    }
    pool where;
    braid::atomic<int> nodes{0};
    braid::atomic<bool> refused{false};
  };
  for (const unsigned workers : {1U, 3U}) {
    tree all{.where = pool({.workers = workers})};
    REQUIRE(post(all.where, [&all] { all.grow(9); }));
    CHECK(all.where.wait_idle());
    CHECK(all.nodes.load(relaxed) == 1023);
    CHECK_FALSE(all.refused.load(relaxed));
  }
}

TEST_CASE_FIXTURE(watched, "a worker that sleeps is woken by a post, again and again") {
  pool where({.workers = 2});
  braid::atomic<int> ran{0};
  for (int i = 1; i <= 300; ++i) {
    REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
    REQUIRE(where.wait_idle());
    REQUIRE(ran.load(relaxed) == i);
  }
}

TEST_CASE_FIXTURE(watched, "an idle worker takes what waits behind a busy one" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  gate busy(where);
  braid::atomic<int> ran{0};
  for (int i = 0; i < 10; ++i) REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
  CHECK(eventually([&] { return ran.load(relaxed) == 10; }));
  CHECK_FALSE(busy.passed());
  busy.open();
}

TEST_CASE_FIXTURE(watched, "a sleeping worker is woken for what a job posts, although that job goes on" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  REQUIRE(where.wait_idle());
  braid::atomic<bool> ran{false};
  bool accepted = false;
  bool seen = false;
  REQUIRE(post(where, [&] {
    accepted = post(where, [&ran] { ran.store(true, relaxed); }).has_value();
    seen = eventually([&ran] { return ran.load(relaxed); });
  }));
  REQUIRE(where.wait_idle());
  CHECK(accepted);
  CHECK(seen);
}

TEST_CASE_FIXTURE(watched, "captures are destroyed before wait_idle returns") {
  pool where({.workers = 3});
  for (int round = 0; round < 100; ++round) {
    const token captured;
    for (int i = 0; i < 5; ++i) REQUIRE(post(where, [held = captured.held()] {}));
    REQUIRE(where.wait_idle());
    REQUIRE(captured.all_gone());
  }
}

TEST_CASE_FIXTURE(watched, "wait_idle returns at once where nothing was ever posted, and in several threads at once" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  CHECK(where.wait_idle());
  gate busy(where);
  const auto wait = [&where] { static_cast<void>(where.wait_idle()); };
  sleeper first(wait);
  sleeper second(wait);
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  busy.open();
  CHECK(eventually([&] { return first.returned() && second.returned(); }));
}

TEST_CASE_FIXTURE(watched, "a worker knows that it is one, and of which pool" * braid::testing::needs_threads()) {
  pool mine({.workers = 1});
  pool other({.workers = 1});
  CHECK_FALSE(mine.is_current());
  bool in_mine = false;
  bool in_other = true;
  REQUIRE(post(mine, [&] {
    in_mine = mine.is_current() && braid::detail::current_worker()->pool == &mine.as_pool();
    in_other = other.is_current();
  }));
  CHECK(mine.wait_idle());
  CHECK(in_mine);
  CHECK_FALSE(in_other);
}

TEST_CASE_FIXTURE(watched, "threads are named after the pool, with the whole index" * braid::testing::needs_threads()) {
  constexpr unsigned workers = 11;
  pool where({.workers = workers, .name = "ranking-of-rows"});
  std::latch all_here(workers);
  std::mutex mutex;
  std::set<std::string> names;
  for (unsigned i = 0; i < workers; ++i)
    REQUIRE(post(where, [&] {
      {
        const std::lock_guard lock(mutex);
        names.insert(braid::this_thread::name());
      }
      all_here.arrive_and_wait();
    }));
  CHECK(where.wait_idle());
  CHECK(names.size() == workers);
  CHECK(names.contains("ranking-of-ro-0"));
  CHECK(names.contains("ranking-of-r-10"));
}

TEST_CASE_FIXTURE(watched, "workers can be found by their names as soon as the pool is there" *
                               braid::testing::needs_threads()) {
  if (!settings_can_change()) return;
  const pool where({.workers = 3, .name = "findable"});
  for (const char* name : {"findable-0", "findable-1", "findable-2"}) {
    const auto worker = braid::thread_info::find(name);
    REQUIRE(worker);
    CHECK(worker->set_scheduling(patient()));
    CHECK(worker->scheduling() == patient());
  }
  CHECK(where.settings_reports().size() == 3);
  for (const auto& report : where.settings_reports()) CHECK(report.to_string() == "name applied");
}

TEST_CASE_FIXTURE(watched, "workers have their settings before their first job" * braid::testing::needs_threads()) {
  if (!settings_can_change()) return;
  const cpu_set one{*braid::this_thread::affinity()->first()};
  const scheduling wanted = patient();
  pool where({.workers = 3, .profile = braid::thread_profile{.scheduling = wanted}, .affinity = one});
  std::latch all_here(3);
  braid::atomic<int> right{0};
  for (int i = 0; i < 3; ++i)
    REQUIRE(post(where, [&] {
      if (braid::this_thread::affinity() == one && braid::this_thread::scheduling() == wanted)
        right.fetch_add(1, relaxed);
      all_here.arrive_and_wait();
    }));
  CHECK(where.wait_idle());
  CHECK(right.load(relaxed) == 3);
  for (const auto& report : where.settings_reports())
    CHECK(report.to_string() == "name applied, affinity applied, scheduling applied");
}

TEST_CASE_FIXTURE(watched,
                  "the settings of a pool come before those of its profile" * braid::testing::needs_threads()) {
  if (!settings_can_change()) return;
  const braid::thread_profile profile{.name = "ignored", .affinity = cpu_set(), .scheduling = scheduling::idle{}};
  const cpu_set allowed = *braid::this_thread::affinity();
  const pool where({.workers = 1, .name = "first", .profile = profile, .scheduling = patient(), .affinity = allowed});
  const auto worker = braid::thread_info::find("first-0");
  REQUIRE(worker);
  CHECK(worker->affinity() == allowed);
  CHECK(worker->scheduling() == patient());
}

TEST_CASE_FIXTURE(watched, "workers that are spread have one CPU each, in turn" * braid::testing::needs_threads()) {
  if (!settings_can_change()) return;
  const cpu_set allowed = *braid::this_thread::affinity();
  const std::vector<unsigned> cpus(allowed.begin(), allowed.end());
  const auto total = static_cast<unsigned>(cpus.size()) + 1;
  for (const auto& affinity : {std::optional<cpu_set>(), std::optional<cpu_set>(allowed)}) {
    const std::string name = affinity ? "chosen" : "allowed";
    const pool where(
        {.workers = total, .name = name, .affinity = affinity, .placement = braid::worker_placement::spread});
    for (unsigned index = 0; index < total; ++index) {
      const auto worker = braid::thread_info::find(name + "-" + std::to_string(index));
      REQUIRE(worker);
      CHECK(worker->affinity() == cpu_set{cpus[index % cpus.size()]});
    }
  }
}

TEST_CASE_FIXTURE(watched, "a pool works without the settings that were refused, and says which") {
  if (!settings_can_change()) return;
  for (const auto placement : {braid::worker_placement::anywhere, braid::worker_placement::spread}) {
    pool where({.workers = 2, .scheduling = patient(), .affinity = cpu_set(), .placement = placement});
    for (const auto& report : where.settings_reports()) {
      CHECK(report.first_refusal().error() == std::errc::invalid_argument);
      CHECK(report.to_string() == "name applied, affinity refused: Invalid argument, scheduling applied");
    }
    bool ran = false;
    REQUIRE(post(where, [&ran] { ran = true; }));
    CHECK(where.wait_idle());
    CHECK(ran);
  }
}

TEST_CASE_FIXTURE(watched,
                  "a pool that must have its settings does not start without them" * braid::testing::needs_threads()) {
  if (!settings_can_change()) return;
  try {
    const pool where({.workers = 3, .name = "never", .affinity = cpu_set(), .on_refused = braid::refusal::fail});
    FAIL("it started");
  } catch (const std::system_error& refused) {
    CHECK(refused.code() == std::errc::invalid_argument);
    CHECK(std::string(refused.what()).find("affinity refused") != std::string::npos);
  }
  CHECK(eventually([] { return !braid::thread_info::find("never-0"); }));
}

TEST_CASE("nobody says how many workers: as many as the default" * braid::testing::needs_threads()) {
  const pool where;
  CHECK(where.size() == braid::default_worker_count().workers);
}

TEST_CASE_FIXTURE(watched, "what a job throws goes to the callback, its captures die, and the worker lives on" *
                               braid::testing::needs_queues()) {
  std::vector<std::string> messages;
  const token captured;
  bool on_worker = false;
  pool where({.workers = 1, .on_error = [&](std::exception_ptr error) {
                on_worker = braid::detail::current_worker() != nullptr;
                try {
                  std::rethrow_exception(std::move(error));
                } catch (const std::exception& known) {
                  messages.emplace_back(known.what());
                }
              }});
  int ran = 0;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(post(where, [held = captured.held(), i] { throw std::runtime_error("job " + std::to_string(i)); }));
    REQUIRE(post(where, [&ran] { ++ran; }));
  }
  CHECK(where.wait_idle());
  CHECK(messages == std::vector<std::string>{"job 0", "job 1", "job 2"});
  CHECK(ran == 3);
  CHECK(on_worker == braid::testing::chosen_has_threads());
  CHECK(captured.all_gone());
}

TEST_CASE("without a callback, or with one that throws, the message goes to stderr and the worker lives on") {
  const auto plain = braid::testing::run_in_child([] {
    pool where({.workers = 1});
    static_cast<void>(post(where, [] { throw std::runtime_error("the milk is sour"); }));
    static_cast<void>(post(where, [] { throw 42; }));
    static_cast<void>(post(where, [] { std::fputs("alive\n", stderr); }));
  });
  CHECK(plain.signal == 0);
  CHECK(plain.errors ==
        "braid: a posted job threw: the milk is sour\n"
        "braid: a posted job threw something that is not a std::exception\n"
        "alive\n");
  const auto callback = braid::testing::run_in_child([] {
    pool where({.workers = 1, .on_error = [](const std::exception_ptr&) { throw std::logic_error("worse"); }});
    static_cast<void>(post(where, [] { throw std::runtime_error("bad"); }));
    static_cast<void>(post(where, [] { std::fputs("alive\n", stderr); }));
  });
  CHECK(callback.signal == 0);
  CHECK(callback.errors ==
        "braid: a posted job threw: bad\n"
        "braid: the error callback of a pool threw: worse\n"
        "alive\n");
}

TEST_CASE_FIXTURE(watched, "after a shutdown posts are refused and their captures destroyed") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending}) {
    pool where({.workers = 2});
    CHECK(where.shutdown(mode));
    const token captured;
    const auto refused = post(where, [held = captured.held()] {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == errc::closed);
    CHECK(captured.all_gone());
  }
}

TEST_CASE_FIXTURE(watched, "a draining shutdown runs everything that was accepted, and nothing that was not" *
                               braid::testing::needs_threads()) {
  for (const unsigned workers : {1U, 3U}) {
    pool where({.workers = workers});
    gate busy(where);
    braid::atomic<int> ran{0};
    sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drain)); });
    const int accepted = post_until_refused(where, ran);
    CHECK_FALSE(stopper.returned());
    busy.open();
    CHECK(eventually([&] { return stopper.returned(); }));
    CHECK(ran.load(relaxed) == accepted);
    CHECK(busy.passed());
  }
}

TEST_CASE_FIXTURE(watched, "a dropping shutdown destroys what has not started at once, and waits for what runs" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 1});
  gate busy(where);
  const token captured;
  braid::atomic<int> ran{0};
  for (int i = 0; i < 10; ++i) REQUIRE(post(where, [&ran, held = captured.held()] { ran.fetch_add(1, relaxed); }));
  sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drop_pending)); });
  CHECK(eventually([&] { return captured.all_gone(); }));
  CHECK_FALSE(stopper.returned());
  busy.open();
  CHECK(eventually([&] { return stopper.returned(); }));
  CHECK(busy.passed());
  CHECK(ran.load(relaxed) == 0);
}

TEST_CASE_FIXTURE(watched, "the destructor drains") {
  braid::atomic<int> ran{0};
  {
    pool where({.workers = 2});
    for (int i = 0; i < 200; ++i) REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
  }
  CHECK(ran.load(relaxed) == 200);
}

TEST_CASE_FIXTURE(watched,
                  "a job that posts during a drain is refused and ends normally" * braid::testing::needs_threads()) {
  pool where({.workers = 1});
  gate busy(where);
  std::error_code refusal;
  const token captured;
  REQUIRE(post(where, [&] {
    if (const auto again = post(where, [held = captured.held()] {}); !again) refusal = again.error();
  }));
  sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drain)); });
  braid::atomic<int> ran{0};
  static_cast<void>(post_until_refused(where, ran));
  busy.open();
  CHECK(eventually([&] { return stopper.returned(); }));
  CHECK(refusal == errc::closed);
  CHECK(captured.all_gone());
}

TEST_CASE_FIXTURE(watched, "a second shutdown, in either mode, changes nothing") {
  pool where({.workers = 2});
  CHECK(where.shutdown(shutdown_mode::drain));
  CHECK(where.shutdown(shutdown_mode::drop_pending));
  CHECK(where.shutdown(shutdown_mode::drain));
}

TEST_CASE_FIXTURE(watched,
                  "concurrent shutdowns all return after the workers have stopped" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  gate busy(where);
  braid::atomic<int> too_early{0};
  const auto stop = [&](shutdown_mode mode) {
    return [&, mode] {
      static_cast<void>(where.shutdown(mode));
      if (!busy.passed()) too_early.fetch_add(1, relaxed);
    };
  };
  sleeper first(stop(shutdown_mode::drain));
  sleeper second(stop(shutdown_mode::drop_pending));
  sleeper third(stop(shutdown_mode::drain));
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  CHECK(third.falls_asleep());
  busy.open();
  CHECK(eventually([&] { return first.returned() && second.returned() && third.returned(); }));
  CHECK(too_early.load(relaxed) == 0);
}

TEST_CASE_FIXTURE(watched, "a worker that would wait for itself is told so, and the pool stays usable") {
  pool where({.workers = 1});
  std::vector<std::error_code> answers;
  REQUIRE(post(where, [&] {
    for (const auto& answer :
         {where.wait_idle(), where.shutdown(shutdown_mode::drain), where.shutdown(shutdown_mode::drop_pending)})
      answers.push_back(answer ? std::error_code{} : answer.error());
  }));
  CHECK(where.wait_idle());
  REQUIRE(answers.size() == 3);
  for (const auto& answer : answers) CHECK(answer == errc::would_deadlock);
  bool ran = false;
  CHECK(post(where, [&ran] { ran = true; }));
  CHECK(where.wait_idle());
  CHECK(ran);
}

TEST_CASE_FIXTURE(watched, "a worker may shut another pool down") {
  pool mine({.workers = 1});
  pool other({.workers = 1});
  bool stopped = false;
  REQUIRE(post(mine, [&] { stopped = other.shutdown(shutdown_mode::drain).has_value(); }));
  CHECK(mine.wait_idle());
  CHECK(stopped);
}

TEST_CASE("a pool that is destroyed by its own worker ends the program with a sentence" *
          braid::testing::needs_threads()) {
  const auto end = braid::testing::run_in_child([] {
    auto* where = new pool({.workers = 1});
    static_cast<void>(post(*where, [where] { delete where; }));
    std::latch(1).wait();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must not be destroyed by one of its own workers") != std::string::npos);
}

TEST_CASE_FIXTURE(watched, "a pool that has stopped is idle") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending}) {
    pool where({.workers = 3});
    REQUIRE(post(where, [] {}));
    CHECK(where.shutdown(mode));
    CHECK(where.wait_idle());
    CHECK(where.wait_idle());
  }
}

TEST_CASE_FIXTURE(watched, "who waits for idleness is not forgotten by a shutdown" * braid::testing::needs_threads()) {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending}) {
    pool where({.workers = 2});
    gate first(where);
    gate second(where);
    for (int i = 0; i < 5; ++i) REQUIRE(post(where, [] {}));
    sleeper waiter([&] { static_cast<void>(where.wait_idle()); });
    CHECK(waiter.falls_asleep());
    sleeper stopper([&] { static_cast<void>(where.shutdown(mode)); });
    CHECK(stopper.falls_asleep());
    first.open();
    second.open();
    CHECK(eventually([&] { return waiter.returned() && stopper.returned(); }));
  }
}

TEST_CASE("a BRAID_WORKERS that is no number is named on stderr, once, and what is done instead") {
  const auto end = braid::testing::run_in_child([] {
    ::setenv("BRAID_WORKERS", "many", 1);
    for (int i = 0; i < 2; ++i) const braid::pool by_default;
  });
  CHECK(end.signal == 0);
  const std::string_view sentence = "BRAID_WORKERS is ignored: \"many\" is not a number from 1 to 4096\n";
  const std::size_t said = end.errors.find(sentence);
  REQUIRE(said != std::string::npos);
  CHECK(end.errors.find(sentence, said + 1) == std::string::npos);
}
