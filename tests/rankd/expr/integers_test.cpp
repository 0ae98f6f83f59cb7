// tests/rankd/expr/integers_test.cpp: expressions that give nothing but integers, against a naive interpreter.
#include <rankd/expr/evaluate.hpp>
#include <rankd/expr/parse.hpp>
#include <tests/rankd/expr/expr_world.hpp>
#include <tests/rankd/expr/naive.hpp>
#include <tests/rankd/expr/random_trees.hpp>
#include <tests/rankd/rows/rows_model.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

auto compiled_integers(const json& tree) -> expr_program {
  return compile_expr(parse_expr(tree, "").value(), world()).value();
}

/// Values of params in the order of the registries.
auto params_of(std::uint64_t seed) -> std::vector<scalar> {
  std::vector<scalar> out(world().params().size());
  const auto set = [&out](std::uint32_t id, scalar value) {
    out[world().index_of(*world().find_param(id))] = std::move(value);
  };
  set(2, std::string("[Uu]"));
  if (seed % 2 == 0) set(4, two_to_53 + 1);
  if (seed % 3 == 0) set(5, true);
  return out;
}

}  // namespace

TEST_CASE("an expression of integers gives a column of them, the same as the interpreter") {
  const json id = {{"op", "key_ref"}, {"key_id", 1}};
  const json fraction = {{"op", "key_ref"}, {"key_id", float_key}};
  std::size_t whole = 0;
  for (std::uint64_t seed = 0; seed < braid::testing::scaled(400); ++seed) {
    CAPTURE(seed);
    braid::arena memory;
    random_rows random(seed, memory);
    const json tree = random_trees(seed).integers(seed % 4);
    CAPTURE(tree.dump());
    const expr_program code = compiled_integers(tree);
    REQUIRE(code.gives_integers());
    const row_set rows = random.set(random.below(700));
    const std::vector<scalar> params = params_of(seed);
    const column found = evaluate_integers(code, rows, params, memory).value();
    REQUIRE(found.integers() != nullptr);
    std::vector<naive_number> expected(rows.table().size());
    rows.for_each_row([&](std::uint32_t row) {
      expected[row] = naive_value(tree, {testing::row_of(rows.table(), row), world(), params});
    });
    for (std::size_t row = 0; row < expected.size(); ++row) {
      CHECK(found.is_null(row) == !expected[row]);
      CHECK((*found.integers())[row] == (expected[row] ? std::get<std::int64_t>(*expected[row]) : 0));
      whole += expected[row] ? 1 : 0;
    }
  }
  CHECK(whole > 1000);
  CHECK_FALSE(compiled_integers(json{{"op", "add"}, {"a", id}, {"b", id}}).gives_integers());
  CHECK_FALSE(compiled_integers(json{{"op", "mod"}, {"a", id}, {"b", fraction}}).gives_integers());
}
