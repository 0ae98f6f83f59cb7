// rankd/engine/detail/cached_parts.hpp: runs a cached node and its predecessors once for all requests that need the
// same rows.
#pragma once

#include <rankd/engine/plans/plan_caches.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/engine/caching/row_cache.hpp>
#include <rankd/store/generation_pins.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rankd {

struct bound_plan;

/// The result of a part of a plan: rows or an error. Both are empty if the part was stopped.
struct part_result {
  std::shared_ptr<const kept_rows> rows = {};
  std::optional<rank_error> error = {};
};

/// The cached rows of a node for one request: either found in the cache, or computed by a part.
struct cached_node {
  cache_use use = cache_use::miss;
  braid::duration age{};  ///< the age of rows that were in the cache
  std::shared_ptr<const kept_rows> rows = {};
  std::optional<rank_error> error = {};  ///< the error of the part, as it would be without the cache
  std::string key = {};
};

/// The row cache of one engine, and the running parts that fill it. A part is a cached node together with the nodes
/// that it depends on. It does not belong to a request: it runs in the root scope of the loop, with its own memory and
/// stores and without a deadline. A part is stopped when no task waits for it any more, unless it refreshes stale rows.
/// If a part fails, all waiting tasks fail, and the failure is not cached.
/// Threads: the loop's thread; `counts` from any thread. Lifetime: must outlive the tasks of the loop.
class cached_parts {
 public:
  using run_fn = std::function<braid::task<ranking>(std::shared_ptr<const bound_plan>, const bound_cache&, rank_request,
                                                    const pinned_stores&)>;

  /// Creates an empty cache. `run` runs a part of a plan and returns its rows as an answer.
  cached_parts(cache_options options, run_fn run) : table_(options), run_(std::move(run)) {}

  /// Returns the cached rows for a request, if there are any. Also returns stale rows, but then starts a refresh in the
  /// scope `root`. Never returns rows that were computed from other generations of the stores.
  auto look_up(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache, const rank_request& request,
               const pinned_stores& stores, braid::scope& root) -> cached_node;

  /// Computes rows for a request that found no cached rows: runs the part, or waits for the part if it is already
  /// running. Stores the rows or the error in `into`. Lifetime: `plan` and `into` must outlive the task.
  auto make(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache, const rank_request& request,
            const pinned_stores& stores, cached_node& into) -> braid::task<void>;

  [[nodiscard]] auto counts() const noexcept -> cache_counts { return table_.counts(); }

 private:
  struct flight;
  struct waiting;

  auto find(std::string_view key) const -> std::shared_ptr<flight>;
  [[nodiscard]] auto may_renew(std::string_view key) const -> bool;
  auto begin(const std::shared_ptr<const bound_plan>& plan, const bound_cache& cache, const rank_request& request,
             const pinned_stores& stores, std::string_view key, braid::scope& root, bool renews)
      -> std::shared_ptr<flight>;
  void land(flight& one);
  void give_up(flight& one);
  void keep(const flight& one, const ranking& answer, part_result& into);
  static auto run(cached_parts& owner, std::shared_ptr<flight> one) -> braid::task<void>;
  static auto fly(cached_parts& owner, std::shared_ptr<flight> one) -> braid::task<void>;

  static constexpr std::size_t max_renewals = 64;  // no request waits for them, and so no gate limits them

  row_cache table_;
  run_fn run_;
  std::unordered_map<std::string_view, std::shared_ptr<flight>> under_way_;  // by the keys of the parts
  std::size_t renewals_ = 0;  // the number of parts in `under_way_` that refresh rows
};

}  // namespace rankd
