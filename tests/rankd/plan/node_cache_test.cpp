// tests/rankd/plan/node_cache_test.cpp: how long a node keeps its rows, as the artifact says it.
#include <rankd/plan/node_cache.hpp>

#include <rankd/plan/load_plan.hpp>
#include <rankd/plan/node_fields.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

auto declared() -> const registries& {
  static const registries loaded = registries::load("registry", "dev").value();
  return loaded;
}

auto cached(const std::string& what) -> braid::checked<plan> {
  return parse_plan(R"({"schema_version":1,"plan_name":"t","capabilities_required":["cap.rfc.0011.cache.v1"],)"
                    R"("outputs":["a"],"nodes":[{"node_id":"a","op":"core::viewer","inputs":[],)"
                    R"("params":{"endpoint":"ep_0001"})" +
                        what + "}]}",
                    "t.json", {.ops = op_shapes(testing::shapes), .declared = declared()});
}

}  // namespace

TEST_CASE("a cache has a time to live, and a number of rows where it states none") {
  const auto made = cached(R"(,"cache":{"ttl_ms":30000})");
  REQUIRE(made);
  const auto& cache = made->nodes.front().cache;
  REQUIRE(cache);
  CHECK(cache->ttl == 30s);
  CHECK(cache->stale == 0s);
  CHECK(cache->max_rows == default_cached_rows);
  CHECK(to_text(list_fields(made->nodes.front(), *made, declared()))
            .ends_with("cache: {ttl_ms: 30000, max_rows: 10000}"));
  CHECK_FALSE(cached("")->nodes.front().cache);
}

TEST_CASE("a cache may keep rows that are stale, and fewer of them") {
  const auto made = cached(R"(,"cache":{"ttl_ms":1,"stale_ms":2,"max_rows":3})");
  REQUIRE(made);
  CHECK(made->nodes.front().cache->stale == 2ms);
  CHECK(made->nodes.front().cache->max_rows == 3);
  CHECK(
      to_text(list_fields(made->nodes.front(), *made, declared())).ends_with("{ttl_ms: 1, stale_ms: 2, max_rows: 3}"));
}
