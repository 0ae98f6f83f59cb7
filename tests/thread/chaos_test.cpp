// tests/thread/chaos_test.cpp: what is decided depends on the seed alone, and everything is put back.
#include <braid/thread/chaos.hpp>

#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/held_thread.hpp>
#include <tests/support/privileges.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

using braid::chaos;
using braid::cpu_set;
using braid::nice_value;
using braid::scheduling;
using braid::detail::chaos_sequence;
using braid::detail::disturbed_settings;
using braid::testing::eventually;
using braid::testing::held_thread;
using braid::testing::settings_can_change;
using namespace std::chrono_literals;

namespace {

auto sequence(std::uint64_t seed, std::size_t index, const braid::detail::disturbed_settings& before,
              std::size_t steps = 20) -> std::vector<braid::detail::disturbed_settings> {
  braid::detail::chaos_sequence decides(seed, index);
  std::vector<braid::detail::disturbed_settings> all;
  while (all.size() < steps) all.push_back(decides.next(before));
  return all;
}

auto settings_of(const held_thread& thread) -> braid::detail::disturbed_settings {
  return {.affinity = thread.info().affinity().value(), .scheduling = thread.info().scheduling().value()};
}

/// A seed whose first step changes the nice value, where there is a larger one.
auto seed_that_changes(const braid::detail::disturbed_settings& before) -> std::uint64_t {
  std::uint64_t seed = 0;
  while (seed < 100 && braid::detail::chaos_sequence(seed, 0).next(before).scheduling == before.scheduling) ++seed;
  return seed;
}

/// Whether this process may make nice values smaller.
auto may_lower_nice() -> bool {
  bool may = false;
  std::thread([&may] { may = braid::this_thread::set_nice(1) && braid::this_thread::set_nice(0); }).join();
  return may;
}

const braid::detail::disturbed_settings eight_cpus{.affinity = cpu_set::range(0, 7),
                                                   .scheduling = scheduling::other{5}};

}  // namespace

TEST_CASE("a seed gives one sequence, other seeds and other threads give others") {
  CHECK(sequence(7, 0, eight_cpus) == sequence(7, 0, eight_cpus));
  CHECK(sequence(7, 0, eight_cpus) != sequence(8, 0, eight_cpus));
  CHECK(sequence(7, 0, eight_cpus) != sequence(7, 1, eight_cpus));
  CHECK(sequence(7, 1, eight_cpus) != sequence(8, 0, eight_cpus));
}

TEST_CASE("the sequence is the same on every machine") {
  const auto steps = sequence(1, 0, eight_cpus, 3);
  std::string all;
  for (const auto& step : steps) all += step.affinity.to_string() + " " + step.scheduling.to_string() + "; ";
  CHECK(all == "4,6 other, nice 16; 0-1,5 other, nice 5; 0,7 other, nice 8; ");
}

TEST_CASE("a thread gets some of its CPUs, and a nice value that is not smaller") {
  std::set<std::string> sets;
  std::set<int> values;
  for (const auto& step : sequence(3, 0, eight_cpus, 500)) {
    REQUIRE_FALSE(step.affinity.empty());
    REQUIRE(eight_cpus.affinity.contains_all(step.affinity));
    REQUIRE(step.scheduling.is<scheduling::other>());
    sets.insert(step.affinity.to_string());
    values.insert(step.scheduling.nice()->value());
  }
  CHECK(sets.size() > 100);
  CHECK(*values.begin() == 5);
  CHECK(*values.rbegin() == 19);
}

TEST_CASE("policies stay, and those without a nice value stay as they are") {
  auto before = eight_cpus;
  before.scheduling = scheduling::fifo{10};
  for (const auto& step : sequence(3, 0, before)) CHECK(step.scheduling == before.scheduling);
  before.scheduling = scheduling::batch{19};
  for (const auto& step : sequence(3, 0, before)) CHECK(step.scheduling == before.scheduling);
}

TEST_CASE("one CPU is all that a thread with one CPU gets") {
  const braid::detail::disturbed_settings one{.affinity = {3}, .scheduling = {}};
  for (const auto& step : sequence(3, 0, one)) CHECK(step.affinity == one.affinity);
}

