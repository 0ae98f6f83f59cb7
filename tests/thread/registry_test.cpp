// tests/thread/registry_test.cpp: snapshots, generations, merged and replaced registries, hooks.
#include <braid/thread/registry.hpp>

#include <braid/thread/profile.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/privileges.hpp>
#include <tests/support/sleeper.hpp>

#include <latch>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using braid::default_registry;
using braid::registered_thread;
using braid::registration;
using braid::registry_observer;
using braid::thread_entry;
using braid::thread_registry;

using texts = std::vector<std::string>;

namespace {

auto tags(const auto& threads) -> texts { return threads.template project<&thread_entry::tag>().to_vector(); }

}  // namespace

TEST_CASE("a registry is asked as a query is") {
  const thread_registry registry;
  const registration one(registry, {.tag = "io", .name = "first"});
  const registration two(registry, {.tag = "io", .name = "second"});
  const registration three(registry, {.tag = "compute", .name = "third"});
  CHECK(registry.where<&thread_entry::tag>("io").project<&thread_entry::name>().to_vector() ==
        texts{"first", "second"});
  CHECK(registry.contains<&thread_entry::name>("third"));
  CHECK(registry.find_by<&thread_entry::tag>("io")->name == "first");
  CHECK(registry.count() == 3);
  CHECK(registry.skip(1).take(1).to_vector() == std::vector{two.entry()});
  CHECK(registry.none([](const thread_entry& entry) { return entry.tag.empty(); }));
}

TEST_CASE("a snapshot stays as it was") {
  const thread_registry registry;
  std::optional<registration> here;
  here.emplace(registry, braid::thread_label{.tag = "gone"});
  const auto then = registry.snapshot();
  const auto lazily = registry.where<&thread_entry::tag>("gone");
  here.reset();
  CHECK(tags(then) == texts{"gone"});
  CHECK(lazily.count() == 1);
  CHECK(registry.count() == 0);
}

TEST_CASE("a generation tells a registration from the next one of the same thread") {
  const thread_registry registry;
  std::optional<registration> here;
  here.emplace(registry, braid::thread_label{.tag = "io"});
  const thread_entry first = here->entry();
  CHECK(registry.has(first));
  here.reset();
  here.emplace(registry, braid::thread_label{.tag = "io"});
  CHECK_FALSE(registry.has(first));
  CHECK(registry.has(here->entry()));
  CHECK(here->entry().tid == first.tid);
  CHECK(here->entry().generation > first.generation);
}

TEST_CASE("what is found can be changed, with an answer for each") {
  if (!braid::testing::settings_can_change()) return;
  const thread_registry registry;
  std::latch registered(1);
  std::latch over(1);
  std::thread other([&] {
    const registration here(registry, {.tag = "io"});
    registered.count_down();
    over.wait();
  });
  registered.wait();
  thread_entry ended = registry.entries().front();
  const auto named = registry.apply(&braid::thread_info::set_name, "renamed");
  REQUIRE(named.size() == 1);
  CHECK(named[0].answer);
  CHECK(named[0].value == ended);
  CHECK(ended.control()->name() == "renamed");
  ended.registered_at = {};  // as if its id were a stranger's by now
  const auto refused = braid::detail::query_over(std::vector{ended}).apply(&braid::thread_info::affinity);
  CHECK(refused.at(0).answer.error() == std::errc::no_such_process);
  over.count_down();
  other.join();
}

TEST_CASE("a profile is applied to all that are found, with a report for each") {
  if (!braid::testing::settings_can_change()) return;
  const thread_registry registry;
  std::latch over(1);
  auto thread = registered_thread::create({.label = {.tag = "io"}, .registry = registry}, [&over] { over.wait(); });
  REQUIRE(thread);
  const auto entries = registry.where<&thread_entry::tag>("io");
  const auto reports = entries.apply(braid::thread_profile{.name = "profiled"});
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].answer->all_applied());
  CHECK(thread->name() == "profiled");
  CHECK(threads_of(entries) == std::vector{thread->info().value()});

  over.count_down();
  REQUIRE(thread->join());
  REQUIRE(braid::testing::eventually([&] { return threads_of(entries).empty(); }));
  CHECK(entries.apply(braid::thread_profile{.name = "late"}).at(0).answer.error() == std::errc::no_such_process);
}

