// tests/rankd/server/admission_gate_test.cpp: admission control: requests that run, wait or are refused.
#include <rankd/server/admission/admission_gate.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/test_loop.hpp>

#include <deque>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::test_loop;

namespace {

/// Enters, notes how that went, and stays until `out` is set.
auto visit(admission_gate& gate, braid::time_point now, braid::time_point deadline, char name, std::string& log,
           braid::event& out) -> braid::task<void> {
  auto entering = gate.enter(now, deadline);
  const braid::result<admission_gate::pass> pass = co_await std::move(entering);
  if (!pass) {
    (log += pass.error() == braid::errc::full ? '!' : '?') += name;
    co_return;
  }
  log += name;
  co_await out;
}

constexpr auto never = braid::time_point::max();

}  // namespace

TEST_CASE("as many as may come in, the next ones wait in their order, and the rest is refused") {
  test_loop here;
  admission_gate gate({.max_under_way = 2, .queue = 2});
  std::string log;
  braid::event first;
  braid::event others;
  here.io().spawn(visit(gate, here.now(), never, 'a', log, first));
  for (const char name : {'b', 'c', 'd', 'e', 'f'}) here.io().spawn(visit(gate, here.now(), never, name, log, others));
  here.run_once();
  CHECK(log == "ab!e!f");
  CHECK(gate.counts().under_way == 2);
  CHECK(gate.counts().waiting == 2);
  CHECK(gate.counts().refused == 2);
  CHECK(gate.free_permits() == 0);
  CHECK(!gate.try_enter());
  first.set();
  here.run_once();
  CHECK(log == "ab!e!fc");
  CHECK(gate.counts().under_way == 2);
  others.set();
  here.run_once();
  CHECK(log == "ab!e!fcd");
  CHECK(gate.counts().under_way == 0);
  CHECK(gate.counts().waiting == 0);
  CHECK(gate.counts().admitted == 4);
  CHECK(gate.free_permits() == 2);
  const auto inside = gate.try_enter();
  CHECK(inside.has_value());
  CHECK(gate.free_permits() == 1);
}

TEST_CASE("a pass that nobody keeps is given back") {
  admission_gate gate({.max_under_way = 1});
  CHECK(gate.try_enter().has_value());
  CHECK(gate.counts().under_way == 0);
}

TEST_CASE("who waits longer than its deadline is late, and takes no place") {
  test_loop here;
  admission_gate gate({.max_under_way = 1, .queue = 5});
  std::string log;
  braid::event out;
  here.io().spawn(visit(gate, here.now(), never, 'a', log, out));
  here.io().spawn(visit(gate, here.now(), here.now() + 10ms, 'b', log, out));
  here.io().spawn(visit(gate, here.now(), never, 'c', log, out));
  here.run_once();
  here.advance(11ms);
  CHECK(log == "a?b");
  CHECK(gate.counts().late == 1);
  CHECK(gate.counts().waiting == 1);
  out.set();
  here.run_once();
  CHECK(log == "a?bc");
  CHECK(gate.counts().under_way == 0);
}

TEST_CASE("who is stopped while it waits, or when its turn has come, takes no place away") {
  test_loop here;
  admission_gate gate({.max_under_way = 1, .queue = 5});
  std::string log;
  braid::event out;
  braid::event never_set;
  braid::scope* inside = nullptr;
  auto stopped = [&]() -> braid::task<void> {
    auto body = [&](braid::scope& children) -> braid::task<void> {
      inside = &children;
      children.spawn(visit(gate, here.now(), never, 'b', log, never_set));
      children.spawn(visit(gate, here.now(), never, 'c', log, never_set));
      co_return;
    };
    braid::task<void> all = braid::with_scope(std::ref(body));
    co_await std::move(all);
  };
  here.io().spawn(visit(gate, here.now(), never, 'a', log, out));
  auto waits = stopped();
  here.io().spawn(std::move(waits));
  here.run_once();
  CHECK(gate.counts().waiting == 2);
  out.set();
  inside->request_stop();
  here.run_once();
  CHECK(gate.counts().waiting == 0);
  CHECK(gate.counts().under_way == 0);
  CHECK(gate.try_enter().has_value());
}

