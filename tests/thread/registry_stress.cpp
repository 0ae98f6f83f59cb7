// tests/thread/registry_stress.cpp: queries agree with loops while threads come and go, and nobody is lost or left
// over.
#include <braid/thread/registry.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/atomic.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using braid::registration;
using braid::registry_observer;
using braid::relaxed;
using braid::thread_entry;
using braid::thread_query;
using braid::thread_registry;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

constexpr std::array<const char*, 3> tags{"io", "compute", "timer"};

/// Threads of which some stay registered, and the others come and go.
class crowd {
 public:
  crowd(const thread_registry& registry, std::size_t staying, std::size_t moving, std::uint64_t seed)
      : ready_(static_cast<std::ptrdiff_t>(staying)) {
    for (std::size_t i = 0; i < staying; ++i)
      threads_.emplace_back([this, &registry, i] {
        const registration here(registry, {.tag = "stays", .name = std::to_string(i)});
        ready_.count_down();
        gone_.wait();
      });
    for (std::size_t i = 0; i < moving; ++i)
      threads_.emplace_back([this, &registry, seed, i] { come_and_go(registry, seed + i); });
    ready_.wait();
  }
  crowd(const crowd&) = delete;
  auto operator=(const crowd&) -> crowd& = delete;
  ~crowd() {
    over_.store(true, relaxed);
    gone_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

  /// How often somebody has registered and unregistered.
  [[nodiscard]] auto visits() const -> std::size_t { return visits_.load(relaxed); }

 private:
  /// Registers and unregisters its thread, over and over, under a random tag.
  void come_and_go(const thread_registry& registry, std::uint64_t seed) {
    braid::random_source random(seed);
    while (!over_.load(relaxed)) {
      const registration here(registry, {.tag = tags[random.below(tags.size())], .name = "visitor"});
      if (random.below(4) == 0) std::this_thread::yield();
      visits_.fetch_add(1, relaxed);
    }
  }

  std::latch ready_;
  std::latch gone_{1};
  braid::atomic<bool> over_{false};
  braid::atomic<std::size_t> visits_{0};
  std::vector<std::thread> threads_;
};

/// The answers of a plain loop over the entries.
struct by_hand {
  explicit by_hand(const std::vector<thread_entry>& entries, const std::string& tag, std::size_t skip,
                   std::size_t take) {
    std::size_t matches = 0;
    for (const thread_entry& entry : entries) {
      if (entry.tag != tag) continue;
      if (!first) first = entry;
      if (matches++ >= skip && names.size() < take) names.push_back(entry.name);
      ++total;
    }
  }

  std::optional<thread_entry> first;
  std::vector<std::string> names;
  std::size_t total = 0;
};

auto agrees(const thread_query& threads, braid::random_source& random) -> bool {
  const std::string tag = random.below(3) == 0 ? "stays" : tags[random.below(tags.size())];
  const std::size_t skip = random.below(4);
  const std::size_t take = random.below(40);
  const by_hand expected(threads.to_vector(), tag, skip, take);
  const auto found = threads.where<&thread_entry::tag>(tag);
  return found.count() == expected.total && threads.find_by<&thread_entry::tag>(tag) == expected.first &&
         threads.contains<&thread_entry::tag>(tag) == (expected.total > 0) &&
         found.skip(skip).take(take).project<&thread_entry::name>().to_vector() == expected.names &&
         found.all([&](const thread_entry& entry) { return entry.tag == tag; }) &&
         threads.none([](const thread_entry& entry) { return entry.tag.empty() || entry.tid == 0; });
}

/// The threads that stay are there, each once, and registrations stand in their order.
auto is_whole(const thread_query& threads, std::size_t staying) -> bool {
  const auto generations = threads.project<&thread_entry::generation>().to_vector();
  auto names = threads.where<&thread_entry::tag>("stays").project<&thread_entry::name>().to_vector();
  std::ranges::sort(names);
  return names.size() == staying && std::ranges::adjacent_find(names) == names.end() &&
         std::ranges::adjacent_find(generations, std::greater_equal()) == generations.end();
}

}  // namespace

