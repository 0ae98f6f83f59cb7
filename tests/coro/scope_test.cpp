// tests/coro/scope_test.cpp: tasks that end together: joins, failures, stops from here and from elsewhere, deadlines.
#include <braid/coro/scope.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::scripted_home;
using testing::test_loop;

namespace {

auto sleeping(duration span, deaths& seen) -> task<void> {
  const mortal local(seen);
  co_await sleep_for(span);
}

auto failing(duration span, const char* sentence) -> task<void> {
  co_await sleep_for(span);
  throw std::runtime_error(sentence);
}

/// What a plain test sees of a join that a task of the loop's root waits for.
struct joined {
  bool over = false;
  std::string error;
};

auto join(scope& children, joined& seen) -> task<void> {
  try {
    co_await children.join();
  } catch (const std::runtime_error& thrown) {
    seen.error = thrown.what();
  }
  seen.over = true;
}

}  // namespace

TEST_CASE("a chain of a million tasks, each spawning the next before its first wait, does not use up the stack") {
  test_loop here;
  struct chain {
    static auto link(scope& in, int left, int& ended) -> task<void> {
      if (left > 1) in.spawn(link(in, left - 1, ended));
      ++ended;
      co_return;
    }
  };
  scope children(here.io().root());
  int ended = 0;
  joined seen;
  children.spawn(chain::link(children, 1'000'000, ended));
  here.io().spawn(join(children, seen));
  CHECK(here.run_until([&] { return seen.over; }));
  CHECK(ended == 1'000'000);
}

TEST_CASE("beyond 64 beginnings inside of each other a task begins at its home's next step") {
  for (const bool stops : {false, true}) {
    test_loop here;
    struct chain {
      static auto link(scope& in, int left, int& begun, mortal local) -> task<void> {
        ++begun;
        if (left > 1) in.spawn(link(in, left - 1, begun, std::move(local)));
        co_return;
      }
    };
    scope children(here.io().root());
    int begun = 0;
    deaths died;
    joined seen;
    children.spawn(chain::link(children, 100, begun, mortal(died)));
    CHECK(begun == 64);
    CHECK(children.tasks() == 1);
    CHECK(died.count == 0);
    if (stops) children.request_stop();
    here.io().spawn(join(children, seen));
    CHECK_FALSE(seen.over);
    here.run_once();
    CHECK(seen.over);
    CHECK(seen.error.empty());
    CHECK(begun == (stops ? 65 : 100));  // what was spawned before the stop begins
    CHECK(died.count == 1);
  }
}

TEST_CASE("a spawned task runs until it first suspends, and lives in the scope that spawned it") {
  test_loop here;
  scope children(here.io().root());
  scope* found = nullptr;
  bool ended = false;
  auto body = [&]() -> task<void> {
    scope& inside = co_await this_scope();
    found = &inside;
    co_await sleep_for(1ms);
    ended = true;
  };
  children.spawn(body());
  CHECK(found == &children);
  CHECK(&children.where() == &here.io());
  CHECK(children.tasks() == 1);
  here.advance(2ms);
  CHECK(ended);
  CHECK(children.tasks() == 0);
}

TEST_CASE("join waits for every task") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  joined end;
  for (int i = 1; i <= 3; ++i) children.spawn(sleeping(i * 1ms, seen));
  here.io().spawn(join(children, end));
  here.advance(2500us);
  CHECK(seen.count == 2);
  CHECK_FALSE(end.over);
  here.advance(1ms);
  CHECK(seen.count == 3);
  CHECK(end.over);
  CHECK(end.error.empty());
}

TEST_CASE("join of a scope without tasks does not wait, and a scope can be joined again") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  for (int round = 0; round < 3; ++round) {
    joined end;
    here.io().spawn(join(children, end));
    CHECK(end.over);
    children.spawn(sleeping(0ns, seen));
    here.run_once();
  }
  CHECK(seen.count == 3);
}

