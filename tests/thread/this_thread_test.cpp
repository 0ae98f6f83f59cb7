// tests/thread/this_thread_test.cpp: what the caller does to itself is what others see of it.
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/privileges.hpp>

#include <ostream>
#include <system_error>
#include <thread>

using braid::cpu_set;
using braid::nice_value;
using braid::scheduling;
using braid::testing::settings_can_change;
namespace this_thread = braid::this_thread;

TEST_CASE("the caller sets what is then seen from outside") {
  if (!settings_can_change()) return;
  const auto main_nice = this_thread::nice();
  std::thread([] {
    const auto self = this_thread::info();
    REQUIRE(self);
    CHECK(this_thread::set_name("mine"));
    CHECK(self->name() == "mine");

    const auto cpus = this_thread::affinity();
    REQUIRE(cpus);
    CHECK(cpus == self->affinity());
    const cpu_set one{*cpus->first()};
    CHECK(this_thread::set_affinity(one));
    CHECK(self->affinity() == one);

    CHECK(this_thread::set_nice(19));
    CHECK(this_thread::nice() == nice_value(19));
    CHECK(self->nice() == nice_value(19));
    CHECK(this_thread::set_scheduling(scheduling::batch{19}));
    CHECK(this_thread::scheduling() == scheduling(scheduling::batch{19}));
    CHECK(self->scheduling() == this_thread::scheduling());
  }).join();
  CHECK(this_thread::nice() == main_nice);
}

TEST_CASE("the caller has no priority without a real-time policy, and keeps its policy") {
  if (!settings_can_change()) return;
  std::thread([] {
    const scheduling before = scheduling::batch{*this_thread::nice()};
    CHECK(this_thread::set_scheduling(before));
    REQUIRE_FALSE(this_thread::set_priority(5));
    CHECK(this_thread::set_priority(5).error() == std::errc::invalid_argument);
    CHECK(this_thread::priority().error() == std::errc::invalid_argument);
    CHECK(this_thread::scheduling() == before);
    if (!this_thread::set_scheduling(scheduling::round_robin{3})) return;  // not granted here
    CHECK(this_thread::set_priority(4));
    CHECK(this_thread::scheduling() == scheduling(scheduling::round_robin{4}));
    CHECK(this_thread::priority() == braid::realtime_priority(4));
  }).join();
}

TEST_CASE("an affinity without CPUs is refused") {
  if (!settings_can_change()) return;
  CHECK(this_thread::set_affinity(cpu_set()).error() == std::errc::invalid_argument);
}