TEST_CASE("merged registries give each registration once, in the order of registration") {
  const thread_registry one;
  const thread_registry two;
  const registration a(one, {.tag = "a"});
  const registration b(two, {.tag = "b"});
  const registration c(one, {.tag = "c"});
  CHECK(tags(thread_registry::merged({one, two})) == texts{"a", "b", "c"});
  CHECK(tags(thread_registry::merged({two, one, two, one})) == texts{"a", "b", "c"});
  CHECK(thread_registry::merged({one}).count() == 2);
  CHECK(thread_registry::merged({thread_registry()}).count() == 0);
}

TEST_CASE("the default is one for all, and another may stand in for it, one over the other") {
  const thread_registry always = default_registry();
  CHECK(default_registry() == always);
  const thread_registry first;
  const thread_registry second;
  {
    const thread_registry::scoped_default outer(first);
    CHECK(default_registry() == first);
    {
      const thread_registry::scoped_default inner(second);
      CHECK(default_registry() == second);
      bool same_there = false;
      std::thread([&] { same_there = default_registry() == second; }).join();
      CHECK(same_there);
    }
    CHECK(default_registry() == first);
  }
  CHECK(default_registry() == always);
}

TEST_CASE("defaults may end in any order") {
  const thread_registry always = default_registry();
  const thread_registry first;
  const thread_registry second;
  auto outer = std::make_unique<thread_registry::scoped_default>(first);
  const auto inner = std::make_unique<thread_registry::scoped_default>(second);
  outer.reset();
  CHECK(default_registry() == second);
}

TEST_CASE("hooks see threads come and go, and may ask the registry") {
  const thread_registry registry;
  texts seen;
  {
    const registry_observer observer(
        registry,
        {.registered = [&](const auto& entry) { seen.push_back("+" + entry.tag + (registry.has(entry) ? "!" : "?")); },
         .unregistered =
             [&](const auto& entry) { seen.push_back("-" + entry.tag + (registry.has(entry) ? "!" : "?")); }});
    const registration a(registry, {.tag = "a"});
    const registration b(registry, {.tag = "b"});
  }
  const registration unseen(registry, {.tag = "c"});
  CHECK(seen == texts{"+a!", "+b!", "-b?", "-a?"});
}

TEST_CASE("a hook may register its thread, and end its own observer") {
  const thread_registry registry;
  const thread_registry inner;
  std::optional<registry_observer> observer;
  std::optional<registration> nested;
  observer.emplace(registry, registry_observer::hooks{.registered = [&](const thread_entry&) {
                     nested.emplace(inner, braid::thread_label{.tag = "nested"});
                     observer.reset();
                   }});
  const registration first(registry, {.tag = "first"});
  CHECK_FALSE(observer);
  CHECK(inner.size() == 1);
  nested.reset();
  const registration second(registry, {.tag = "second"});
  CHECK_FALSE(nested);
}

TEST_CASE("an observer that another hook ends is not called any more") {
  const thread_registry registry;
  int called = 0;
  std::optional<registry_observer> second;
  const registry_observer first(registry, {.registered = [&](const thread_entry&) { second.reset(); }});
  second.emplace(registry, registry_observer::hooks{.registered = [&](const thread_entry&) { ++called; }});
  const registration here(registry, {.tag = "io"});
  CHECK(called == 0);
}

TEST_CASE("what a hook throws changes nothing, neither for the thread nor for other hooks") {
  const thread_registry registry;
  int called = 0;
  const registry_observer throwing(registry, {.registered = [](const auto&) { throw std::runtime_error("no"); },
                                              .unregistered = [](const auto&) { throw 1; }});
  const registry_observer counting(
      registry, {.registered = [&](const auto&) { ++called; }, .unregistered = [&](const auto&) { ++called; }});
  {
    const registration here(registry, {.tag = "io"});
    CHECK(registry.size() == 1);
  }
  CHECK(registry.size() == 0);
  CHECK(called == 2);
}

TEST_CASE("an observer ends only when no hook runs any more") {
  const thread_registry registry;
  std::latch inside(1);
  std::latch go_on(1);
  std::optional<registry_observer> observer;
  observer.emplace(registry, registry_observer::hooks{.registered = [&](const thread_entry&) {
                     inside.count_down();
                     go_on.wait();
                   }});
  std::thread registers([&] { const registration here(registry, {.tag = "slow"}); });
  inside.wait();
  {
    const braid::testing::sleeper ends([&] { observer.reset(); });
    CHECK(ends.falls_asleep());
    go_on.count_down();
  }
  CHECK_FALSE(observer);
  registers.join();
}