TEST_CASE("a thread gets what the sequence says, and back what it had") {
  if (!settings_can_change()) return;
  const held_thread thread;
  const braid::detail::disturbed_settings before = settings_of(thread);
  const std::uint64_t seed = seed_that_changes(before);
  auto expected = braid::detail::chaos_sequence(seed, 0).next(before);
  if (!may_lower_nice()) expected.scheduling = before.scheduling;
  {
    const auto running = chaos::start({thread.info()}, {.seed = seed, .interval = 1h});
    REQUIRE(running);
    REQUIRE(eventually([&] { return running->steps() == 1; }));
    CHECK(settings_of(thread) == expected);
    CHECK(running->refusals() == 0);
  }
  CHECK(settings_of(thread) == before);
}

TEST_CASE("it goes on at the interval, and ends at once at any interval") {
  const held_thread thread;
  const braid::detail::disturbed_settings before = settings_of(thread);
  {
    const auto often = chaos::start({thread.info()}, {.seed = 1, .interval = 1ns});
    REQUIRE(often);
    CHECK(eventually([&] { return often->steps() > 20; }));
  }
  CHECK(settings_of(thread) == before);
  // Would the interval be waited for, this would not end.
  CHECK(chaos::start({thread.info()}, {.seed = 1, .interval = braid::duration::max()}));
  CHECK(settings_of(thread) == before);
}

TEST_CASE("an interval of nothing or less is refused") {
  for (const braid::duration interval : {0ns, -1ns, braid::duration::min()}) {
    const auto running = chaos::start({}, {.interval = interval});
    REQUIRE_FALSE(running);
    CHECK(running.error() == braid::errc::invalid_argument);
    const auto finding = chaos::start([] { return std::vector<braid::thread_info>(); }, {.interval = interval});
    REQUIRE_FALSE(finding);
    CHECK(finding.error() == braid::errc::invalid_argument);
  }
}

TEST_CASE("threads that have ended are left out, the others get back what they had") {
  if (!settings_can_change()) return;
  const held_thread stays;
  held_thread ends_before;
  held_thread ends_meanwhile;
  const braid::detail::disturbed_settings before = settings_of(stays);
  REQUIRE(ends_before.end());
  {
    const auto running =
        chaos::start({ends_before.info(), ends_meanwhile.info(), stays.info()}, {.seed = 5, .interval = 1us});
    REQUIRE(running);
    REQUIRE(ends_meanwhile.end());
    const std::size_t now = running->steps();
    CHECK(eventually([&] { return running->steps() > now + 5; }));
    CHECK(running->refusals() == 0);
  }
  CHECK(settings_of(stays) == before);
}

TEST_CASE("the threads are looked for before each step: new ones are disturbed, those that leave are put back") {
  if (!settings_can_change()) return;
  const held_thread first;
  const held_thread second;
  const braid::detail::disturbed_settings before = settings_of(first);
  const std::uint64_t seed = seed_that_changes(before);
  auto expected = braid::detail::chaos_sequence(seed, 0).next(before);
  if (!may_lower_nice()) expected.scheduling = before.scheduling;
  std::mutex mutex;
  std::vector<braid::thread_info> wanted;
  std::condition_variable changed;
  std::size_t calls = 0;
  const auto find = [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    changed.notify_all();
    return wanted;
  };
  const auto want = [&](std::vector<braid::thread_info> threads) {
    std::unique_lock lock(mutex);
    wanted = std::move(threads);
    changed.wait(lock, [&, seen = calls] { return calls > seen + 1; });  // a step has begun with them, and ended
  };
  {
    const auto running = chaos::start(find, {.seed = seed, .interval = 1us});
    REQUIRE(running);
    want({first.info()});
    want({second.info()});
    CHECK(settings_of(first) == before);
    want({});
    CHECK(settings_of(second) == before);
    want({first.info(), second.info()});
  }
  CHECK(settings_of(first) == before);
  CHECK(settings_of(second) == before);
  {
    const auto running = chaos::start([&] { return std::vector{first.info()}; }, {.seed = seed, .interval = 1h});
    REQUIRE(running);
    REQUIRE(eventually([&] { return running->steps() == 1; }));
    CHECK(settings_of(first) == expected);
  }
  CHECK(settings_of(first) == before);
}