TEST_CASE("without a queue a gate refuses as soon as it is full") {
  test_loop here;
  admission_gate gate({.max_under_way = 1, .queue = 0});
  CHECK(!gate.refuses(here.now()));
  const auto inside = gate.try_enter();
  CHECK(gate.refuses(here.now()));
  CHECK(gate.counts().refused == 1);
}

TEST_CASE("a limit that is lowered holds for those who come") {
  test_loop here;
  admission_gate gate({.max_under_way = 64, .queue = 100});
  for (int i = 0; i < 64 * 8; ++i) {
    auto pass = gate.try_enter();
    gate.note(16, *pass);
  }
  CHECK(gate.counts().limit == concurrency_limit::min_limit);
  std::string log;
  braid::event out;
  for (int i = 0; i < 6; ++i) here.io().spawn(visit(gate, here.now(), never, 'x', log, out));
  here.run_once();
  CHECK(gate.counts().under_way == 4);
  CHECK(gate.counts().waiting == 2);
  out.set();
  here.run_once();
  CHECK(gate.counts().admitted == 64 * 8 + 6);
}

TEST_CASE("a limit that is raised lets in who waits, though nobody leaves") {
  test_loop here;
  admission_gate gate({.max_under_way = 64, .queue = 100});
  for (int i = 0; i < 64 * 8; ++i) {
    auto pass = gate.try_enter();
    gate.note(16, *pass);
  }
  std::deque<admission_gate::pass> inside;
  while (auto pass = gate.try_enter()) inside.push_back(std::move(*pass));
  CHECK(inside.size() == concurrency_limit::min_limit);
  std::string log;
  braid::event out;
  for (const char name : {'a', 'b', 'c'}) here.io().spawn(visit(gate, here.now(), never, name, log, out));
  here.run_once();
  CHECK(log.empty());
  for (int i = 0; i < 64; ++i) gate.note(1, inside.back());
  here.run_once();
  CHECK(gate.counts().limit == concurrency_limit::min_limit + 2);
  CHECK(log == "ab");
  CHECK(gate.counts().waiting == 1);
  out.set();
  here.run_once();
  CHECK(log == "abc");
}

TEST_CASE("nobody comes in behind one that has waited for long, and somebody does once that has its turn") {
  test_loop here;
  admission_gate gate({.max_under_way = 1, .queue = 100, .max_wait = 50ms});
  std::string log;
  braid::event first;
  braid::event second;
  braid::event third;
  here.io().spawn(visit(gate, here.now(), never, 'a', log, first));
  here.advance(1h);  // what runs for long is no reason to refuse
  here.io().spawn(visit(gate, here.now(), never, 'b', log, second));
  here.advance(50ms);
  here.io().spawn(visit(gate, here.now(), never, 'c', log, third));
  here.advance(1ms);
  here.io().spawn(visit(gate, here.now(), never, 'd', log, third));
  here.run_once();
  CHECK(log == "a!d");
  first.set();
  here.run_once();
  here.io().spawn(visit(gate, here.now(), never, 'e', log, third));
  here.run_once();
  CHECK(log == "a!db");
  second.set();
  third.set();
  here.run_once();
  CHECK(log == "a!dbce");
}

TEST_CASE("nobody comes in behind more than have their turns in the longest wait, as turns went so far") {
  test_loop here;
  admission_gate gate({.max_under_way = 1, .queue = 1000, .max_wait = 50ms});
  std::string log;
  std::deque<braid::event> outs;
  const auto come = [&](int count) {
    for (; count > 0; --count) here.io().spawn(visit(gate, here.now(), never, 'x', log, outs.emplace_back()));
    here.run_once();
  };
  std::size_t gone = 0;
  const auto leave = [&](int count) {
    for (; count > 0; --count) {
      outs[gone++].set();
      here.advance(1ms);
    }
  };
  for (int again = 0; again < 2; ++again) {
    come(81);
    CHECK(!gate.refuses(here.now()));  // nobody knows yet
    leave(20);
    CHECK(gate.counts().waiting == 60);
    CHECK(gate.refuses(here.now()));
    leave(11);
    CHECK(!gate.refuses(here.now()));
    come(3);
    CHECK(gate.refuses(here.now()));
    leave(53);
    CHECK(gate.counts().under_way == 0);
  }
}
