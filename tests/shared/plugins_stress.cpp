// tests/shared/plugins_stress.cpp: plug-ins are loaded and unloaded over and over beside a pool that stays.
#include <tests/shared/loaded_plugin.hpp>

#include <braid/runtime/default_runtime.hpp>
#include <braid/task/quiesce.hpp>

#include <doctest/doctest.h>

#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>

using braid::relaxed;
using braid::testing::is_loaded;
using braid::testing::loaded_plugin;
using namespace std::chrono_literals;

namespace {

/// One life of both plug-ins: jobs on the pool, a registered thread. True when everything was as it should be.
auto live(braid::pool& pool, braid::atomic<std::size_t>& ran) -> bool {
  const loaded_plugin first(BRAID_TEST_PLUGIN_1);
  const loaded_plugin second(BRAID_TEST_PLUGIN_2);
  const bool posted = first->post_jobs(pool, 5, ran) == 5 && second->post_jobs(pool, 5, ran) == 5;
  const bool shared = first->start_thread("visitor") && second->count("visitor") == 1;
  first->end_thread();
  return pool.wait_idle() && posted && shared;
}

}  // namespace

TEST_CASE("a thousand loads and unloads leave nothing behind") {
  constexpr bool sanitized = braid::testing::under_address_sanitizer || braid::testing::under_thread_sanitizer;
  const braid::testing::watchdog dog(250s);
  braid::pool pool({.workers = 2, .registration = {{.tag = "worker"}}});
  braid::atomic<std::size_t> ran{0};
  const std::size_t rounds = braid::testing::scaled(sanitized ? 50 : 1000);
  bool well = true;
  bool unloaded = true;
  for (std::size_t round = 0; round < rounds && well && unloaded; ++round) {
    well = live(pool, ran);
    unloaded = !is_loaded(BRAID_TEST_PLUGIN_1) && !is_loaded(BRAID_TEST_PLUGIN_2);
  }
  CHECK(well);
  CHECK(unloaded);
  CHECK(ran.load(relaxed) == rounds * 10);
  CHECK(braid::default_registry().size() == 2);
}

TEST_CASE("a plug-in whose work is done can be unloaded after quiesce, three thousand times") {
  constexpr bool sanitized = braid::testing::under_address_sanitizer || braid::testing::under_thread_sanitizer;
  const braid::testing::watchdog dog(250s);
  static_cast<void>(braid::default_runtime());
  const std::size_t rounds = braid::testing::scaled(sanitized ? 80 : 3000);
  bool well = true;
  bool unloaded = true;
  for (std::size_t round = 0; round < rounds && well && unloaded; ++round) {
    {
      const loaded_plugin plugin(BRAID_TEST_PLUGIN_1);
      well = plugin->work(static_cast<int>(round) % plugin->ways) && braid::quiesce();
    }
    unloaded = !is_loaded(BRAID_TEST_PLUGIN_1);
  }
  CHECK(well);
  CHECK(unloaded);
}
