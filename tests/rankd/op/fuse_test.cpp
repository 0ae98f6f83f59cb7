// tests/rankd/op/fuse_test.cpp: pairs of nodes give the same rows together as one after the other.
#include <rankd/op/fuse.hpp>

#include <rankd/op/row_change.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <braid/base/random.hpp>

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::ids_of;
using rankd::testing::lines;
using rankd::testing::op_bench;
using rankd::testing::op_ptr;
using rankd::testing::op_world;

namespace {

/// A node called `second` behind one called `first` behind a source.
struct pair_of_nodes {
  pair_of_nodes(const std::string& first_op, const std::string& first_params, const std::string& second_op,
                const std::string& second_params)
      : loaded(parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["second"],"nodes":[)"
                          R"({"node_id":"source","op":"test::fixed_source","inputs":[]},)"
                          R"({"node_id":"first","op":")" +
                              first_op + R"(","inputs":["source"],"params":)" + first_params +
                              R"(},{"node_id":"second","op":")" + second_op + R"(","inputs":["first"],"params":)" +
                              second_params + "}]}",
                          "t.json", {rankd::all_op_shapes(), op_world()})
                   .value()) {}

  [[nodiscard]] auto fused() const -> std::optional<fused_ops> {
    return fuse(loaded.nodes[1], loaded.nodes[2], {op_world(), {}, {}});
  }
  [[nodiscard]] auto bound(std::size_t node) const -> op_ptr {
    return find_op(loaded.nodes[node].op)->bind(loaded.nodes[node], {op_world(), {}, {}}).value();
  }

  plan loaded;
};

/// Scores with ties and nulls.
auto scored(op_bench& bench, std::size_t rows, std::uint64_t seed) -> row_set {
  braid::random_source random(seed);
  const std::span<std::int64_t> ids = bench.memory().uninitialized<std::int64_t>(rows);
  std::vector<std::optional<double>> scores;
  for (std::size_t row = 0; row < rows; ++row) {
    ids[row] = static_cast<std::int64_t>(row);
    scores.push_back(random.below(5) == 0 ? std::nullopt : std::optional(static_cast<double>(random.below(20))));
  }
  return bench.with<double>(row_set(batch(ids)), 1001, scores);
}

}  // namespace

TEST_CASE("a sort with a take behind it gives the rows of both, and row counts stay what they were") {
  op_bench bench;
  for (const char* order : {"asc", "desc"}) {
    for (const std::size_t count : {1, 3, 40, 300, 1000}) {
      CAPTURE(count);
      const pair_of_nodes nodes("core::sort", R"({"by":1001,"order":")" + std::string(order) + "\"}", "core::take",
                                R"({"count":)" + std::to_string(count) + "}");
      const auto both = nodes.fused();
      REQUIRE(both);
      CHECK((both->second_change == row_change::selection));
      for (const std::size_t rows : {0, 1, 10, 700}) {
        const row_set input = scored(bench, rows, rows + count);
        const row_set sorted = bench.run(*nodes.bound(1), {input}).value();
        const row_set wanted = bench.run(*nodes.bound(2), {sorted}).value();
        const row_set passed = bench.run(*both->first, {input}).value();
        const row_set found = bench.run(*both->second, {passed}).value();
        CHECK(passed.size() == sorted.size());
        CHECK((ids_of(found) == ids_of(wanted)));
        CHECK(keeps_promise(row_change::permutation, std::array{input}, passed));
        CHECK(keeps_promise(row_change::selection, std::array{passed}, found));
      }
    }
  }
}

TEST_CASE("other pairs stay what they are") {
  const std::string by_score = R"({"by":1001})";
  const std::string three = R"({"count":3})";
  CHECK_FALSE(pair_of_nodes("core::take", three, "core::sort", by_score).fused());
  CHECK_FALSE(pair_of_nodes("core::sort", by_score, "core::sort", by_score).fused());
  CHECK_FALSE(pair_of_nodes("core::take", three, "core::take", three).fused());
}
