// tests/shared/plugins_test.cpp: a program and two plug-ins with hidden symbols share one braid.
#include <braid/runtime/default_runtime.hpp>
#include <braid/task/quiesce.hpp>
#include <tests/shared/loaded_plugin.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <ostream>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

using braid::default_registry;
using braid::relaxed;
using braid::thread_entry;
using braid::thread_registry;
using braid::testing::loaded_plugin;
using namespace std::chrono_literals;

namespace {

// clang-format off: a page shows these lines
// [unload]
/// Unloads a plug-in whose work is done. Returns whether it could be: not if a
/// job still runs after a second.
auto unload(void* plugin) -> bool {
  const auto left = braid::quiesce_for(std::chrono::seconds(1));
  return left.has_value() && ::dlclose(plugin) == 0;
}
// [/unload]
// clang-format on

struct both_plugins {
  braid::testing::watchdog dog{200s};
  loaded_plugin first{BRAID_TEST_PLUGIN_1};
  loaded_plugin second{BRAID_TEST_PLUGIN_2};
};

}  // namespace

TEST_CASE_FIXTURE(both_plugins, "the plug-ins come from the compilers that were found") {
  std::printf("plug-ins by %s and %s\n", first->compiler, second->compiler);
  CHECK(std::string(first->compiler) != BRAID_TEST_OTHER_COMPILER);
  CHECK((std::string(second->compiler) == BRAID_TEST_OTHER_COMPILER) == (std::string(BRAID_TEST_OTHER_COMPILER) != ""));
}

TEST_CASE_FIXTURE(both_plugins, "program and plug-ins see one registry, also when another one stands in") {
  CHECK(first->sees(default_registry()));
  CHECK(second->sees(default_registry()));
  const thread_registry other;
  CHECK_FALSE(first->sees(other));
  const braid::thread_registry::scoped_default replaced(other);
  CHECK(first->sees(other));
  CHECK(second->sees(other));
}

TEST_CASE_FIXTURE(both_plugins, "a thread that one plug-in registers is found by the other and by the program") {
  std::string seen;
  const braid::registry_observer observer(
      default_registry(), {.registered = [&](const thread_entry& entry) { seen += "+" + entry.tag; },
                           .unregistered = [&](const thread_entry& entry) { seen += "-" + entry.tag; }});
  REQUIRE(first->start_thread("one"));
  CHECK(second->count("one") == 1);
  const auto found = default_registry().find_by<&thread_entry::tag>("one");
  REQUIRE(found);
  CHECK(found->name == "of a plug-in");
  CHECK(found->control());
  first->end_thread();
  CHECK(second->count("one") == 0);
  CHECK(seen == "+one-one");
}

TEST_CASE_FIXTURE(both_plugins, "a pool of the program runs the jobs of the plug-ins") {
  braid::atomic<std::size_t> ran{0};
  braid::pool pool({.workers = 2, .registration = {{.tag = "worker"}}});
  CHECK(first->count("worker") == 2);
  CHECK(first->post_jobs(pool, 500, ran) == 500);
  CHECK(second->post_jobs(pool, 500, ran) == 500);
  CHECK(pool.wait_idle());
  CHECK(ran.load(relaxed) == 1000);
}

TEST_CASE_FIXTURE(both_plugins, "program and plug-ins see one runtime of the process") {
  braid::runtime* const seen = first->process_runtime();
  CHECK(second->process_runtime() == seen);
  CHECK(&braid::default_runtime() == seen);
  braid::atomic<std::size_t> ran{0};
  CHECK(second->post_jobs(seen->workers(), 100, ran) == 100);
  CHECK(seen->workers().wait_idle());
  CHECK(ran.load(relaxed) == 100);
}

TEST_CASE_FIXTURE(both_plugins, "what a job of a plug-in throws is caught in the program by its type") {
  std::string caught;
  braid::pool pool({.workers = 1, .on_error = [&caught](const std::exception_ptr& error) {
                      try {
                        std::rethrow_exception(error);
                      } catch (const std::out_of_range& known) {
                        caught += std::string(known.what()) + ";";
                      }
                    }});
  CHECK(first->post_failure(pool));
  CHECK(second->post_failure(pool));
  CHECK(pool.wait_idle());
  CHECK(caught == "thrown by a plug-in;thrown by a plug-in;");
}

TEST_CASE("a plug-in that has used every kind of thread is unloaded after it") {
  const braid::testing::watchdog dog(60s);
  for (const char* path : {BRAID_TEST_PLUGIN_1, BRAID_TEST_PLUGIN_2}) {
    void* const plugin = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin != nullptr);
    const auto functions = reinterpret_cast<decltype(&braid_test_plugin)>(::dlsym(plugin, "braid_test_plugin"))();
    for (int way = 0; way < functions->ways; ++way) CHECK(functions->work(way));
    CHECK(unload(plugin));
  }
  CHECK_FALSE(braid::testing::is_loaded(BRAID_TEST_PLUGIN_1));
}