TEST_CASE("the first failure stops the rest and is rethrown by join; what fails later is counted") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  joined end;
  auto fails_when_stopped = [&]() -> task<void> {
    auto never = []() -> task<void> { co_await sleep_for(1h); };
    const outcome<void> ended = co_await as_outcome(never());
    if (ended.is_stopped()) throw std::runtime_error("second");
  };
  children.spawn(sleeping(1h, seen));
  children.spawn(fails_when_stopped());
  children.spawn(fails_when_stopped());
  children.spawn(failing(1ms, "first"));
  here.io().spawn(join(children, end));
  here.advance(2ms);
  CHECK(end.over);
  CHECK(end.error == "first");
  CHECK(children.further_errors() == 2);
  CHECK(seen.count == 1);
  CHECK(children.stop().requested());
  CHECK(children.stop().reason() == errc::stopped);
  CHECK_FALSE(children.take_error());
}

TEST_CASE("a task that fails before it suspends stops the others as well") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  joined end;
  auto fails = []() -> task<void> {
    throw std::runtime_error("at once");
    co_return;
  };
  children.spawn(sleeping(1h, seen));
  children.spawn(fails());
  here.io().spawn(join(children, end));
  here.run_once();
  CHECK(end.error == "at once");
  CHECK(seen.count == 1);
}

TEST_CASE("in a stopped scope a task does not start, and its arguments are destroyed") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  bool started = false;
  auto body = [&](mortal /*held*/) -> task<void> {
    started = true;
    co_return;
  };
  children.request_stop();
  children.spawn(body(mortal(seen)));
  CHECK_FALSE(started);
  CHECK(seen.count == 1);
  CHECK(children.tasks() == 0);
}

TEST_CASE("a stop destroys the locals of every task once, and repeated stops change nothing") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  joined end;
  auto nested = [&](int depth, const auto& self) -> task<void> {
    const mortal local(seen);
    if (depth == 0)
      co_await sleep_for(1h);
    else
      co_await self(depth - 1, self);
  };
  for (int i = 0; i < 10; ++i) children.spawn(nested(9, nested));
  here.io().spawn(join(children, end));
  children.request_stop();
  children.request_stop(errc::deadline_exceeded);
  CHECK(seen.count == 0);
  here.run_once();
  CHECK(seen.count == 100);
  CHECK(end.over);
  CHECK(children.stop().reason() == errc::stopped);
  children.request_stop();
  here.run_once();
  CHECK(seen.count == 100);
}

TEST_CASE("a task may stop its own scope, and ends at its next leaf") {
  test_loop here;
  scope children(here.io().root());
  bool after_stop = false;
  bool after_leaf = false;
  auto body = [&]() -> task<void> {
    co_await sleep_for(0ns);
    children.request_stop();
    after_stop = true;
    co_await sleep_for(0ns);
    after_leaf = true;
  };
  children.spawn(body());
  here.run_once();
  CHECK(after_stop);
  CHECK_FALSE(after_leaf);
  CHECK(children.tasks() == 0);
}

TEST_CASE("stop_here ends one task and leaves the others alone") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  auto gives_up = [&]() -> task<void> {
    const mortal local(seen);
    co_await stop_here();
  };
  children.spawn(sleeping(1ms, seen));
  children.spawn(gives_up());
  CHECK(seen.count == 1);
  CHECK(children.tasks() == 1);
  CHECK_FALSE(children.stop().requested());
  here.advance(2ms);
  CHECK(seen.count == 2);
}

TEST_CASE("a stop goes down to scopes inside, and not up") {
  test_loop here;
  scope outer(here.io().root());
  scope middle(outer);
  scope inner(middle);
  deaths in_outer;
  deaths in_inner;
  outer.spawn(sleeping(1ms, in_outer));
  inner.spawn(sleeping(1h, in_inner));
  middle.request_stop();
  here.run_once();
  CHECK(in_inner.count == 1);
  CHECK(in_outer.count == 0);
  CHECK(inner.stop().requested());
  CHECK_FALSE(outer.stop().requested());
  here.advance(2ms);
  CHECK(in_outer.count == 1);
}

TEST_CASE("the reason for a stop goes down as it was given") {
  test_loop here;
  scope outer(here.io().root());
  scope inner(outer);
  outer.request_stop(errc::deadline_exceeded);
  CHECK(inner.stop().reason() == errc::deadline_exceeded);
  scope late(outer);
  CHECK(late.stop().reason() == errc::deadline_exceeded);
}

