// tests/graph/flow_stress.cpp: flows on a real loop and real workers: timeouts that race with ends, stops at every
// moment, and many runs at once.
#include <braid/graph/flow.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

using namespace braid;
using cause = graph_failure::cause;

namespace {

atomic<int> alive{0};

/// A value with memory of its own, so that a sanitizer sees one that is lost, used too late or destroyed twice.
class token {
 public:
  explicit token(int value) : value_(std::make_unique<int>(value)) { alive.fetch_add(1, relaxed); }
  token(token&& other) noexcept : value_(std::move(other.value_)) { alive.fetch_add(1, relaxed); }
  auto operator=(token&&) noexcept -> token& = default;
  ~token() { alive.fetch_sub(1, relaxed); }
  [[nodiscard]] auto get() const -> int { return *value_; }

 private:
  std::unique_ptr<int> value_;
};

void spin(duration span) {
  for (const auto until = steady_time().now() + span; steady_time().now() < until;) {}
}

struct tally {
  std::uint64_t done = 0, timed_out = 0, failed = 0, stopped = 0, wrong = 0;

  void print(const char* what) const {
    std::printf("%s: %llu done, %llu timed out, %llu failed, %llu stopped\n", what,
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(timed_out),
                static_cast<unsigned long long>(failed), static_cast<unsigned long long>(stopped));
  }
};

/// spans: how long each node takes.
struct spans {
  duration waits, computes;
};

/// a waits, b computes, both with a timeout; sum takes both. One of them may throw.
auto racing_flow(duration timeout) -> flow<token(spans, int)> {
  flow_builder<spans, int> draft;
  const auto given = draft.input<0>();
  const auto n = draft.input<1>();
  const auto a = draft.add(
      {.name = "a", .timeout = timeout},
      [](const spans& in, const int& value) -> task<token> {
        co_await sleep_for(in.waits);
        co_return token(value);
      },
      given, n);
  const auto b = draft.add(
      {.name = "b", .timeout = timeout},
      [](const spans& in, int value) {
        spin(in.computes);
        if (value % 17 == 0) throw std::runtime_error("b");
        return token(value + 1);
      },
      given, n);
  const auto sum = draft.add(
      {.name = "sum", .size = node_size::small},
      [](const token& x, const token& y) { return token(x.get() + y.get()); }, a, b);
  return std::move(draft).build(sum).value();
}

auto run_races(runtime& on, std::uint64_t seed, std::size_t rounds, tally& counts) -> task<void> {
  random_source random(seed);
  const auto flow = racing_flow(100us);
  for (std::size_t i = 0; i < rounds; ++i) {
    const spans given{duration(static_cast<duration::rep>(70'000 + random.below(40'000))),
                      duration(static_cast<duration::rep>(random.below(20'000)))};
    const int n = 1 + static_cast<int>(random.below(1000));
    auto result = co_await flow.run(on.workers(), given, n);
    if (result.has_value()) {
      ++counts.done;
      if (result.take().get() != 2 * n + 1 || n % 17 == 0) ++counts.wrong;
    } else if (result.failure()->why == cause::node_timeout) {
      ++counts.timed_out;
    } else {
      ++counts.failed;
      if (n % 17 != 0 || result.failure()->node != 1) ++counts.wrong;
    }
  }
}

}  // namespace

TEST_CASE("a timeout that races with the end of its node gives a value or a timeout, and loses nothing") {
  const testing::watchdog guard(std::chrono::seconds(280));
  tally counts;
  const auto all = runtime::create({.workers = 2}).value();
  constexpr std::size_t side_by_side = 8;
  const std::uint64_t seed = testing::printed_seed();
  auto races = [&](scope& children) -> task<void> {
    for (std::size_t i = 0; i < side_by_side; ++i)
      children.spawn(run_races(*all, seed + i, testing::scaled(100'000 / side_by_side), counts));
    co_return;
  };
  all->run(with_scope(std::ref(races)));
  counts.print("race");
  CHECK(counts.wrong == 0);
  CHECK(alive.load(relaxed) == 0);
}

TEST_CASE("a stop from another thread at any moment leaves nothing behind") {
  const testing::watchdog guard(std::chrono::seconds(280));
  tally counts;
  const auto all = runtime::create({.workers = 2}).value();
  const std::uint64_t seed = testing::printed_seed();
  auto drive = [&]() -> task<void> {
    random_source random(seed);
    const auto flow = racing_flow(1h);
    scope& around = co_await this_scope();
    for (std::size_t i = 0; i < testing::scaled(20'000); ++i) {
      const spans given{duration(static_cast<duration::rep>(random.below(20'000))),
                        duration(static_cast<duration::rep>(random.below(20'000)))};
      const duration when(static_cast<duration::rep>(random.below(60'000)));
      scope inside(around);
      outcome<flow_result<token>> ended;
      auto one = [&]() -> task<void> { ended = co_await as_outcome(flow.run(all->workers(), given, 1)); };
      inside.spawn(one());
      std::thread stops;
      if (i % 8 == 0) {
        stops = std::thread([&inside, when] {
          spin(when);
          inside.request_stop();
        });
      } else {
        static_cast<void>(post(all->workers(), [&inside, when] {
          spin(when / 8);
          inside.request_stop();
        }));
      }
      co_await inside.join();
      ended.is_stopped() ? ++counts.stopped : ++counts.done;
      if (ended.has_exception() || (ended.has_value() && ended.take().take().get() != 3)) ++counts.wrong;
      // The stopping thread still points to the scope; once it has asked, the second join waits for what it has posted.
      while (!inside.stop().requested()) co_await sleep_for(10us);
      co_await inside.join();
      if (stops.joinable()) stops.join();
    }
  };
  all->run(drive());
  counts.print("stops");
  CHECK(counts.wrong == 0);
  CHECK(alive.load(relaxed) == 0);
}

TEST_CASE("many runs of one flow at once, on several homes, keep their values apart") {
  const testing::watchdog guard(std::chrono::seconds(280));
  const auto flow = racing_flow(1h);
  const auto first = runtime::create({.workers = 2}).value();
  const auto second = runtime::create({.workers = 1}).value();
  atomic<int> wrong{0};
  auto crowd = [&](runtime& on, int from) -> task<void> {
    auto body = [&](scope& children) -> task<void> {
      auto one = [&](int n) -> task<void> {
        auto result = co_await flow.run(on.workers(), spans{duration(n * 100), duration(n * 10)}, n);
        const bool fails = n % 17 == 0;
        if (result.has_value() == fails || (!fails && result.take().get() != 2 * n + 1)) wrong.fetch_add(1, relaxed);
      };
      for (int n = from; n < from + 2000; ++n) children.spawn(one(n));
      co_return;
    };
    co_await with_scope(std::ref(body));
  };
  std::thread other([&] { second->run(crowd(*second, 5000)); });
  first->run(crowd(*first, 1));
  other.join();
  CHECK(wrong.load(relaxed) == 0);
  CHECK(alive.load(relaxed) == 0);
}
