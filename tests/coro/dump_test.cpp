// tests/coro/dump_test.cpp: what a dump says of tasks that wait in each way that there is.
#include <braid/coro/dump.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace braid;
using testing::eventually;
using testing::queue_executor;
using testing::test_loop;

namespace {

auto dump_at(const executor& where, duration limit = 10s) -> task_dump {
  return detail::dump_of(std::array{where.id()}, limit);
}

auto tasks_at(const executor& where) -> std::vector<task_dump::entry> {
  task_dump all = dump_at(where);
  REQUIRE(all.homes.size() == 1);
  CHECK(all.homes[0].how == task_dump::home::answer::whole);
  return std::move(all.homes[0].tasks);
}

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

constexpr int line_of_dozes = __LINE__ + 1;
auto dozes() -> task<void> { co_await sleep_for(3s); }
auto calls_dozes() -> task<void> {
  co_await dozes();
  co_return;
}

auto place(int line) -> std::string { return "dump_test.cpp:" + std::to_string(line); }

}  // namespace

TEST_CASE("a task is shown with the functions that await each other, and with what the innermost waits for") {
  test_loop here;
  auto ahead = spawn(here.io(), {.name = "sleeper"}, calls_dozes());
  here.run_once();
  here.advance(1s);
  const auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].id == ahead.id());
  CHECK(tasks[0].name == "sleeper");
  REQUIRE(tasks[0].functions.size() == 2);
  CHECK(has(tasks[0].functions[0], "calls_dozes"));
  CHECK(has(tasks[0].functions[1], "dozes"));
  CHECK(tasks[0].waits_for == "sleep, 2.0 s left");
  CHECK_FALSE(tasks[0].time_left);
  CHECK_FALSE(tasks[0].stopped_for);
  CHECK(tasks[0].others == 0);
}

TEST_CASE("each function is shown with the line of its latest await") {
  test_loop here;
  constexpr int first = __LINE__ + 2;
  auto works = []() -> task<void> {
    co_await yield();
    co_await calls_dozes();
    co_await yield();
  };
  here.io().root().spawn(works());
  here.run_once();
  here.run_once();
  auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].places == std::vector{place(first + 1), place(line_of_dozes + 2), place(line_of_dozes)});
  CHECK(has(dump_at(here.io()).to_text(), "dozes() at " + place(line_of_dozes) + "\n"));
  here.stop();
}

TEST_CASE("each kind of await leaves its place") {
  test_loop here;
  testing::manual_executor elsewhere;
  async_mutex mutex;
  event event;
  promise<void> made;
  auto held = mutex.try_lock();
  scope& root = here.io().root();
  constexpr int first = __LINE__ + 1;
  root.spawn([&]() -> task<void> { static_cast<void>(co_await mutex.lock()); });
  root.spawn([&]() -> task<void> { co_await event; });
  root.spawn([&]() -> task<void> { co_await made.get_future(); });
  root.spawn([&]() -> task<void> { co_await offload(elsewhere, [] {}); });
  root.spawn([&]() -> task<void> { static_cast<void>(co_await offload(elsewhere, {.timeout = 1s}, [] {})); });
  root.spawn([]() -> task<void> { static_cast<void>(co_await as_outcome(dozes())); });
  root.spawn([]() -> task<void> { co_await when_all(dozes()); });
  root.spawn([]() -> task<void> { static_cast<void>(co_await with_timeout(1s, dozes())); });
  here.run_once();
  std::vector<std::string> places;
  for (const task_dump::entry& each : tasks_at(here.io())) {
    CHECK(each.places.size() == each.functions.size());
    if (each.depth == 0) places.push_back(each.places[0]);
  }
  std::ranges::sort(places);
  std::vector<std::string> expected;
  for (int i = 0; i < 8; ++i) expected.push_back(place(first + i));
  std::ranges::sort(expected);
  CHECK(places == expected);
  held.reset();
  event.set();
  CHECK(made.set_value());
  elsewhere.run_all();
  here.stop();
}

