// tests/io/readiness_test.cpp: tasks that wait for descriptors.
#include <braid/io/loop.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <system_error>
#include <vector>

#include <fcntl.h>

using namespace braid;
using testing::deaths;
using testing::ends;
using testing::mortal;
using testing::test_loop;

TEST_CASE("a reader goes on when there is something to read") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  bool ready = false;
  auto reader = [&]() -> task<void> {
    const result<void> waited = co_await readable(here.io(), pipe.first.number());
    ready = waited.has_value();
  };
  here.io().spawn(reader());
  here.run_once();
  CHECK_FALSE(ready);
  testing::write_byte(pipe.second);
  CHECK(here.run_until([&] { return ready; }));
}

TEST_CASE("a writer goes on when there is room again") {
  test_loop here;
  const ends sockets = ends::of_sockets();
  testing::fill(sockets.second);
  int rounds = 0;
  auto writer = [&]() -> task<void> {
    const result<void> first = co_await writable(here.io(), sockets.second.number());
    if (first) ++rounds;
  };
  here.io().spawn(writer());
  here.run_once();
  CHECK(rounds == 0);
  std::vector<char> drain(1U << 20U);
  REQUIRE(::read(sockets.first.number(), drain.data(), drain.size()) > 0);
  CHECK(here.run_until([&] { return rounds == 1; }));
}

TEST_CASE("the end of the other side makes a descriptor readable") {
  test_loop here;
  ends sockets = ends::of_sockets();
  bool ready = false;
  auto reader = [&]() -> task<void> {
    const result<void> waited = co_await readable(here.io(), sockets.first.number());
    ready = waited.has_value();
  };
  here.io().spawn(reader());
  sockets.second.close();
  CHECK(here.run_until([&] { return ready; }));
}

TEST_CASE("a regular file is ready at once, and for what is no descriptor the task goes on with the error") {
  test_loop here;
  const testing::scratch_folder folder;
  const descriptor file(::open(folder.write("plain", "x").c_str(), O_RDONLY | O_CLOEXEC));
  auto body = [&]() -> task<void> {
    const result<void> regular = co_await readable(here.io(), file.number());
    CHECK(regular.has_value());
    const result<void> closed = co_await readable(here.io(), -1);
    CHECK(closed.error() == std::errc::bad_file_descriptor);
  };
  CHECK(here.run(body()).has_value());
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("a wait that was refused leaves nothing behind that a later stop would find") {
  test_loop here;
  deaths seen;
  bool went_on = false;
  auto body = [&]() -> task<void> {
    const mortal local(seen);
    auto refused = readable(here.io(), -1);
    static_cast<void>(co_await refused);
    co_await sleep_for(1h);
    went_on = true;
  };
  here.io().spawn(body());
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("a second waiter for the same descriptor is refused, and the first one still waits") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  bool ready = false;
  auto first = [&]() -> task<void> {
    const result<void> waited = co_await readable(here.io(), pipe.first.number());
    ready = waited.has_value();
  };
  std::error_code refused;
  auto second = [&]() -> task<void> {
    const result<void> waited = co_await readable(here.io(), pipe.first.number());
    if (!waited) refused = waited.error();
  };
  here.io().spawn(first());
  here.io().spawn(second());
  CHECK(refused == std::errc::file_exists);
  testing::write_byte(pipe.second);
  CHECK(here.run_until([&] { return ready; }));
}

TEST_CASE("one task can wait for the same descriptor again and again") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  auto reader = [&]() -> task<int> {
    int read = 0;
    for (; read < 1000; ++read) {
      testing::write_byte(pipe.second);
      const result<void> waited = co_await readable(here.io(), pipe.first.number());
      if (!waited) break;
      testing::read_byte(pipe.first);
    }
    co_return read;
  };
  outcome<int> ended = here.run(reader());
  CHECK(ended.take() == 1000);
}

TEST_CASE("a stop ends a wait, and the descriptor can be waited for again") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  deaths seen;
  auto reader = [&]() -> task<void> {
    const mortal local(seen);
    static_cast<void>(co_await readable(here.io(), pipe.first.number()));
  };
  auto all = [&]() -> task<bool> {
    const result<void> late = co_await with_timeout(1ms, reader());
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK(seen.count == 1);
    CHECK_FALSE(here.io().backend().has_watches());
    testing::write_byte(pipe.second);
    const result<void> waited = co_await readable(here.io(), pipe.first.number());
    co_return waited.has_value();
  };
  outcome<bool> ended = here.run_through(all(), 100us);
  CHECK(ended.take());
}

TEST_CASE("in a stopped scope nobody waits") {
  test_loop here;
  const ends pipe = ends::of_pipe();
  testing::write_byte(pipe.second);
  bool went_on = false;
  auto reader = [&]() -> task<void> {
    here.io().root().request_stop();
    static_cast<void>(co_await readable(here.io(), pipe.first.number()));
    went_on = true;
  };
  here.io().spawn(reader());
  here.run_once();
  CHECK_FALSE(went_on);
  CHECK_FALSE(here.io().backend().has_watches());
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("of two that become ready in one batch, the first may stop the second") {
  test_loop here;
  const ends one = ends::of_pipe();
  const ends two = ends::of_pipe();
  int went_on = 0;
  auto reader = [&](const ends& of) -> task<void> {
    const result<void> waited = co_await readable(here.io(), of.first.number());
    CHECK(waited.has_value());
    ++went_on;
    here.io().root().request_stop();
  };
  here.io().spawn(reader(one));
  here.io().spawn(reader(two));
  testing::write_byte(one.second);
  testing::write_byte(two.second);
  here.run_once();
  CHECK(went_on == 1);
  CHECK(here.io().root().tasks() == 0);
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("hundreds of tasks wait for hundreds of descriptors, and each gets its own") {
  test_loop here;
  std::vector<ends> pipes;
  for (int i = 0; i < 300; ++i) pipes.push_back(ends::of_pipe());
  std::vector<int> ready(pipes.size());
  auto reader = [&](std::size_t number) -> task<void> {
    const result<void> waited = co_await readable(here.io(), pipes[number].first.number());
    if (waited) ++ready[number];
  };
  for (std::size_t i = 0; i < pipes.size(); ++i) here.io().spawn(reader(i));
  for (std::size_t i = 0; i < pipes.size(); i += 2) testing::write_byte(pipes[i].second);
  here.run_once(20);
  for (std::size_t i = 0; i < pipes.size(); ++i) CHECK(ready[i] == (i % 2 == 0 ? 1 : 0));
  CHECK(here.io().root().tasks() == pipes.size() / 2);
}

TEST_CASE("a task of another home that waits for a descriptor of a loop ends the program") {
  const testing::child_end end = testing::run_in_child([] {
    test_loop here;
    testing::scripted_home elsewhere;
    const ends pipe = ends::of_pipe();
    auto body = [&]() -> task<void> { static_cast<void>(co_await readable(here.io(), pipe.first.number())); };
    elsewhere.root().spawn(body());
    elsewhere.run_all();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("used by tasks of its own loop") != std::string::npos);
}
