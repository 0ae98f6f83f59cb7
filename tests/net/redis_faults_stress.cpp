// tests/net/redis_faults_stress.cpp: tagged commands through a proxy that delays, splits, cuts and garbles, and with a
// server that is killed and frozen: each call ends, with its own reply or with an error. BRAID_STRESS=100 makes 10^7
// calls.
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_connection.hpp>

#include <tests/support/fault_proxy.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

/// A text that no other call has, and that shows whether it was changed on the way.
auto tag_of(std::uint64_t number) -> std::string {
  random_source mix(number);
  return "T" + std::to_string(number) + ":" + std::to_string(mix());
}

/// Whether a text is the tag of some call, unchanged.
auto is_some_tag(std::string_view text) -> bool {
  if (!text.starts_with('T')) return false;
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  return error == std::errc() && tag_of(number) == text;
}

struct tally {
  std::uint64_t right = 0;
  std::uint64_t changed = 0;   // by garbling: no call's tag
  std::uint64_t mixed_up = 0;  // another call's tag
  std::map<std::string, std::uint64_t> errors;

  void count(const result<resp_value>& got, std::string_view tag) {
    if (!got)
      ++errors[got.error().category().name() + std::string(" ") + got.error().message()];
    else
      count(*got, tag);
  }
  void count(const resp_value& got, std::string_view tag) {
    if (got.has_text() && got.text() == tag)
      ++right;
    else if (got.has_text() && is_some_tag(got.text()))
      ++mixed_up;
    else
      ++changed;
  }
};

struct crowd {
  std::uint64_t calls = 0;  ///< right ones, after which everybody goes home
  std::uint32_t tasks = 48;
  std::uint64_t next_tag = 1;  // of all tasks, which share a loop
  tally ends;
  bool over = false;
};

/// One command, or a batch of a few; some with little time, so that they leave in the middle.
auto ask(redis_pool& redis, crowd& all, random_source& random) -> task<void> {
  arena memory;
  const duration limit = random.below(16) == 0  ? duration(std::chrono::microseconds(random.below(3'000)))
                         : random.below(3) == 0 ? duration::zero()  // that of the options
                                                : duration(2s);
  if (random.below(4) != 0) {
    const std::string tag = tag_of(all.next_tag++);
    const std::array<std::string_view, 2> words{"ECHO", tag};
    const auto got = co_await redis.command(words, memory, limit);
    all.ends.count(got, tag);
    co_return;
  }
  redis_batch batch;
  const std::uint64_t first = all.next_tag;
  const std::uint64_t size = 1 + random.below(40);
  for (std::uint64_t i = 0; i < size; ++i) batch.add("ECHO", tag_of(all.next_tag++));
  const auto got = co_await redis.run(batch, memory, limit);
  if (!got) {
    all.ends.count(result<resp_value>(fail(got.error())), {});
    co_return;
  }
  for (std::uint64_t i = 0; i < size; ++i) all.ends.count((*got)[i], tag_of(first + i));
}

auto ask_again(redis_pool& redis, crowd& all, std::uint64_t seed) -> task<void> {
  random_source random(seed);
  while (!all.over) {
    const std::uint64_t right = all.ends.right;
    task<void> once = ask(redis, all, random);
    if (random.below(32) == 0)
      static_cast<void>(co_await with_timeout(std::chrono::microseconds(random.below(2'000)), std::move(once)));
    else
      co_await std::move(once);
    if (all.ends.right == right) co_await sleep_for(200us);  // it failed: others first
    all.over = all.over || all.ends.right >= all.calls;
  }
}

using disturber = std::function<task<void>(crowd&, random_source&)>;

/// Runs a crowd to its end, while `disturb` does its worst.
auto run_crowd(const redis_options& options, std::uint64_t calls, std::uint64_t seed, const disturber& disturb)
    -> tally {
  crowd all;
  all.calls = calls;
  run_on_loop([&](loop& io) -> task<void> {
    redis_pool redis(io, options, 2);
    auto body = [&](scope& in) -> task<void> {
      for (std::uint32_t i = 0; i < all.tasks; ++i) in.spawn(ask_again(redis, all, seed + i));
      random_source random(seed ^ 0xabcdef);
      while (!all.over) co_await disturb(all, random);
    };
    co_await with_scope(std::ref(body));
  });
  std::printf("%llu right, %llu changed, %llu mixed up\n", static_cast<unsigned long long>(all.ends.right),
              static_cast<unsigned long long>(all.ends.changed), static_cast<unsigned long long>(all.ends.mixed_up));
  for (const auto& [name, count] : all.ends.errors)
    std::printf("  %s: %llu\n", name.c_str(), static_cast<unsigned long long>(count));
  return all.ends;
}

auto through(const std::string& path, std::uint32_t in_flight) -> redis_options {
  redis_options options;
  options.socket_path = path;
  options.in_flight = in_flight;
  options.silence = 300ms;
  options.request_timeout = 20ms;
  options.connect_timeout = 500ms;
  options.backoff = {.first = 1ms, .max_delay = 20ms, .seed = 1};
  return options;
}

auto rest(crowd& /*all*/, random_source& /*random*/) -> task<void> { co_await sleep_for(1ms); }

}  // namespace

TEST_CASE("a tag of another call is told from one that was changed") {
  CHECK(is_some_tag(tag_of(7)));
  std::string changed = tag_of(7);
  changed[1] = '8';
  CHECK_FALSE(is_some_tag(changed));
}

TEST_CASE("replies that come late, in crumbs, half or never are nobody else's") {
  const watchdog guard(600s);
  const std::uint64_t seed = printed_seed();
  const redis_server server;
  fault_proxy proxy(server.socket_path(), seed);
  proxy.set({.delayed = 20'000, .split = 60'000, .cut = 8'000, .halved = 8'000, .garbled = 0, .swallowed = 200});
  for (const std::uint32_t in_flight : {7U, 256U}) {
    const tally ends = run_crowd(through(proxy.path(), in_flight), scaled(50'000), seed, rest);
    CHECK(ends.mixed_up == 0);
    CHECK(ends.changed == 0);
    CHECK(ends.right >= scaled(50'000));
  }
  CHECK(proxy.faults() > 0);
}

TEST_CASE("replies with other bytes in them are refused, or changed, and nobody else's") {
  const watchdog guard(600s);
  const std::uint64_t seed = printed_seed();
  const redis_server server;
  fault_proxy proxy(server.socket_path(), seed);
  proxy.set({.delayed = 4'000, .split = 20'000, .cut = 2'000, .halved = 2'000, .garbled = 60'000, .swallowed = 0});
  const tally ends = run_crowd(through(proxy.path(), 64), scaled(30'000), seed, rest);
  CHECK(ends.mixed_up == 0);
  CHECK(ends.right >= scaled(30'000));
}

TEST_CASE("a server that is killed, frozen and started again gives nobody another's reply") {
  const watchdog guard(600s);
  const std::uint64_t seed = printed_seed();
  redis_server server;
  const disturber disturb = [&](crowd&, random_source& random) -> task<void> {
    co_await sleep_for(std::chrono::milliseconds(5 + random.below(30)));
    if (random.below(2) == 0) {
      server.kill();
      co_await sleep_for(std::chrono::milliseconds(random.below(20)));
      server.start();
    } else {
      server.freeze();
      co_await sleep_for(std::chrono::milliseconds(random.below(500)));
      server.thaw();
    }
  };
  const tally ends = run_crowd(through(server.socket_path(), 128), scaled(100'000), seed, disturb);
  CHECK(ends.mixed_up == 0);
  CHECK(ends.changed == 0);
}
