// tests/coro/channel_stress.cpp: senders and receivers on several loops, of which any may be stopped at any time.
#include <braid/base/random.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

using namespace braid;

namespace {

constexpr std::size_t homes = 3;

/// What one home has counted; nobody else touches it meanwhile.
struct tally {
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
  std::uint64_t next = 0;
  std::uint64_t stops = 0;
};

class storm {
 public:
  storm(std::size_t room, std::uint64_t seed) : line(room), seed_(seed) {}

  auto drive(std::size_t index, std::size_t rounds) -> task<void> {
    random_source random(seed_ + index);
    tallies[index].next = index << 32U;
    for (std::size_t i = 0; i < rounds; ++i) co_await one_round(tallies[index], random);
  }

  channel<std::unique_ptr<std::uint64_t>> line;
  std::array<tally, homes> tallies;

 private:
  auto one_round(tally& mine, random_source& random) -> task<void> {
    scope& around = co_await this_scope();
    scope children(around);
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) children.spawn(send(mine, 1 + random.below(8)));
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) children.spawn(receive(mine, 1 + random.below(8)));
    children.spawn(stop_after(children, mine, random.below(6)));
    co_await children.join();
  }

  auto send(tally& mine, std::uint64_t count) -> task<void> {
    for (; count > 0; --count) {
      const std::uint64_t number = mine.next++;
      const auto sent = co_await line.send(std::make_unique<std::uint64_t>(number));
      if (sent) mine.sent.push_back(number);
    }
  }

  auto receive(tally& mine, std::uint64_t count) -> task<void> {
    for (; count > 0; --count) {
      const auto value = co_await line.receive();
      if (value) mine.received.push_back(**value);
    }
  }

  static auto stop_after(scope& all, tally& mine, std::uint64_t turns) -> task<void> {
    for (; turns > 0; --turns) co_await yield();
    all.request_stop();
    ++mine.stops;
  }

  std::uint64_t seed_;
};

auto sorted(std::vector<std::uint64_t> all) {
  std::sort(all.begin(), all.end());
  return all;
}

void append(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

TEST_CASE("every value that was sent is received once or still there, whoever is stopped when") {
  const testing::watchdog guard(std::chrono::seconds(250));
  const std::uint64_t seed = testing::printed_seed();
  for (const std::size_t room : {0U, 1U, 5U}) {
    testing::looping_threads loops(homes);
    storm all(room, seed);
    loops.run_on_each([&](std::size_t index) { return all.drive(index, testing::scaled(3000)); });
    std::vector<std::uint64_t> sent;
    std::vector<std::uint64_t> received;
    for (const tally& one : all.tallies) {
      append(sent, one.sent);
      append(received, one.received);
      CHECK(one.stops > 0);
    }
    std::printf("channel with room for %zu: %zu values\n", room, sent.size());
    while (const auto left = all.line.try_receive()) received.push_back(**left);
    CHECK(sent.size() > 100);
    CHECK(sorted(sent) == sorted(received));
  }
}
