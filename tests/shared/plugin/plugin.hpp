// tests/shared/plugin/plugin.hpp: what a plug-in of the tests can be asked to do.
#pragma once

#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>
#include <braid/thread/registry.hpp>

#include <cstddef>

namespace braid::testing {

/// The functions of a plug-in. They are found through `braid_test_plugin`; nothing else of it is visible.
struct plugin_functions {
  const char* compiler;
  /// Whether the default registry of the plug-in is this one.
  bool (*sees)(const thread_registry& registry);
  /// Starts a thread that is registered with the default registry under this tag. It lives until `end_thread`.
  bool (*start_thread)(const char* tag);
  void (*end_thread)();
  /// How many threads the plug-in finds under a tag.
  std::size_t (*count)(const char* tag);
  /// Posts jobs that count themselves, as far as they run on a worker of the pool; how many were accepted.
  std::size_t (*post_jobs)(pool& where, std::size_t count, atomic<std::size_t>& ran);
  /// Posts a job that throws std::out_of_range.
  bool (*post_failure)(pool& where);
  /// The runtime of the process, as the plug-in sees it.
  runtime* (*process_runtime)();
  /// Has the threads of the runtime of the process run code of the plug-in in one of `ways` ways, and waits for the
  /// result: whether it is right.
  bool (*work)(int way);
  int ways;
};

}  // namespace braid::testing

extern "C" __attribute__((visibility("default"))) auto braid_test_plugin() -> const braid::testing::plugin_functions*;
