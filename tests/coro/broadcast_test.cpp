// tests/coro/broadcast_test.cpp: every receiver gets every value, and receivers that lag lose the oldest.
#include <braid/coro/broadcast.hpp>

#include <braid/coro/task.hpp>

#include <tests/support/scripted_home.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

using namespace braid;
using testing::scripted_home;

namespace {

struct log {
  std::vector<int> values;
  std::uint64_t missed = 0;
  bool closed = false;
};

auto listen(broadcast<int>::receiver from, log& into) -> task<void> {
  while (true) {
    const auto got = co_await from.receive();
    if (!got) break;
    into.values.push_back(got->value);
    into.missed += got->missed;
  }
  into.closed = true;
}

}  // namespace

TEST_CASE("every receiver gets every value that is sent after it has subscribed") {
  scripted_home one;
  scripted_home two;
  broadcast<int> news(8);
  CHECK(news.send(0));
  log first;
  log second;
  one.root().spawn(listen(news.subscribe(), first));
  CHECK(news.send(1));
  two.root().spawn(listen(news.subscribe(), second));
  CHECK(news.send(2));
  one.run_all();
  two.run_all();
  CHECK(first.values == std::vector{1, 2});
  CHECK(second.values == std::vector{2});
  news.close();
  one.run_all();
  two.run_all();
  CHECK(first.closed);
  CHECK(second.closed);
  CHECK(first.missed == 0);
  CHECK(news.send(3).error() == errc::closed);
}

TEST_CASE("a receiver that lags behind learns how many it has missed, and gets the newest") {
  scripted_home where;
  broadcast<int> news(3);
  log slow;
  where.root().spawn(listen(news.subscribe(), slow));
  for (int i = 1; i <= 10; ++i) CHECK(news.send(i));
  where.run_all();
  CHECK(slow.values == std::vector{8, 9, 10});
  CHECK(slow.missed == 7);
  for (int i = 11; i <= 13; ++i) CHECK(news.send(i));
  where.run_all();
  CHECK(slow.missed == 7);
  CHECK(slow.values.size() == 6);
  news.close();
  where.run_all();
}

TEST_CASE("what is there when it closes is still received") {
  scripted_home where;
  broadcast<int> news(4);
  auto early = news.subscribe();
  CHECK(news.send(1));
  CHECK(news.send(2));
  news.close();
  log late;
  where.root().spawn(listen(early, late));
  CHECK(late.values == std::vector{1, 2});
  CHECK(late.closed);
}

TEST_CASE("a stopped receiver leaves, and the others still receive") {
  scripted_home stops;
  scripted_home lives;
  broadcast<int> news(4);
  log gone;
  log stays;
  stops.root().spawn(listen(news.subscribe(), gone));
  lives.root().spawn(listen(news.subscribe(), stays));
  stops.root().request_stop();
  CHECK(news.send(1));
  stops.run_all();
  lives.run_all();
  CHECK(gone.values.empty());
  CHECK(stays.values == std::vector{1});
  news.close();
  lives.run_all();
}