TEST_CASE("each way to wait is named") {
  test_loop here;
  testing::manual_executor elsewhere;
  channel<int> empty(1);
  channel<int> full(1);
  async_event event;
  promise<int> made;
  scope& root = here.io().root();
  root.spawn([&]() -> task<void> { static_cast<void>(co_await empty.receive()); });
  root.spawn([&]() -> task<void> {
    for (int i = 0; i < 2; ++i) static_cast<void>(co_await full.send(i));
  });
  root.spawn([&]() -> task<void> { co_await event; });
  root.spawn([&]() -> task<void> { static_cast<void>(co_await made.get_future()); });
  root.spawn([&]() -> task<void> { co_await offload(elsewhere, [] {}); });
  here.run_once();

  const auto tasks = tasks_at(here.io());
  std::vector<std::string> waits;
  for (const task_dump::entry& each : tasks) waits.push_back(each.waits_for);
  std::ranges::sort(waits);
  CHECK(waits == std::vector<std::string>{"channel with a value", "channel with room", "event", "future", "offload"});
  empty.close();
  full.close();
  event.set();
  CHECK(made.set_value(1));
  elsewhere.run_all();
  here.run_once();
  CHECK(tasks_at(here.io()).empty());
}

TEST_CASE("tasks of a scope belong to the task that holds it") {
  test_loop here;
  std::vector<task<void>> both;
  both.push_back(dozes());
  both.push_back(calls_dozes());
  here.io().spawn(when_all(std::move(both)));
  here.run_once();
  const auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0].depth == 0);
  CHECK(tasks[0].waits_for == "tasks of a scope");
  CHECK(tasks[1].depth == 1);
  CHECK(has(tasks[1].functions.back(), "dozes"));
  CHECK(tasks[2].depth == 1);
}

namespace {

/// Takes one lock, then, once both tasks have one, the other.
auto takes_both(async_mutex& one, async_mutex& other) -> task<void> {
  const auto first = co_await one.lock();
  co_await yield();
  const auto second = co_await other.lock();
}

}  // namespace

TEST_CASE("a lock is said to be taken by the task that got it last, where that has a number") {
  test_loop here;
  async_mutex mutex;
  event go;
  const auto takes = [&]() -> task<void> {
    const auto held = co_await mutex.lock();
    co_await go;
    go.set();
  };
  const auto last_wait = [&] { return tasks_at(here.io()).back().waits_for; };
  auto unknown = mutex.try_lock();
  auto first = spawn(here.io(), takes());
  here.run_once();
  CHECK(last_wait() == "lock");
  unknown.reset();
  auto second = spawn(here.io(), takes());
  here.run_once();
  CHECK(last_wait() == "lock, taken by task " + std::to_string(first.id().number));
  auto third = spawn(here.io(), takes());
  first.request_stop();
  here.run_once();
  here.run_once();
  CHECK(last_wait() == "lock, taken by task " + std::to_string(second.id().number));
  here.stop();
}

TEST_CASE("a task that was handed its lock, and has not gone on yet, does not wait for itself") {
  test_loop here;
  async_mutex mutex;
  const auto takes = [&]() -> task<void> { static_cast<void>(co_await mutex.lock()); };
  auto held = mutex.try_lock();
  auto first = spawn(here.io(), takes());
  auto second = spawn(here.io(), takes());
  here.run_once();
  held.reset();
  const task_dump all = dump_at(here.io());
  CHECK(all.deadlocks.empty());
  REQUIRE(all.homes[0].tasks.size() == 2);
  const std::string owner = ", taken by task " + std::to_string(first.id().number);
  for (const task_dump::entry& each : all.homes[0].tasks)
    CHECK(each.waits_for == (each.id == first.id() ? "lock" : "lock" + owner));
  here.run_once();
  CHECK(second.is_ready());
}

TEST_CASE("a name makes no lines of its own, and says nothing to a terminal") {
  test_loop here;
  async_mutex mutex;
  const auto waits = [&]() -> task<void> {
    const auto held = co_await mutex.lock();
    static_cast<void>(co_await mutex.lock());
  };
  auto ahead = spawn(here.io(), {.name = "x\ndeadlock: \x1b[2J\x7f"}, waits());
  here.run_once();
  const std::string shown = " \"x\\x0adeadlock: \\x1b[2J\\x7f\"";
  const task_dump all = dump_at(here.io());
  REQUIRE(all.deadlocks.size() == 1);
  CHECK(has(all.deadlocks[0], shown + " waits for"));
  CHECK(has(all.to_text(), "\n  task " + std::to_string(ahead.id().number) + shown + "\n"));
  here.stop();
}

