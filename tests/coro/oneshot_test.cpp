// tests/coro/oneshot_test.cpp: one value from one end to the other.
#include <braid/coro/channel.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <memory>
#include <optional>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::scripted_home;

TEST_CASE("the value arrives, sent before or after the wait began") {
  scripted_home where;
  auto early = make_oneshot<std::unique_ptr<int>>();
  auto late = make_oneshot<int>();
  int sum = 0;
  auto body = [&]() -> task<void> {
    const auto pointer = co_await early.second.receive();
    sum += **pointer;
    const result<int> value = co_await late.second.receive();
    sum += *value;
  };
  CHECK(early.first.send(std::make_unique<int>(1)));
  where.root().spawn(body());
  CHECK(sum == 1);
  where.elsewhere([&] { CHECK(late.first.send(2)); });
  where.run_all();
  CHECK(sum == 3);
}

TEST_CASE("a sender that goes without sending is a broken promise, and so is a second receive") {
  scripted_home where;
  std::error_code first;
  std::error_code second;
  auto pair = std::make_optional(make_oneshot<int>());
  auto broken = [&](oneshot_receiver<int> from) -> task<void> {
    const result<int> value = co_await from.receive();
    first = value.error();
  };
  where.root().spawn(broken(std::move(pair->second)));
  pair.reset();
  where.run_all();
  CHECK(first == errc::broken_promise);
  auto twice = [&]() -> task<void> {
    auto [sender, receiver] = make_oneshot<int>();
    CHECK(sender.send(1));
    CHECK(co_await receiver.receive() == 1);
    const result<int> again = co_await receiver.receive();
    second = again.error();
  };
  where.root().spawn(twice());
  CHECK(second == errc::broken_promise);
}

TEST_CASE("a receiver that has gone refuses the value, and the sender can ask") {
  deaths seen;
  auto pair = make_oneshot<mortal>();
  CHECK_FALSE(pair.first.is_closed());
  { const oneshot_receiver<mortal> gone = std::move(pair.second); }
  CHECK(pair.first.is_closed());
  const result<void> sent = pair.first.send(mortal(seen));
  CHECK(sent.error() == errc::closed);
  CHECK(seen.count == 1);
}

TEST_CASE("a value that nobody receives dies with the receiver") {
  deaths seen;
  {
    auto pair = make_oneshot<mortal>();
    CHECK(pair.first.send(mortal(seen)));
    CHECK(seen.count == 0);
  }
  CHECK(seen.count == 1);
}

TEST_CASE("a stopped receiver leaves, and the sender learns of it") {
  scripted_home where;
  auto pair = make_oneshot<int>();
  auto body = [](oneshot_receiver<int> from) -> task<void> { static_cast<void>(co_await from.receive()); };
  where.root().spawn(body(std::move(pair.second)));
  CHECK_FALSE(pair.first.is_closed());
  where.root().request_stop();
  where.run_all();
  CHECK(pair.first.is_closed());
}

TEST_CASE("a second send ends the program") {
  const auto end = testing::run_in_child([] {
    auto pair = make_oneshot<int>();
    static_cast<void>(pair.first.send(1));
    static_cast<void>(pair.first.send(2));
  });
  CHECK(end.signal == SIGABRT);
}
