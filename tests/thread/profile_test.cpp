// tests/thread/profile_test.cpp: profiles are applied setting by setting, and what was refused is said.
#include <braid/thread/profile.hpp>

#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/held_thread.hpp>
#include <tests/support/privileges.hpp>

#include <ostream>
#include <system_error>

#include <unistd.h>

using braid::apply;
using braid::cpu_set;
using braid::scheduling;
using braid::settings_report;
using braid::thread_profile;
using braid::testing::held_thread;
using braid::testing::settings_can_change;

namespace {

static_assert(braid::detail::thread_target<const braid::thread_info>);
static_assert(braid::detail::thread_target<braid::thread>);
static_assert(braid::detail::thread_target<const braid::thread_view<std::thread>>);
static_assert(!braid::detail::thread_target<std::thread>);

}  // namespace

TEST_CASE("the profiles of the library say what their names promise") {
  CHECK(thread_profile::realtime().scheduling == scheduling(scheduling::fifo{40}));
  CHECK(thread_profile::low_latency().scheduling == scheduling(scheduling::other{-10}));
  CHECK(thread_profile::throughput().scheduling == scheduling(scheduling::batch{0}));
  CHECK(thread_profile::background().scheduling == scheduling(scheduling::idle{}));
  for (const auto& profile : {thread_profile::realtime(), thread_profile::low_latency(), thread_profile::throughput(),
                              thread_profile::background()}) {
    CHECK_FALSE(profile.name);
    CHECK_FALSE(profile.affinity);
  }
}

TEST_CASE("a profile of one's own is applied as a whole, and only what it sets") {
  if (!settings_can_change()) return;
  held_thread held("unchanged");
  const cpu_set one{*held.info().affinity()->first()};
  const thread_profile mine{.affinity = one, .scheduling = scheduling::idle{}};
  const auto report = apply(mine, held.info());
  CHECK(report.all_applied());
  CHECK(report.to_string() == "affinity applied, scheduling applied");
  CHECK(held.info().name() == "unchanged");
  CHECK(held.info().affinity() == one);
  CHECK(held.info().scheduling() == scheduling(scheduling::idle{}));
  CHECK(apply(thread_profile(), held.info()).outcomes().empty());
}

TEST_CASE("a profile is applied to views, threads and the caller") {
  if (!settings_can_change()) return;
  held_thread held;
  CHECK(apply(thread_profile::background(), braid::thread_view(held.native())).all_applied());
  CHECK(held.info().scheduling() == scheduling(scheduling::idle{}));

  auto worker = braid::thread::create({}, [](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  REQUIRE(worker);
  CHECK(apply(thread_profile{.name = "renamed"}, *worker).all_applied());
  CHECK(worker->name() == "renamed");

  std::thread([] {
    const scheduling patient = scheduling::batch{*braid::this_thread::nice()};
    CHECK(braid::this_thread::apply({.name = "self", .scheduling = patient}).all_applied());
    CHECK(braid::this_thread::name() == "self");
    CHECK(braid::this_thread::scheduling() == patient);
  }).join();
}

TEST_CASE("a setting that is refused does not keep the others from being applied") {
  if (!settings_can_change()) return;
  held_thread held("before");
  const thread_profile mixed{
      .name = "much longer than a name", .affinity = cpu_set(), .scheduling = scheduling::idle{}};
  const auto report = apply(mixed, held.info());
  REQUIRE(report.outcomes().size() == 3);
  CHECK(report.outcomes()[0].setting == settings_report::setting::name);
  CHECK(report.outcomes()[0].outcome.error() == std::errc::invalid_argument);
  CHECK(report.outcomes()[1].setting == settings_report::setting::affinity);
  CHECK(report.outcomes()[1].outcome.error() == std::errc::invalid_argument);
  CHECK(report.outcomes()[2].setting == settings_report::setting::scheduling);
  CHECK(report.outcomes()[2].outcome);
  CHECK(held.info().name() == "before");
  CHECK(held.info().scheduling() == scheduling(scheduling::idle{}));
}

TEST_CASE("on a thread that has ended every setting is refused as no such process") {
  held_thread held;
  REQUIRE(held.end());
  const auto report = apply({.name = "x", .affinity = cpu_set{0}, .scheduling = scheduling::idle{}}, held.info());
  REQUIRE(report.outcomes().size() == 3);
  for (const auto& each : report.outcomes()) CHECK(each.outcome.error() == std::errc::no_such_process);
}

TEST_CASE("without privileges two of the profiles are refused, and say so") {
  if (!settings_can_change()) return;
  const auto end = braid::testing::run_in_child([] {
    if (braid::this_thread::nice()->value() < 0) static_cast<void>(braid::this_thread::set_nice(0));
    braid::testing::give_up_privileges();
    const auto refusal_of = [](const thread_profile& profile) {
      return braid::this_thread::apply(profile).first_refusal();
    };
    const bool refused = refusal_of(thread_profile::realtime()).error() == std::errc::operation_not_permitted &&
                         refusal_of(thread_profile::low_latency()).error() == std::errc::operation_not_permitted;
    ::_exit(refused && refusal_of(thread_profile::background()) ? 0 : 1);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
