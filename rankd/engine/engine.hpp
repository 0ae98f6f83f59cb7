// rankd/engine/engine.hpp: runs plans for requests on a runtime.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/caching/chunk_cache.hpp>
#include <rankd/engine/options.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/generation_pins.hpp>
#include <rankd/store/shared_reads.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

namespace rankd {

enum class node_timing : std::uint8_t;
class cached_parts;
struct run_target;

/// Runs plans with one set of stores. Plans may be bound to different registries if these have the same endpoints.
/// Threads: `late_nodes` from any thread; tasks run on the runtime's loop.
/// Lifetime: the engine, the registries, the stores and the plans passed to `rank` by reference must outlive the tasks
/// of the runtime. Some tasks end after the answer, so destroy the runtime first.
class engine {
 public:
  /// Creates an engine. `stores` has one entry for each of registries::endpoints. The entry is null if the store is not
  /// open.
  engine(braid::runtime& runtime, const registries& declared, std::vector<store*> stores, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  auto operator=(const engine&) -> engine& = delete;

  /// Runs the plan. The task ends as soon as the answer is known. When a deadline passes, nodes that cannot be
  /// interrupted continue in the background. If several nodes fail, the error is that of the first failed node in the
  /// plan's order, so the error does not depend on timing. If the plan fails with a code that its fallback plan
  /// handles, the fallback plan runs with the remaining time. If the fallback plan also fails, or if the request lacks
  /// something that the fallback plan needs, the first error is the answer. Requires that `check_needs` reports no
  /// error for the request.
  /// Errors, which are in the answer: `deadline_exceeded`, `node_timeout`, `stopped`, and the errors of operators and
  /// of programs.
  auto rank(const bound_plan& plan, rank_request request) -> braid::task<ranking>;

  /// Runs a plan that the request owns. The plan lives until its last node has ended and the answer is destroyed. The
  /// `stores`, which the request uses instead of the engine's stores, live equally long. Requires a plan that is not
  /// null. The row cache is not used by requests with their own stores, by requests that capture rows, or by requests
  /// that explain ids.
  auto rank(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores = {})
      -> braid::task<ranking>;

  /// Returns the stores that one request uses. The request reads a single generation of each store. Equal reads are
  /// combined for stores that benefit from it (`shared_reads`). `rank` calls this function if its caller passes no
  /// stores. Threads: the loop's thread.
  [[nodiscard]] auto stores_of_request() -> request_stores;

  /// Returns how often requests have read an endpoint, and how many of these reads needed no access to the store.
  [[nodiscard]] auto count_reads(std::size_t endpoint) const noexcept -> read_counts {
    return shared_ == nullptr ? read_counts{} : shared_->counts(endpoint);
  }

  /// Returns the counts of the value cache of an endpoint.
  [[nodiscard]] auto find_records(std::size_t endpoint) const noexcept -> record_cache_counts {
    return shared_ == nullptr ? record_cache_counts{} : shared_->records(endpoint);
  }

  /// Returns the state and the counts of the row cache, or nothing if there is no cache.
  [[nodiscard]] auto cached() const noexcept -> std::optional<cache_counts>;

  /// Returns the number of nodes that ended after the answer of their request.
  [[nodiscard]] auto late_nodes() const noexcept -> std::uint64_t { return late_.load(braid::relaxed); }

 private:
  struct execution;

  auto stores_from(const pinned_stores& pinned) -> request_stores;
  auto begin(std::shared_ptr<const bound_plan> plan, rank_request&& request, request_stores stores)
      -> braid::task<ranking>;
  auto rank_alone(run_target target, rank_request request, request_stores stores) -> braid::task<ranking>;
  auto rank_or_substitute(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores,
                          cached_parts* caches) -> braid::task<ranking>;
  static auto run_to_the_end(std::shared_ptr<execution> run, engine& owner) -> braid::task<void>;
  auto choose_timing(const rank_request& request) noexcept -> node_timing;
  void note_memory(std::size_t used) noexcept;

  braid::runtime* runtime_;
  const registries* declared_;
  generation_pins pins_;                  // of the stores
  std::unique_ptr<shared_reads> shared_;  // of these; null if sharing is worthwhile for no store
  engine_options options_;
  std::unique_ptr<cached_parts> caches_;          // null if nothing is kept
  braid::atomic<std::uint64_t> late_{0};          // written by the loop
  std::uint32_t asked_ = 0;                       // requests, some of which are timed; used by the loop
  braid::atomic<std::size_t> first_chunk_{4096};  // written by the loop: the memory that recent requests used
  std::shared_ptr<chunk_cache> chunks_ = std::make_shared<chunk_cache>();  // memory that requests have released
};

/// Returns the diagnostic for a runtime that could not be created.
auto no_runtime(std::error_code error) -> braid::diagnostics;

}  // namespace rankd