TEST_CASE("a scope has the earlier of its own deadline and its parent's") {
  test_loop here;
  const auto early = here.now() + 1ms;
  const auto late = here.now() + 5ms;
  scope outer(here.io().root(), early);
  scope wants_more(outer, late);
  scope wants_less(here.io().root(), early);
  scope wide(here.io().root(), late);
  scope narrow(wide, early);
  scope same(outer);
  CHECK(here.io().root().deadline() == time_point::max());
  CHECK(outer.deadline() == early);
  CHECK(wants_more.deadline() == early);
  CHECK(narrow.deadline() == early);
  CHECK(wide.deadline() == late);
  CHECK(same.deadline() == early);

  deaths seen;
  for (scope* each : {&wants_more, &narrow, &same}) each->spawn(sleeping(1h, seen));
  here.advance(900us);
  CHECK(seen.count == 0);
  here.advance(200us);
  CHECK(seen.count == 3);
  CHECK_FALSE(wide.stop().requested());
  for (scope* each : {&outer, &wants_more, &narrow, &same, &wants_less})
    CHECK(each->stop().reason() == errc::deadline_exceeded);
}

TEST_CASE("a deadline that has passed stops the tasks in the next turn") {
  test_loop here;
  scope children(here.io().root(), here.now() - 1s);
  deaths seen;
  children.spawn(sleeping(0ns, seen));
  here.run_once();
  CHECK(seen.count == 1);
  CHECK(children.stop().requested());
  CHECK(children.stop().reason() == errc::deadline_exceeded);
}

TEST_CASE("a scope that ends before its deadline takes its timer along") {
  scripted_home where;
  {
    scope children(where.root(), where.now() + 1h);
    CHECK(where.has_timers());
  }
  CHECK_FALSE(where.has_timers());
  scope stopped(where.root(), where.now() + 1h);
  stopped.request_stop();
  CHECK_FALSE(where.has_timers());
}

TEST_CASE("callbacks are told of a stop once; one that leaves before is not told") {
  test_loop here;
  struct counting : stop_callback {
    explicit counting(int& n) noexcept : stop_callback(&count), told(&n) {}
    static void count(stop_callback& self) noexcept { ++*static_cast<counting&>(self).told; }
    int* told;
  };
  int told = 0;
  int left = 0;
  counting stays(told);
  counting leaves(left);
  scope children(here.io().root());
  children.link(stays);
  children.link(leaves);
  leaves.unlink();
  children.request_stop();
  children.request_stop();
  here.io().root().request_stop();
  CHECK(told == 1);
  CHECK(left == 0);
  CHECK_FALSE(stays.is_linked());
}

TEST_CASE("a callback may destroy itself, and the one that would be told next") {
  test_loop here;
  struct mine : stop_callback {
    explicit mine(std::vector<std::unique_ptr<mine>>& a, int& n) noexcept : stop_callback(&tell), all(&a), told(&n) {}
    ~mine() {
      if (is_linked()) unlink();
    }
    static void tell(stop_callback& self) noexcept {
      auto& owner = *static_cast<mine&>(self).all;
      ++*static_cast<mine&>(self).told;
      owner.erase(owner.begin(), owner.begin() + 2);  // itself and its neighbour
    }
    std::vector<std::unique_ptr<mine>>* all;
    int* told;
  };
  int told = 0;
  std::vector<std::unique_ptr<mine>> all;
  scope children(here.io().root());
  for (int i = 0; i < 6; ++i) {
    all.push_back(std::make_unique<mine>(all, told));
    children.link(*all.back());
  }
  children.request_stop();
  CHECK(told == 3);
  CHECK(all.empty());
}

TEST_CASE("a stop from another thread is seen by computations at once and ends the tasks at home") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  joined end;
  for (int i = 0; i < 3; ++i) children.spawn(sleeping(1h, seen));
  here.io().spawn(join(children, end));
  std::thread other([&] {
    children.request_stop();
    CHECK(children.stop().requested());
    children.request_stop();
  });
  other.join();
  CHECK(seen.count == 0);
  here.run_once();
  CHECK(seen.count == 3);
  CHECK(seen.last_on == std::this_thread::get_id());
  CHECK(end.over);
}

TEST_CASE("a scope whose tasks have ended is joined only when a stop on its way has arrived") {
  scripted_home where;
  std::optional<scope> children(std::in_place, where.root());
  joined end;
  where.elsewhere([&] { children->request_stop(); });
  where.root().spawn(join(*children, end));
  CHECK_FALSE(end.over);  // the stop's job in the queue still points to the scope
  where.run_all();
  CHECK(end.over);
  children.reset();
}

