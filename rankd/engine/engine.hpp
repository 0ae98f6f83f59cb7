// rankd/engine/engine.hpp: runs plans for requests on a runtime.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/caching/chunk_cache.hpp>
#include <rankd/engine/options.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/registries.hpp>
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

/// One engine for each set of stores: plans may be bound to other registries with the same endpoints.
/// Threads: `late_nodes` from any; tasks run on the runtime's loop.
/// Lifetime: the engine, the registries, the stores and the plans given to `rank` by reference outlive the runtime's
/// tasks, of which some end after the answer: so destroy the runtime first.
class engine {
 public:
  /// `stores` has one entry for each of registries::endpoints, null where none is open.
  engine(braid::runtime& on, const registries& declared, std::vector<store*> stores, engine_options options = {});
  ~engine();
  engine(const engine&) = delete;
  auto operator=(const engine&) -> engine& = delete;

  /// Runs the plan. Ends as soon as the answer is known: when a deadline passes, nodes that cannot be interrupted end
  /// later, on their own. The node that stands first in the plan's order decides the error, whatever the timing.
  /// Where the plan has a substitute, and fails by a code that it answers, the request is given to that, with the rest
  /// of the deadline; where that fails as well, or the request does not suit it, the first error is the answer.
  /// Requires a request that `check_needs` reports nothing about.
  /// Errors: in the answer: `deadline_exceeded`, `node_timeout`, `stopped`, those of operators and of programs.
  auto rank(const bound_plan& plan, rank_request request) -> braid::task<ranking>;

  /// The same with a plan that lives until the last of its nodes has ended and the answer is gone, whatever other
  /// owners release it; and so with `stores` of this request, in place of those of the engine. Requires a plan.
  /// A request with stores of its own takes no rows from the cache, nor does one that captures rows or follows ids.
  auto rank(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores = {})
      -> braid::task<ranking>;

  /// The stores of the engine for one request: those that are worth it share equal reads (`shared_reads`). `rank` takes
  /// them where it is given none. Threads: the loop's.
  [[nodiscard]] auto stores_of_request() -> request_stores;

  /// How often the endpoint at a position was asked by requests, and how often no read was needed for it.
  [[nodiscard]] auto reads_of(std::size_t endpoint) const noexcept -> read_counts {
    return shared_ == nullptr ? read_counts{} : shared_->counts(endpoint);
  }

  /// What the cache of rows holds and has done; nothing where there is none.
  [[nodiscard]] auto cached() const noexcept -> std::optional<cache_counts>;

  /// How many nodes ended after their request had been answered.
  [[nodiscard]] auto late_nodes() const noexcept -> std::uint64_t { return late_.load(braid::relaxed); }

 private:
  struct execution;

  auto begin(std::shared_ptr<const bound_plan> plan, rank_request&& request, request_stores stores)
      -> braid::task<ranking>;
  auto rank_alone(run_target of, rank_request request, request_stores stores) -> braid::task<ranking>;
  auto rank_or_substitute(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores,
                          cached_parts* caches) -> braid::task<ranking>;
  static auto run_to_the_end(std::shared_ptr<execution> run, engine& owner) -> braid::task<void>;
  auto timing_of(const rank_request& request) noexcept -> node_timing;
  void note_memory(std::size_t used) noexcept;

  braid::runtime* runtime_;
  const registries* declared_;
  store_list stores_;
  std::unique_ptr<shared_reads> shared_;  // of these; null where none is worth it
  engine_options options_;
  std::unique_ptr<cached_parts> caches_;          // null where nothing is kept
  braid::atomic<std::uint64_t> late_{0};          // written by the loop
  std::uint32_t asked_ = 0;                       // requests, of which some are timed; used by the loop
  braid::atomic<std::size_t> first_chunk_{4096};  // written by the loop: what requests took lately
  std::shared_ptr<chunk_cache> chunks_ = std::make_shared<chunk_cache>();  // what requests have left
};

/// The diagnostic where no runtime can be had to run anything on.
auto no_runtime(std::error_code why) -> braid::diagnostics;

}  // namespace rankd
