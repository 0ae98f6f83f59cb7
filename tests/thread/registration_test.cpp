// tests/thread/registration_test.cpp: a registration names the calling thread, and ends where it began.
#include <braid/thread/registry.hpp>

#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>

#include <unistd.h>

using braid::default_registry;
using braid::registration;
using braid::thread_entry;
using braid::thread_registry;

TEST_CASE("a thread is registered while its registration lives") {
  const thread_registry registry;
  CHECK(registry.size() == 0);
  {
    const registration here(registry, {.tag = "io", .name = "reader with a name as long as it likes"});
    const auto entries = registry.entries();
    REQUIRE(entries.size() == 1);
    CHECK(entries[0] == here.entry());
    CHECK(entries[0].tag == "io");
    CHECK(entries[0].name == "reader with a name as long as it likes");
    CHECK(entries[0].tid == ::gettid());
    CHECK(here.registry() == registry);
  }
  CHECK(registry.entries().empty());
}

TEST_CASE("without a name the entry has the name that the system knows") {
  const thread_registry registry;
  std::string name;
  std::thread([&] {
    static_cast<void>(braid::this_thread::set_name("io_7"));
    name = registration(registry, {.tag = "io"}).entry().name;
  }).join();
  CHECK(name == "io_7");
}

TEST_CASE("without a registry the default of that moment counts, and the registration ends there") {
  const thread_registry other;
  std::optional<registration> outside;
  outside.emplace(braid::thread_label{.tag = "outside"});
  std::optional<registration> inside;
  {
    const thread_registry::scoped_default replaced(other);
    inside.emplace(braid::thread_label{.tag = "inside"});
    outside.reset();
    CHECK(other.contains<&thread_entry::tag>("inside"));
    CHECK(other.size() == 1);
  }
  CHECK_FALSE(default_registry().contains<&thread_entry::tag>("outside"));
  CHECK(other.size() == 1);
  inside.reset();
  CHECK(other.size() == 0);
}

TEST_CASE("a registration keeps its registry") {
  auto registry = std::make_unique<thread_registry>();
  const registration here(*registry, {.tag = "late"});
  const thread_registry same = here.registry();
  registry.reset();
  CHECK(same.size() == 1);
}

TEST_CASE("a thread may be registered twice, and in several registries") {
  const thread_registry one;
  const thread_registry two;
  const registration first(one, {.tag = "a"});
  const registration second(one, {.tag = "b"});
  const registration third(two, {.tag = "c"});
  CHECK(one.size() == 2);
  CHECK(two.size() == 1);
  CHECK(first.entry().generation < second.entry().generation);
  CHECK(second.entry().generation < third.entry().generation);
}

TEST_CASE("a registration may end on another thread") {
  const thread_registry registry;
  auto here = std::make_unique<registration>(registry, braid::thread_label{.tag = "moved"});
  std::thread([&here] { here.reset(); }).join();
  CHECK(registry.size() == 0);
}
