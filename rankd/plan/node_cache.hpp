// rankd/plan/node_cache.hpp: the option `cache` of a node, which keeps the node's rows for later requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace rankd {

/// The capability that a plan requires if a node has a cache.
inline constexpr std::string_view cache_capability = "cap.rfc.0011.cache.v1";

/// The maximum number of caches of one plan.
inline constexpr std::size_t max_caches = 64;

inline constexpr std::size_t default_cached_rows = 10'000;
inline constexpr std::size_t max_cached_rows = 1'000'000;  ///< for one node and one key of the cache

/// States how long later requests may use the rows of a node, and how many rows are kept.
struct node_cache {
  std::chrono::milliseconds ttl{0};            ///< rows up to this age are used without a refresh
  std::chrono::milliseconds stale{0};          ///< rows are used this much longer, while a refresh computes new ones
  std::size_t max_rows = default_cached_rows;  ///< a larger row set is not cached
  std::string pointer;
};

}  // namespace rankd