TEST_CASE("tasks that wait for each other's locks are a deadlock") {
  test_loop here;
  async_mutex one;
  async_mutex two;
  auto a = spawn(here.io(), {.name = "a"}, takes_both(one, two));
  auto b = spawn(here.io(), takes_both(two, one));
  const std::string a_text = "task " + std::to_string(a.id().number) + " \"a\"";
  const std::string b_text = "task " + std::to_string(b.id().number);
  here.run_once();
  here.run_once();
  const task_dump all = dump_at(here.io());
  const std::string text = a_text + " waits for the lock of " + b_text + ", which waits for the lock of " + a_text;
  CHECK(all.deadlocks == std::vector{text});
  CHECK(all.to_text().starts_with("deadlock: " + text + "\n"));
  REQUIRE(all.homes[0].tasks.size() == 2);
  CHECK(all.homes[0].tasks[0].waits_for == "lock, taken by " + b_text);
  a.request_stop();
  here.run_once();
  CHECK(dump_at(here.io()).deadlocks.empty());
  here.run_once();
}

TEST_CASE("a wait that something else may end is no deadlock") {
  test_loop here;
  async_mutex mutex;
  // Another task of the one that holds the lock sleeps, and may be the one that has it.
  auto holds = spawn(here.io(), with_scope([&](scope& in) -> task<void> {
                       const auto held = co_await mutex.lock();
                       in.spawn(dozes());
                       static_cast<void>(co_await mutex.lock());
                     }));
  here.run_once();
  CHECK(dump_at(here.io()).deadlocks.empty());
  here.advance(4s);
  here.run_once();
  const auto all = dump_at(here.io());
  REQUIRE(all.deadlocks.size() == 1);
  const std::string own = "task " + std::to_string(holds.id().number);
  CHECK(all.deadlocks[0] == own + " waits for the lock of " + own);
  here.stop();
}

TEST_CASE("a cycle may go through futures and scopes") {
  test_loop here;
  async_mutex mutex;
  future<void> second;
  const auto holds = [&]() -> task<void> {
    const auto held = co_await mutex.lock();
    co_await yield();
    co_await std::move(second);
  };
  const auto wants = [&]() -> task<void> { static_cast<void>(co_await mutex.lock()); };
  const auto both = [&](scope& in) -> task<void> {
    in.spawn(wants());
    co_return;
  };
  auto first = spawn(here.io(), holds());
  second = spawn(here.io(), with_scope(std::ref(both)));
  const std::string one = "task " + std::to_string(first.id().number);
  const std::string two = "task " + std::to_string(second.id().number);
  here.run_once();
  here.run_once();
  const auto all = dump_at(here.io());
  CHECK(all.deadlocks == std::vector{one + " waits for the future of " + two +
                                     ", which waits for a task of its own, which waits for the lock of " + one});
  REQUIRE(all.homes[0].tasks.size() == 3);
  CHECK(all.homes[0].tasks[0].waits_for == "future, of " + two);
  here.stop();
}

TEST_CASE("a cycle across homes is looked at twice") {
  pool workers({.workers = 2});
  async_mutex one;
  async_mutex two;
  async_barrier both(2);
  const auto takes = [&both](async_mutex& mine, async_mutex& other) -> task<void> {
    const auto first = co_await mine.lock();
    co_await both.arrive_and_wait();
    const auto second = co_await other.lock();
  };
  auto a = spawn(workers, takes(one, two));
  auto b = spawn(workers, takes(two, one));
  CHECK(eventually([&] { return dump_at(workers).deadlocks.size() == 1; }));
  a.request_stop();
  a.wait();
  b.wait();
  CHECK(dump_at(workers).deadlocks.empty());
}

