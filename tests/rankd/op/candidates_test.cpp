// tests/rankd/op/candidates_test.cpp: the source whose rows come with the request.
#include <rankd/op/candidates.hpp>

#include <rankd/op/operator_list.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <optional>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::uint32_t score = 1001;
constexpr std::uint32_t country = 3001;

/// Runs the operator for a request that carries `given`, if anything.
auto run(const std::string& params, const candidate_rows* given, usage* used, braid::arena& memory)
    -> op_result<row_set> {
  node_context context{.memory = memory, .inputs = {}, .params = {}, .stores = {}, .used = used, .candidates = given};
  return bind_op("core::candidates", params).value()->run(context);
}

/// Ids 5, 3, 5 with a score and a country.
void fill(candidate_rows& out, op_bench& bench) {
  const row_set rows = bench.with<std::string_view>(
      bench.with<double>(bench.rows_of({5, 3, 5}), score, {0.5, std::nullopt, 2.0}), country, {"US", "CA", "DE"});
  out.rows = rows.table();
}

}  // namespace

TEST_CASE("the rows of the request come with the columns that the node takes, ids twice where they are given twice") {
  op_bench bench;
  candidate_rows given;
  fill(given, bench);
  const row_set some = run(R"({"keys":[1001]})", &given, nullptr, bench.memory()).value();
  CHECK((ids_of(some) == std::vector<std::int64_t>{5, 3, 5}));
  REQUIRE(some.table().columns().size() == 1);
  const column scores = some.table().find(score).value();
  CHECK((*scores.floats())[0] == 0.5);
  CHECK(scores.is_null(1));
  const row_set all = run(R"({"keys":[3001,1001]})", &given, nullptr, bench.memory()).value();
  REQUIRE(all.table().columns().size() == 2);
  CHECK((*all.table().find(country)->strings())[1] == "CA");
  CHECK(run("{}", &given, nullptr, bench.memory()).value().table().columns().empty());
}

TEST_CASE("a column that the request does not have is absent, which is null on every row") {
  op_bench bench;
  candidate_rows given;
  fill(given, bench);
  const row_set rows = run(R"({"keys":[1501]})", &given, nullptr, bench.memory()).value();
  CHECK(rows.size() == 3);
  CHECK_FALSE(rows.table().find(1501));
}

TEST_CASE("a request without candidates is an error, not an empty list") {
  op_bench bench;
  const auto rows = run("{}", nullptr, nullptr, bench.memory());
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == "missing_candidates");
}

TEST_CASE("rows and bytes of candidates count for the budget") {
  op_bench bench;
  candidate_rows given;
  fill(given, bench);
  const auto code_with = [&](const plan_budget& budget) {
    usage used(budget, 1);
    const auto rows = run("{}", &given, &used, bench.memory());
    return rows ? std::string("fine") : rows.error().code;
  };
  CHECK(code_with(of_rows(3)) == "fine");
  CHECK(code_with(of_rows(2)) == "budget_exceeded");
}
