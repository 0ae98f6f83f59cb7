// rankd/plan/node_cache.cpp: reads the option `cache` of a node.
#include <rankd/plan/node_cache.hpp>

#include <rankd/plan/detail/read_cache.hpp>
#include <rankd/registry/names.hpp>

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

constexpr int_range age_range{.min = 1, .max = 86'400'000};

}  // namespace

void read_cache(object_reader& node, draft& draft, braid::diagnostics& problems, plan_node& out) {
  const nlohmann::json* value = node.object("cache", presence::optional);
  if (value == nullptr) return;
  if (!draft.known.capabilities.find(cache_capability))
    node.report("cache", "capability_not_required", "`cache` needs a capability that the plan does not list",
                "add " + quote_name(cache_capability) + " to `capabilities_required`");
  node_cache made;
  made.pointer = node.pointer_of("cache");
  object_reader in(*value, made.pointer, problems);
  if (const auto ttl = in.integer("ttl_ms", presence::required, age_range)) made.ttl = std::chrono::milliseconds(*ttl);
  if (const auto stale = in.integer("stale_ms", presence::optional, age_range))
    made.stale = std::chrono::milliseconds(*stale);
  if (const auto rows = in.integer("max_rows", presence::optional, {.min = 1, .max = max_cached_rows}))
    made.max_rows = static_cast<std::size_t>(*rows);
  in.refuse_unknown_fields();
  out.cache = std::move(made);
}

}  // namespace rankd::detail
