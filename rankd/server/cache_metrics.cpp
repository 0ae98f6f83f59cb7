// rankd/server/cache_metrics.cpp: what the caches of rows of all loops hold and have done.
#include <rankd/server/detail/shard.hpp>

#include <string_view>

namespace rankd::detail {
namespace {

using kind = exposition::kind;

}  // namespace

void shard::write_cache(exposition& out) const {
  cache_counts all;
  for (const auto& each : all_->shards) {
    const auto counts = each->cached();
    if (!counts) return;
    all.add(*counts);
  }
  out.family("rankd_cache_requests_total", kind::counter, "Rows that nodes with a cache have asked for, by result.");
  const auto sample = [&out](std::string_view result, std::uint64_t count) {
    out.sample({{"result", result}}, static_cast<double>(count));
  };
  sample("hit", all.hits);
  sample("stale", all.stale);
  sample("miss", all.misses);
  sample("shared", all.shared);
  out.family("rankd_cache_evicted_total", kind::counter, "Rows that went because the cache had no room.");
  out.sample({}, static_cast<double>(all.evicted));
  out.family("rankd_cache_refused_total", kind::counter, "Rows that were too many or too large to be kept.");
  out.sample({}, static_cast<double>(all.refused));
  out.family("rankd_cache_bytes", kind::gauge, "Bytes of the rows in the cache, and of their keys.");
  out.sample({}, static_cast<double>(all.bytes));
  out.family("rankd_cache_entries", kind::gauge, "Rows in the cache, as many as there are keys.");
  out.sample({}, static_cast<double>(all.entries));
}

}  // namespace rankd::detail