TEST_CASE("a stop that is posted while the last task ends is waited for") {
  scripted_home where;
  scope children(where.root());
  event happened;
  joined end;
  auto body = [&]() -> task<void> { co_await happened; };
  children.spawn(body());
  where.root().spawn(join(children, end));
  where.before_post = [&] {
    happened.set();
    where.run_all();  // the task ends between the other thread's decision to stop and its post
    CHECK(children.tasks() == 0);
    CHECK_FALSE(end.over);
  };
  where.elsewhere([&] { children.request_stop(); });
  CHECK_FALSE(end.over);
  where.run_all();
  CHECK(end.over);
}

TEST_CASE("a stop that the stopping home refuses while somebody waits for the scope does not leave it waiting") {
  scripted_home where;
  scope children(where.root());
  event happened;
  joined end;
  auto body = [&]() -> task<void> { co_await happened; };
  children.spawn(body());
  where.root().spawn(join(children, end));
  where.closed = true;
  where.before_post = [&] {
    happened.set();
    where.run_all();
    CHECK_FALSE(end.over);
  };
  where.elsewhere([&] { children.request_stop(); });
  where.run_all();
  CHECK(end.over);
}

TEST_CASE("a stop that the stopping home refuses leaves the scope usable, and the home's own stop ends its tasks") {
  scripted_home where;
  scope children(where.root());
  deaths seen;
  joined end;
  children.spawn(sleeping(1h, seen));
  where.closed = true;
  where.elsewhere([&] { children.request_stop(); });
  CHECK(children.stop().requested());
  CHECK_FALSE(where.has_work());
  where.root().spawn(join(children, end));
  where.root().request_stop();
  where.run_all();
  CHECK(seen.count == 1);
  CHECK(end.over);
}

TEST_CASE("when_idle calls once no task is left, and may destroy the scope") {
  test_loop here;
  std::optional<scope> children(std::in_place, here.io().root());
  deaths seen;
  children->spawn(sleeping(1ms, seen));
  children->when_idle(
      [](void* context) noexcept -> std::coroutine_handle<> {
        static_cast<std::optional<scope>*>(context)->reset();
        return {};
      },
      &children);
  CHECK(children.has_value());
  here.advance(2ms);
  CHECK_FALSE(children.has_value());
}

TEST_CASE("a task that spawns into its own scope keeps it busy until the last one has ended") {
  test_loop here;
  scope children(here.io().root());
  joined end;
  int ran = 0;
  auto body = [&](int left, const auto& self) -> task<void> {
    ++ran;
    if (left > 0) children.spawn(self(left - 1, self));
    co_await sleep_for(1ms);
    if (left > 0) children.spawn(self(left - 1, self));
  };
  children.spawn(body(4, body));
  here.io().spawn(join(children, end));
  for (int i = 0; i < 4; ++i) {
    here.advance(1100us);
    CHECK_FALSE(end.over);
  }
  here.advance(1100us);
  CHECK(end.over);
  CHECK(ran == 31);
}

TEST_CASE("ten thousand tasks in a scope are stopped together") {
  test_loop here;
  scope children(here.io().root());
  deaths seen;
  for (int i = 0; i < 10'000; ++i) children.spawn(sleeping(1h, seen));
  children.request_stop();
  REQUIRE(here.run_until([&] { return children.tasks() == 0; }));
  CHECK(seen.count == 10'000);
}

TEST_CASE("destroying a scope with tasks in it ends the program") {
  const auto end = testing::run_in_child([] {
    scripted_home where;
    auto body = []() -> task<void> { co_await sleep_for(1h); };
    scope children(where.root());
    children.spawn(body());
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("joined before it is destroyed") != std::string::npos);
}

TEST_CASE("destroying a scope with a stop on its way ends the program") {
  const auto end = testing::run_in_child([] {
    scripted_home where;
    scope children(where.root());
    where.elsewhere([&] { children.request_stop(); });
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("joined before it is destroyed") != std::string::npos);
}

TEST_CASE("two waiters for one scope end the program") {
  const auto end = testing::run_in_child([] {
    scripted_home where;
    scope children(where.root());
    joined first;
    joined second;
    auto body = []() -> task<void> { co_await sleep_for(1h); };
    children.spawn(body());
    where.root().spawn(join(children, first));
    where.root().spawn(join(children, second));
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("only one task at a time may wait for a scope") != std::string::npos);
}
