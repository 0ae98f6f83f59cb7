// tests/thread/registered_thread_test.cpp: a thread is in its registry from create until its callable returns.
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <latch>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

using braid::registered_thread;
using braid::thread_entry;
using braid::thread_registry;

TEST_CASE("it is registered when create returns, and no more when it is joined") {
  const thread_registry registry;
  std::latch over(1);
  auto thread = registered_thread::create({.label = {.tag = "io"}, .thread = {.name = "io_3"}, .registry = registry},
                                          [&over] { over.wait(); });
  REQUIRE(thread);
  const auto found = registry.find_by<&thread_entry::tag>("io");
  REQUIRE(found);
  CHECK(*found == thread->entry());
  CHECK(found->name == "io_3");
  CHECK(found->control()->id() == thread->info()->id());
  CHECK(found->control()->name() == "io_3");
  over.count_down();
  CHECK(thread->join());
  CHECK(registry.size() == 0);
}

TEST_CASE("it passes a stop token, arguments and callables that only move") {
  const thread_registry registry;
  int sum = 0;
  auto thread = registered_thread::create(
      {.label = {.tag = "sum"}, .registry = registry},
      [&sum, owned = std::make_unique<int>(1)](const std::stop_token& stop, int more) {
        while (!stop.stop_requested());
        sum = *owned + more;
      },
      41);
  REQUIRE(thread);
  CHECK(thread->request_stop());
  CHECK(thread->join());
  CHECK(sum == 42);
}

TEST_CASE("it can be moved, and is joined by its destructor") {
  const thread_registry registry;
  {
    auto thread = registered_thread::create({.label = {.tag = "moved"}, .registry = registry},
                                            [](const std::stop_token& stop) { while (!stop.stop_requested()); });
    REQUIRE(thread);
    const registered_thread moved = std::move(*thread);
    CHECK(registry.contains<&thread_entry::generation>(moved.entry().generation));
  }
  CHECK(registry.size() == 0);
}

TEST_CASE("without a registry it takes the default of its creator") {
  const thread_registry other;
  const braid::thread_registry::scoped_default replaced(other);
  std::latch over(1);
  auto thread = registered_thread::create({.label = {.tag = "io"}}, [&over] { over.wait(); });
  REQUIRE(thread);
  CHECK(other.size() == 1);
  over.count_down();
}

TEST_CASE("a thread whose options are refused is never registered") {
  const thread_registry registry;
  int calls = 0;
  const braid::registry_observer counts(registry, {.registered = [&calls](const thread_entry&) { ++calls; }});
  const auto thread = registered_thread::create(
      {.label = {.tag = "io"}, .thread = {.name = "a name that is too long"}, .registry = registry}, [] {});
  REQUIRE_FALSE(thread);
  CHECK(thread.error() == std::errc::invalid_argument);
  CHECK(calls == 0);
}
