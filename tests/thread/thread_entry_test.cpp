// tests/thread/thread_entry_test.cpp: an entry leads to its thread, and never to another one that got the same id.
#include <braid/thread/registry.hpp>

#include <braid/thread/fields.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>

#include <ostream>
#include <system_error>
#include <thread>

#include <unistd.h>

using braid::field_name;
using braid::registration;
using braid::thread_entry;

static_assert(braid::field_count<thread_entry> == 5);
static_assert(field_name<thread_entry, 0>() == "tag");
static_assert(braid::field_of<&thread_entry::generation>.name == "generation");

TEST_CASE("an entry controls the thread that was registered") {
  const registration here(braid::thread_registry(), {.tag = "main"});
  const auto control = here.entry().control();
  REQUIRE(control);
  CHECK(control->id() == ::gettid());
  CHECK(*control == braid::this_thread::info().value());
}

TEST_CASE("a thread that started after the registration is a stranger") {
  const registration here(braid::thread_registry(), {.tag = "main"});
  thread_entry before = here.entry();
  before.registered_at = std::chrono::nanoseconds(1);  // as if the thread of that time had this id
  const auto control = before.control();
  REQUIRE_FALSE(control);
  CHECK(control.error() == std::errc::no_such_process);
}

TEST_CASE("an entry of a thread that has ended controls nothing") {
  thread_entry entry;
  std::thread([&entry] { entry = registration(braid::thread_registry(), {.tag = "short"}).entry(); }).join();
  CHECK(entry.tag == "short");
  CHECK(braid::testing::eventually([&entry] { return !entry.control(); }));
  CHECK(entry.control().error() == std::errc::no_such_process);
}
