// tests/task/pool_registration_test.cpp: a pool registers its workers when it is told to, and not otherwise.
#include <braid/task/pool.hpp>
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <ostream>

using braid::pool;

TEST_CASE("workers are registered while the pool runs, where it says so") {
  const braid::thread_registry registry;
  const std::size_t before = braid::default_registry().size();
  {
    const pool where({.workers = 3, .name = "rank", .registration = {{.tag = "compute", .registry = registry}}});
    const pool unregistered({.workers = 2});
    CHECK(registry.where<&braid::thread_entry::tag>("compute").project<&braid::thread_entry::name>().count() == 3);
    for (const char* name : {"rank-0", "rank-1", "rank-2"}) {
      const auto found = registry.find_by<&braid::thread_entry::name>(name);
      REQUIRE(found);
      CHECK(found->control());
    }
    CHECK(braid::default_registry().size() == before);
    const braid::thread_registry other;
    const braid::thread_registry::scoped_default replaced(other);
    const pool by_default({.workers = 1, .registration = {{.tag = "default"}}});
    CHECK(other.contains<&braid::thread_entry::tag>("default"));
  }
  CHECK(registry.size() == 0);
}

TEST_CASE("without a registry, options mean the one that was the default when they were made") {
  const braid::thread_registry mine;
  pool::options options{.workers = 1};
  {
    const braid::thread_registry::scoped_default replaced(mine);
    options.registration = {.tag = "early"};
  }
  const pool where(options);
  CHECK(mine.contains<&braid::thread_entry::tag>("early"));
  CHECK(!braid::default_registry().contains<&braid::thread_entry::tag>("early"));
}