TEST_CASE("tasks that take a lock in turn are no deadlock, also where both looks see each wait for the other") {
  queue_executor one;
  queue_executor two;
  async_mutex mutex;
  queue_executor last;  // on which a task waits whose answer ends a look, when the test lets it
  async_event go;
  async_event over;
  const auto begins = [&]() -> task<void> {
    auto held = co_await mutex.lock();
    co_await go;
    held.release();
    static_cast<void>(co_await mutex.lock());
  };
  const auto follows = [&]() -> task<void> {
    auto held = co_await mutex.lock();
    held.release();
    static_cast<void>(co_await mutex.lock());
  };
  auto b = spawn(two, begins());
  two.work();
  auto a = spawn(one, follows());
  one.work();
  auto c = spawn(last, [](async_event& until) -> task<void> { co_await until; }(over));
  last.work();
  go.set();  // what releases the lock is before the question in the queue of its home

  const auto wait_for_post = [](const queue_executor& to, std::size_t before) {
    while (to.posts() == before) std::this_thread::yield();
  };
  const std::size_t first_posts = one.posts();
  const std::size_t last_posts = last.posts();
  task_dump seen;
  atomic<bool> has_ended{false};
  std::thread dumps([&] {
    seen = detail::dump_of(std::array{one.id(), two.id(), last.id()}, 1h);
    has_ended.store(true, relaxed);
  });
  wait_for_post(one, first_posts);
  one.work();  // a waits for b
  two.work();  // b passes the lock on, and waits for a
  const std::size_t second_posts = two.posts();
  wait_for_post(last, last_posts);
  last.work();  // the second look begins
  while (!has_ended.load(relaxed) && two.posts() == second_posts) std::this_thread::yield();
  two.work();  // b waits for a, still
  one.work();  // a passes the lock on, and waits for b again
  last.work_until([&] { return has_ended.load(relaxed); });
  dumps.join();
  CHECK(seen.homes.size() == 3);
  CHECK(seen.deadlocks.empty());
  over.set();
  last.work();
  two.work();
  one.work();
  CHECK(a.is_ready());
  CHECK(b.is_ready());
  CHECK(c.is_ready());
}

TEST_CASE("a deadline, and a stop that did not end a task yet, are shown") {
  test_loop here;
  testing::manual_executor elsewhere;
  const auto look = [&] {  // in the function: it has begun, so that the deadline cannot withdraw it
    here.advance(3s);
    const auto tasks = tasks_at(here.io());
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0].stopped_for == errc::deadline_exceeded);
    CHECK(*tasks[0].time_left == -1s);
    CHECK(tasks[0].waits_for == "offload");
  };
  auto waits = [&]() -> task<void> {
    auto hop = offload(elsewhere, look);
    co_await hop;
  };
  here.io().spawn([](auto& body) -> task<void> { static_cast<void>(co_await with_timeout(2s, body())); }(waits));
  here.run_once();
  const auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 1);
  REQUIRE(tasks[0].time_left);
  CHECK(*tasks[0].time_left == 2s);
  CHECK_FALSE(tasks[0].stopped_for);
  elsewhere.run_all();
  here.run_once();
}

TEST_CASE("tasks in a scope within one that is stopped are still shown") {
  test_loop here;
  testing::manual_executor elsewhere;
  future<void> ahead;
  const auto look = [&] {  // in the function: it has begun, so that the stop cannot withdraw it
    ahead.request_stop();
    here.run_once();
    const auto tasks = tasks_at(here.io());
    REQUIRE(tasks.size() == 2);
    CHECK(tasks[0].waits_for == "tasks of a scope");
    CHECK(tasks[1].waits_for == "offload");
    CHECK(tasks[1].depth == 1);
    CHECK(tasks[1].stopped_for == errc::stopped);
  };
  auto waits = [&]() -> task<void> {
    auto hop = offload(elsewhere, look);
    co_await hop;
  };
  auto holds = [&](scope& in) -> task<void> {
    in.spawn(waits());
    co_return;
  };
  ahead = spawn(here.io(), with_scope(std::ref(holds)));
  here.run_once();
  elsewhere.run_all();
  here.run_once();
}

TEST_CASE("a task that is away is counted") {
  test_loop here;
  testing::manual_executor elsewhere;
  here.io().spawn([](executor& there) -> task<void> { co_await schedule_on(there); }(elsewhere));
  here.run_once();
  const auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].others == 1);
  CHECK(has(dump_at(here.io()).to_text(), "1 task is ready, or running on another executor"));
  elsewhere.run_all();
  here.run_once();
}