TEST_CASE("queries agree with a plain loop over 50 threads while threads come and go") {
  const braid::testing::watchdog dog(250s);
  const std::uint64_t seed = braid::testing::printed_seed();
  braid::random_source random(seed);
  const thread_registry registry;
  bool agreed = true;
  bool whole = true;
  {
    const crowd threads(registry, 25, 25, seed);
    for (const std::size_t enough = scaled(200'000); threads.visits() < enough && agreed && whole;) {
      const thread_query now = registry.snapshot();
      agreed = agrees(now, random);
      whole = is_whole(now, 25);
      std::this_thread::yield();
    }
  }
  CHECK(agreed);
  CHECK(whole);
  CHECK(registry.size() == 0);
}

TEST_CASE("two registries that are merged agree with a loop while threads come and go") {
  const braid::testing::watchdog dog(250s);
  const std::uint64_t seed = braid::testing::printed_seed();
  braid::random_source random(seed);
  const thread_registry one;
  const thread_registry two;
  bool agreed = true;
  {
    const crowd first(one, 5, 5, seed);
    const crowd second(two, 5, 5, seed + 1000);
    for (const std::size_t enough = scaled(50'000); std::min(first.visits(), second.visits()) < enough && agreed;) {
      const thread_query now = thread_registry::merged({one, two});
      agreed = agrees(now, random) && now.where<&thread_entry::tag>("stays").count() == 10;
      std::this_thread::yield();
    }
  }
  CHECK(agreed);
}

TEST_CASE("a registration ends where it began while the default is replaced by several threads") {
  const braid::testing::watchdog dog(250s);
  const std::uint64_t seed = braid::testing::printed_seed();
  const thread_registry always = braid::default_registry();
  const std::array<thread_registry, 3> others;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&others, i, rounds = scaled(20'000)] {
      for (std::size_t round = 0; round < rounds; ++round) const thread_registry::scoped_default replaced(others[i]);
    });
  braid::atomic<std::size_t> astray{0};  // registrations that their registry does not have
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&astray, seed, i, rounds = scaled(20'000)] {
      braid::random_source random(seed + i);
      for (std::size_t round = 0; round < rounds; ++round) {
        const registration here({.tag = "io", .name = "visitor"});
        if (random.below(2) == 0) std::this_thread::yield();
        if (!here.registry().has(here.entry())) astray.fetch_add(1, relaxed);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(astray.load(relaxed) == 0);
  CHECK(braid::default_registry() == always);
  CHECK(always.size() == 0);
  for (const thread_registry& other : others) CHECK(other.size() == 0);
}

TEST_CASE("each registration is reported once as it comes and once as it goes, and none after the observer has ended") {
  const braid::testing::watchdog dog(250s);
  const std::uint64_t seed = braid::testing::printed_seed();
  const thread_registry registry;
  braid::atomic<std::int64_t> came{0};
  braid::atomic<std::int64_t> went{0};
  const auto counting = [](braid::atomic<std::int64_t>& count) {
    return [&count](const thread_entry&) { count.fetch_add(1, relaxed); };
  };
  {
    const registry_observer observer(registry, {.registered = counting(came), .unregistered = counting(went)});
    const crowd threads(registry, 2, 6, seed);
    braid::atomic<bool> observing{false};
    braid::atomic<std::size_t> late{0};
    for (const std::size_t enough = scaled(50'000); threads.visits() < enough;) {
      observing.store(true, relaxed);
      {
        const registry_observer passing(registry, {.registered = [&](const thread_entry&) {
                                          std::this_thread::yield();
                                          if (!observing.load(relaxed)) late.fetch_add(1, relaxed);
                                        }});
        std::this_thread::yield();
      }
      observing.store(false, relaxed);
    }
    CHECK(late.load(relaxed) == 0);
  }
  CHECK(came.load(relaxed) >= 2);
  CHECK(came.load(relaxed) == went.load(relaxed));
}
