// rankd/server/detail/serve_shared.hpp: the state that the loops of a server share.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/server/admission/in_flight_shares.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/serve_options.hpp>
#include <rankd/server/shadow/shadow_boards.hpp>

#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rankd::detail {

class shard;

/// The engine that runs candidate plans as shadows, with its own stores and its own thread. The runtime is destroyed
/// before the engine, because its last tasks use the engine.
struct shadow_engine {
  shadow_stores stores;
  std::optional<engine> ranker;
  std::unique_ptr<braid::runtime> runs_on;
};

/// The state that the loops of a server share. Threads: any, unless a member says otherwise.
struct serve_shared {
  /// Returns the engine for candidate plans. Returns null before the first candidate plan.
  [[nodiscard]] auto candidates() const noexcept -> shadow_engine* {
    return shared_shadow_engine.load(braid::acquire);  // edge shadow.engine: observe, complete with its thread
  }
  /// Sets the engine for candidate plans. Threads: one at a time. Requires that no engine was set before.
  void run_candidates_on(std::unique_ptr<shadow_engine> made) noexcept {
    owned_shadow_engine = std::move(made);
    // edge shadow.engine: publish, the engine is complete and its thread runs
    shared_shadow_engine.store(owned_shadow_engine.get(), braid::release);
  }

  serve_context context;
  serve_options options;
  in_flight_shares of_plans{};
  in_flight_shares of_clients{};
  in_flight_shares of_routes{};   // calls of endpoints that have a limit in the table of routes
  in_flight_shares of_shadows{};  // runs of candidate plans
  shadow_boards shadows{};
  std::unique_ptr<shadow_engine> owned_shadow_engine{};  // written once, before the pointer to it
  braid::atomic<shadow_engine*> shared_shadow_engine{};  // written once, by a reload or at the start; null before that
  std::vector<std::unique_ptr<shard>> shards;            // complete before the first shard serves
  braid::atomic<bool> stopping{false};                   // written by the thread that stops the server; never reset
};

/// Creates the engine for candidate plans and starts its thread. Errors: no_runtime; those of the stores.
auto make_shadow_engine(const serve_shared& shared) -> braid::checked<std::unique_ptr<shadow_engine>>;

}  // namespace rankd::detail