TEST_CASE("a wait for a descriptor names it") {
  test_loop here;
  auto ends = pipe_stream::pair(here.io()).value();
  here.io().spawn([](pipe_stream& in) -> task<void> {
    std::array<std::byte, 4> place{};
    static_cast<void>(co_await in.read_some(place));
  }(ends.first));
  here.run_once();
  const auto tasks = tasks_at(here.io());
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].waits_for.starts_with("I/O, read of fd "));
  here.stop();
}

TEST_CASE("tasks with homes of their own are found on the pool") {
  pool workers({.workers = 2});
  auto ahead = spawn(workers, {.name = "own home"}, dozes());
  std::string text;
  REQUIRE(eventually([&] {
    text = dump_at(workers).to_text();
    return has(text, "own home");
  }));
  CHECK(has(text, "serial executor on thread "));
  CHECK(has(text, "waits for sleep, "));
  ahead.request_stop();
  ahead.wait();
  CHECK(eventually([&] { return dump_at(workers).homes.empty(); }));
}

TEST_CASE("a task in the root scope of another task's home is shown beside that task, and without it") {
  pool workers({.workers = 1});
  async_event go;
  auto waits = [&]() -> task<void> { co_await go; };
  auto begins = [&](bool stays) -> task<void> {
    home& own = (co_await this_scope()).where();
    own.root().spawn(waits());
    if (stays) co_await sleep_for(1h);
  };
  auto stays = spawn(workers, {.name = "main"}, begins(true));
  spawn(workers, [] {}).get();  // it sleeps now
  const auto both = dump_at(workers);
  REQUIRE(both.homes.size() == 1);
  REQUIRE(both.homes[0].tasks.size() == 2);
  CHECK(both.homes[0].tasks[0].name == "main");
  CHECK(both.homes[0].tasks[0].depth == 0);
  CHECK(both.homes[0].tasks[1].name.empty());
  CHECK(both.homes[0].tasks[1].depth == 0);
  stays.request_stop();
  stays.wait();
  spawn(workers, begins(false)).wait();
  spawn(workers, [] {}).get();  // its home rests now
  const auto alone = dump_at(workers);
  REQUIRE(alone.homes.size() == 2);
  for (const task_dump::home& each : alone.homes) {
    REQUIRE(each.tasks.size() == 1);
    CHECK(each.tasks[0].name.empty());
    CHECK(each.tasks[0].waits_for != "");
  }
  go.set();
}

TEST_CASE("a serial executor that runs jobs alone is not asked") {
  testing::manual_executor there;
  {
    serial_executor where(there);
    REQUIRE(post(where, [] {}));
    there.run_all();
    CHECK(dump_at(there, duration::zero()).homes.empty());
    REQUIRE(post(where, [&] { where.root().spawn(dozes()); }));
    there.run_all();
    CHECK(dump_at(there, duration::zero()).homes.size() == 1);
    there.run_all();
    there.close();
  }
}

TEST_CASE("a home whose thread is blocked is named as late") {
  testing::manual_executor where;
  auto ahead = spawn(where, dozes());
  where.run_all();
  const auto all = dump_at(where, duration::zero());
  REQUIRE(all.homes.size() == 1);
  CHECK(all.homes[0].how == task_dump::home::answer::late);
  CHECK(has(all.to_text(), "no answer"));
  ahead.request_stop();
  where.run_all();  // the question as well, which finds that nobody waits for it
}

TEST_CASE("a home whose executor refuses or drops the question does not run, and is not waited for") {
  for (const bool is_closed : {true, false}) {
    queue_executor where;
    auto ahead = spawn(where, dozes());
    where.work();
    const std::size_t posts = where.posts();
    if (is_closed) where.close();
    task_dump all;
    std::thread dumps([&] { all = dump_at(where, 1h); });
    if (!is_closed) {
      while (where.posts() == posts) std::this_thread::yield();
      where.drop_all();
    }
    dumps.join();
    REQUIRE(all.homes.size() == 1);
    CHECK(all.homes[0].how == task_dump::home::answer::not_running);
    CHECK(has(all.to_text(), ": does not run"));
    ahead.wait();
  }
}

TEST_CASE("a loop that does not run is named") {
  const auto idle = loop::create().value();
  const auto all = dump_at(*idle);
  REQUIRE(all.homes.size() == 1);
  CHECK(all.homes[0].how == task_dump::home::answer::not_running);
}
