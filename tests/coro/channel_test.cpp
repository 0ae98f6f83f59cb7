// tests/coro/channel_test.cpp: values between tasks, with bounded room, closing and stops.
#include <braid/coro/channel.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace braid;
using testing::scripted_home;

namespace {

using values = std::vector<int>;

auto send_all(channel<int>& to, values all) -> task<void> {
  for (const int value : all) {
    const result<void> sent = co_await to.send(value);
    if (!sent) co_return;
  }
}

auto receive_all(channel<int>& from, values& into) -> task<void> {
  while (const std::optional<int> value = co_await from.receive()) into.push_back(*value);
  into.push_back(-1);
}

}  // namespace

TEST_CASE("values arrive in order, whatever the room") {
  for (const std::size_t room : {0U, 1U, 2U, 100U}) {
    scripted_home one;
    scripted_home two;
    channel<int> line(room);
    values got;
    one.root().spawn(send_all(line, {1, 2, 3, 4, 5}));
    two.root().spawn(receive_all(line, got));
    for (int i = 0; i < 10; ++i) {
      one.run_all();
      two.run_all();
    }
    CHECK(got == values{1, 2, 3, 4, 5});
    line.close();
    two.run_all();
    CHECK(got == values{1, 2, 3, 4, 5, -1});
    CHECK(one.root().tasks() == 0);
    CHECK(two.root().tasks() == 0);
  }
}

TEST_CASE("a sender waits while there is no room, and its value keeps its place") {
  scripted_home where;
  channel<int> line(2);
  where.root().spawn(send_all(line, {1, 2, 3}));
  where.root().spawn(send_all(line, {4}));
  CHECK(line.size() == 2);
  CHECK(where.root().tasks() == 2);
  CHECK(line.try_receive() == 1);
  CHECK(line.size() == 2);
  CHECK(line.try_receive() == 2);
  where.run_all();
  CHECK(where.root().tasks() == 0);
  CHECK(line.try_receive() == 3);
  CHECK(line.try_receive() == 4);
  CHECK_FALSE(line.try_receive());
}

TEST_CASE("a value that the caller keeps is sent as a copy") {
  channel<std::string> line(1);
  const std::string kept = "kept";
  CHECK(line.try_send(kept));
  CHECK(line.try_send(kept).error() == errc::full);
  CHECK(kept == "kept");
  CHECK(line.try_receive() == "kept");
}

TEST_CASE("a value is made of its parts by the call that sends it") {
  struct parcel {
    std::string name;
    std::unique_ptr<int> content;
  };
  scripted_home where;
  channel<parcel> line(1);
  std::vector<result<void>> sent;
  auto sender = [&]() -> task<void> {
    sent.push_back(co_await line.emplace("first", std::make_unique<int>(1)));
    sent.push_back(co_await line.emplace("second", std::make_unique<int>(2)));
    sent.push_back(co_await line.emplace("third", std::make_unique<int>(3)));
  };
  where.root().spawn(sender());
  std::optional<parcel> got = line.try_receive();
  REQUIRE(got.has_value());
  CHECK(got->name == "first");
  CHECK(*got->content == 1);
  where.run_all();
  line.close();
  where.run_all();
  got = line.try_receive();
  REQUIRE(got.has_value());
  CHECK(got->name == "second");
  REQUIRE(sent.size() == 3);
  CHECK(sent[0].has_value());
  CHECK(sent[1].has_value());
  CHECK(sent[2] == fail(errc::closed));
}

TEST_CASE("move-only values pass, and a value that is refused stays with the sender") {
  scripted_home where;
  channel<std::unique_ptr<int>> line(1);
  CHECK(line.try_send(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  const result<void> full = line.try_send(std::move(second));
  CHECK(full.error() == errc::full);
  REQUIRE(second != nullptr);
  line.close();
  CHECK(line.is_closed());
  const result<void> closed = line.try_send(std::move(second));
  CHECK(closed.error() == errc::closed);
  CHECK(second != nullptr);
  int got = 0;
  auto body = [&]() -> task<void> {
    const auto value = co_await line.receive();
    got = **value;
    CHECK_FALSE(co_await line.receive());
  };
  where.root().spawn(body());
  CHECK(got == 1);
}

TEST_CASE("closing refuses the values of senders who wait, and wakes everybody") {
  scripted_home where;
  channel<int> line(1);
  int refused = 0;
  auto sender = [&](int value) -> task<void> {
    const result<void> sent = co_await line.send(value);
    if (!sent && sent.error() == errc::closed) ++refused;
  };
  for (int i = 0; i < 3; ++i) where.root().spawn(sender(i));
  line.close();
  line.close();
  where.run_all();
  CHECK(refused == 2);
  values got;
  where.root().spawn(receive_all(line, got));
  CHECK(got == values{0, -1});
}

TEST_CASE("receivers are served in the order in which they came") {
  scripted_home where;
  channel<int> line(4);
  std::vector<std::pair<int, int>> got;
  auto receiver = [&](int name) -> task<void> {
    const auto value = co_await line.receive();
    got.emplace_back(name, *value);
  };
  for (int i = 0; i < 3; ++i) where.root().spawn(receiver(i));
  for (int i = 0; i < 3; ++i) CHECK(line.try_send(10 + i));
  where.run_all();
  CHECK(got == std::vector<std::pair<int, int>>{{0, 10}, {1, 11}, {2, 12}});
}

TEST_CASE("a receiver that is stopped leaves, and the value stays for another") {
  scripted_home stops;
  scripted_home lives;
  channel<int> line(1);
  values gone;
  values got;
  stops.root().spawn(receive_all(line, gone));
  stops.root().request_stop();
  CHECK(line.try_send(1));
  stops.run_all();
  CHECK(gone.empty());
  lives.root().spawn(receive_all(line, got));
  CHECK(got == values{1});
  line.close();
  lives.run_all();
}

TEST_CASE("a receiver that was handed a value before its stop receives it") {
  scripted_home stops;
  channel<int> line(1);
  values got;
  stops.root().spawn(receive_all(line, got));
  CHECK(line.try_send(7));
  stops.root().request_stop();
  stops.run_all();
  CHECK(got == values{7});
  CHECK(stops.root().tasks() == 0);
}

TEST_CASE("a sender that is stopped while it waits keeps its value, and the next one moves up") {
  scripted_home stops;
  scripted_home lives;
  channel<int> line(1);
  CHECK(line.try_send(0));
  stops.root().spawn(send_all(line, {1}));
  lives.root().spawn(send_all(line, {2}));
  stops.root().request_stop();
  stops.run_all();
  CHECK(line.try_receive() == 0);
  CHECK(line.try_receive() == 2);
  CHECK_FALSE(line.try_receive());
  lives.run_all();
}

TEST_CASE("a task whose budget is used up leaves the next value in the channel") {
  scripted_home where;
  constexpr int values = detail::ready_awaits_in_succession + 2;
  channel<int> line(values);
  for (int i = 0; i < values; ++i) REQUIRE(line.try_send(i));
  int sum = 0;
  auto receives = [&]() -> task<void> {
    for (int i = 0; i < values - 1; ++i) sum += *co_await line.receive();
  };
  where.refill_budget();
  where.root().spawn(receives());
  CHECK(where.has_work());
  CHECK(line.size() == 2);
  CHECK(line.try_receive() == values - 2);  // the next one goes to whoever runs first
  where.run_all();
  CHECK(where.root().tasks() == 0);
  CHECK(line.size() == 0);
  CHECK(sum == (values - 2) * (values - 3) / 2 + values - 1);
}