TEST_CASE("each thread has a sequence of its own, by its place among those that were found") {
  if (!settings_can_change()) return;
  const held_thread first;
  const held_thread second;
  const braid::detail::disturbed_settings before = settings_of(second);
  std::uint64_t seed = 0;  // by which both get different settings
  const auto next = [&](std::size_t index) { return braid::detail::chaos_sequence(seed, index).next(before).affinity; };
  while (seed < 100 && next(0) == next(1)) ++seed;
  const std::vector both{first.info(), second.info()};
  for (const bool finds : {false, true}) {
    const chaos::options options{.seed = seed, .interval = 1h};
    const auto running = finds ? chaos::start([&] { return both; }, options) : chaos::start(both, options);
    REQUIRE(running);
    REQUIRE(eventually([&] { return running->steps() == 1; }));
    CHECK(settings_of(first).affinity == next(0));
    CHECK(settings_of(second).affinity == next(1));
  }
}

TEST_CASE("what somebody else sets meanwhile stays, and the other setting is put back") {
  if (!settings_can_change()) return;
  const held_thread thread;
  const braid::detail::disturbed_settings before = settings_of(thread);
  {
    const auto running = chaos::start({thread.info()}, {.seed = seed_that_changes(before), .interval = 1h});
    REQUIRE(running);
    REQUIRE(eventually([&] { return running->steps() == 1; }));
    REQUIRE(thread.info().set_scheduling(scheduling::batch{19}));
  }
  CHECK(settings_of(thread).affinity == before.affinity);
  CHECK(settings_of(thread).scheduling == scheduling::batch{19});
}

TEST_CASE("its thread can be found, and is not there afterwards") {
  auto running = chaos::start({}, {.interval = 1h});
  REQUIRE(running);
  const auto found = braid::thread_info::find("braid-chaos");
  REQUIRE(found);
  CHECK(*found == running->info().value());
  { const chaos moved = std::move(*running); }
  CHECK(eventually([&] { return !found->is_alive(); }));
}

TEST_CASE("a chaos that is assigned ends the one that was there") {
  const held_thread one;
  const held_thread two;
  const braid::detail::disturbed_settings before = settings_of(one);
  auto running = chaos::start({one.info()}, {.seed = seed_that_changes(before), .interval = 1h});
  REQUIRE(running);
  auto next = chaos::start({two.info()}, {.interval = 1h});
  REQUIRE(next);
  *running = std::move(*next);
  CHECK(settings_of(one) == before);
  CHECK(running->info());
}

TEST_CASE("without the right to put nice values back they are left alone") {
  if (!settings_can_change()) return;
  const auto end = braid::testing::run_in_child([] {
    braid::testing::give_up_privileges();
    const held_thread thread;
    const braid::detail::disturbed_settings before = settings_of(thread);
    {
      const auto running = chaos::start({thread.info()}, {.seed = seed_that_changes(before), .interval = 1h});
      if (!running || !eventually([&] { return running->steps() == 1; })) ::_exit(1);
      if (settings_of(thread).scheduling != before.scheduling || running->refusals() != 0) ::_exit(2);
    }
    if (settings_of(thread) != before) ::_exit(3);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}

TEST_CASE("what the system refuses is counted") {
  if (!may_lower_nice()) return;
  const auto end = braid::testing::run_in_child([] {
    if (!braid::this_thread::set_nice(0)) ::_exit(3);  // chaos changes nothing if the process began with 19
    const held_thread thread;
    const auto running = chaos::start({thread.info()}, {.seed = 1, .interval = 1us});
    if (!running || !eventually([&] { return running->steps() > 0; }) || running->refusals() != 0) ::_exit(1);
    braid::testing::give_up_privileges();
    if (!eventually([&] { return running->refusals() > 0; })) ::_exit(2);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
