// tests/rankd/op/remote_model_test.cpp: core::call_remote_model: what it sends of the rows, and what it makes of
// scores.
#include <rankd/store/read_recorder.hpp>
#include <rankd/store/replayed_reads.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::uint32_t score = 1001;
constexpr std::uint32_t final_score = 2001;
constexpr std::uint32_t count = 1501;
constexpr std::uint32_t fresh = 1502;
constexpr std::uint32_t country = 3001;

/// Notes the values that it is asked about, and scores each row by its number; the third has no score.
class scoring_store final : public memory_store {
 public:
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const auto what = std::get<model_call>(question);
    std::string note = std::string(what.model) + "/" + std::string(what.version) + "/" + std::string(what.tensor);
    for (const model_input& each : what.inputs) {
      note += " " + std::string(each.name) + "=";
      for (std::size_t row = 0; row < what.rows; ++row)
        std::visit([&](const auto& values) { note += text_of(values[row]) + ","; }, each.values);
    }
    asked.push_back(std::move(note));
    if (refusal) co_return std::unexpected(refusal);
    const auto out = arena.filled(what.rows * what.scores, 0.0);
    for (std::size_t at = 0; at < out.size(); ++at)
      out[at] = at % what.rows == 2 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(at);
    co_return score_batch{.values = out, .scores = what.scores};
  }

 private:
  static auto text_of(double value) -> std::string { return std::to_string(static_cast<int>(value * 10)); }
  static auto text_of(std::int64_t value) -> std::string { return std::to_string(value); }
  static auto text_of(bool value) -> std::string { return value ? "t" : "f"; }
  static auto text_of(std::string_view value) -> std::string { return std::string(value); }
};

/// Runs the operator with `behind` as the second endpoint.
auto run(op_bench& bench, store* behind, const std::string& params, const row_set& rows) -> op_result<row_set> {
  const auto op = bind_op("core::call_remote_model", params).value();
  const std::array<rankd::store*, 3> stores{nullptr, behind, nullptr};
  const std::array inputs{rows};
  node_context context{
      .memory = bench.memory(), .inputs = inputs, .params = bench.params, .stores = stores, .stop = &bench.stop};
  return braid::sync_wait(op->start(context));
}

auto params_of(std::string_view inputs, std::string_view out_keys, std::string_view more = "") -> std::string {
  return R"({"endpoint":"ep_0002","model":"ctr","inputs":)" + std::string(inputs) + R"(,"out_keys":)" +
         std::string(out_keys) + std::string(more) + "}";
}

auto floats_of(const row_set& rows, std::uint32_t key) -> lines {
  lines out;
  const column values = *rows.table().find(key);
  rows.for_each_row([&](std::uint32_t row) {
    out.push_back(values.is_null(row) ? "-" : std::to_string(static_cast<int>((*values.floats())[row])));
  });
  return out;
}

}  // namespace

TEST_CASE("the active rows are sent in their order, with the types of their columns") {
  op_bench bench;
  scoring_store behind;
  row_set rows = bench.rows_of({1, 2, 3, 4});
  rows = bench.with(rows, score, std::vector<std::optional<double>>{1.5, 2, 3, 4});
  rows = bench.with(rows, count, std::vector<std::optional<std::int64_t>>{10, 20, 30, 40});
  rows = bench.with(rows, fresh, std::vector<std::optional<bool>>{true, false, true, false});
  rows = bench.with(rows, country, std::vector<std::optional<std::string_view>>{"a", "b", "c", "d"});
  const std::array<std::uint32_t, 3> order{3, 0, 1};
  const row_set some(rows.table(), order);
  const row_set out =
      run(bench, &behind, params_of("[1001,1501,1502,3001,1]", "[1001]", R"(,"version":"2")"), some).value();
  CHECK((behind.asked == lines{"ctr/2/ score=40,15,20, count=40,10,20, fresh=f,t,f, country=d,a,b, id=4,1,2,"}));
  CHECK((floats_of(out, score) == lines{"0", "1", "-"}));
  CHECK(out.size() == 3);
}

TEST_CASE("several scores go into several columns, and one that may not be null fails the node") {
  op_bench bench;
  scoring_store behind;
  const row_set two = bench.rows_of({1, 2});
  const row_set out = run(bench, &behind, params_of("[1]", "[1001,2001]"), two).value();
  CHECK((floats_of(out, score) == lines{"0", "1"}));
  CHECK((floats_of(out, final_score) == lines{"2", "3"}));
  const auto failed = run(bench, &behind, params_of("[1]", "[2001]"), bench.rows_of({1, 2, 9}));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == "null_value");
  CHECK(failed.error().message ==
        "model `ctr` returned no score for the row with id 9, but `final_score` must not be null");
}

TEST_CASE("a null is sent as what stands for it, or fails the node") {
  op_bench bench;
  scoring_store behind;
  const row_set rows =
      bench.with(bench.rows_of({7, 8}), count, std::vector<std::optional<std::int64_t>>{5, std::nullopt});
  const auto failed = run(bench, &behind, params_of("[1501]", "[1001]"), rows);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == "null_value");
  CHECK(failed.error().message ==
        "model `ctr` cannot score the row with id 8: its `count` is null, and the node has no `missing`");
  CHECK(behind.asked.empty());
  CHECK(run(bench, &behind, params_of("[1501,1001]", "[1001]", R"(,"missing":-1)"), rows).has_value());
  CHECK((behind.asked == lines{"ctr// count=5,-1, score=-10,-10,"}));
  behind.asked.clear();
  CHECK(run(bench, &behind, params_of("[1501]", "[1001]", R"(,"missing":0.5,"tensor":"x")"), rows).has_value());
  CHECK((behind.asked == lines{"ctr//x count=50,5,"}));
  const auto text = run(bench, &behind, params_of("[3001]", "[1001]", R"(,"missing":0)"), rows);
  CHECK(text.error().message == "model `ctr` cannot score the row with id 7: its `country` is null");
}

TEST_CASE("a failure has the code of the endpoint, and names the model") {
  op_bench bench;
  scoring_store behind;
  behind.refusal = make_error_code(store_errc::wrong_type);
  const auto failed = run(bench, &behind, params_of("[1]", "[1001]"), bench.rows_of({1}));
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().code == behind.explain(behind.refusal).code);
  CHECK(failed.error().message.starts_with("model `ctr`: "));
  const auto none = run(bench, nullptr, params_of("[1]", "[1001]"), bench.rows_of({1}));
  CHECK(none.error().code == "model_unreachable");
}

TEST_CASE("what a plan says of a remote model is checked when it is loaded") {
  const auto said = [](const std::string& params) { return diagnostics("core::call_remote_model", params); };
  CHECK(said(params_of("[1,3001]", "[1001]")).empty());
  CHECK((said(params_of("[3001]", "[1001]", R"(,"tensor":"x")")) == lines{"wrong_key_type /nodes/2/params/inputs"}));
  CHECK((said(params_of("[4001]", "[1001]")) == lines{"wrong_key_type /nodes/2/params/inputs/0"}));
  CHECK((said(params_of("[1]", "[1501]")) == lines{"wrong_key_type /nodes/2/params/out_keys/0"}));
  CHECK((said(params_of("[1]", "[1001]", R"(,"outputs":["a","b"])")) == lines{"wrong_length /nodes/2/params/outputs"}));
  CHECK((said(params_of("[1]", "[1001,2001]", R"(,"outputs":["a[1]","a[-1]"])")) ==
         lines{"bad_value /nodes/2/params/outputs/1"}));
  CHECK((said(params_of("[1]", "[1001,2001]", R"(,"outputs":["a[64]",""])")) ==
         lines{"bad_value /nodes/2/params/outputs/0", "bad_value /nodes/2/params/outputs/1"}));
  CHECK((said(params_of("[1]", "[1001]", R"(,"tensor":"")")) == lines{"bad_value /nodes/2/params/tensor"}));
  CHECK((said(params_of("[1]", "[1001]", R"(,"version":"../x")")) == lines{"bad_name /nodes/2/params/version"}));
  CHECK((said(R"({"endpoint":"ep_0002","model":"a/b","inputs":[1],"out_keys":[1001]})") ==
         lines{"bad_name /nodes/2/params/model"}));
  CHECK((said(params_of("[1]", "[1001]", R"(,"missing":0.5)")) == lines{"bad_value /nodes/2/params/missing"}));
  CHECK((said(params_of("[1]", "[1001]", R"(,"missing":1e300)")) == lines{"bad_value /nodes/2/params/missing"}));
  CHECK(said(params_of("[1]", "[1001]", R"(,"missing":0.5,"tensor":"x")")).empty());
  CHECK((said(R"({"endpoint":"ep_0001","model":"a","inputs":[1],"out_keys":[1001]})") ==
         lines{"wrong_endpoint_kind /nodes/2/params/endpoint"}));
  CHECK((said(R"({"endpoint":"ep_0009","model":"a","inputs":[1],"out_keys":[1001]})") ==
         lines{"unknown_endpoint /nodes/2/params/endpoint"}));
}

TEST_CASE("scores that were recorded come again, row by row too") {
  op_bench bench;
  scoring_store behind;
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{nullptr, &behind, nullptr});
  const row_set rows = bench.rows_of({5, 6, 7});
  const std::string params = params_of("[1]", "[1001,5004]");
  const row_set then = run(bench, (*read_recorder::list_stores(by))[1], params, rows).value();
  const auto from = replayed_reads::parse(by->take(), op_world());
  REQUIRE(from != nullptr);
  store* const again = (*replayed_reads::list_stores(from))[1];
  for (const std::uint32_t key : {score, std::uint32_t{5004}})
    CHECK(floats_of(run(bench, again, params, rows).value(), key) == floats_of(then, key));
  CHECK((floats_of(run(bench, again, params, bench.rows_of({6, 5})).value(), score) == lines{"1", "0"}));
  const auto missing = run(bench, again, params, bench.rows_of({6, 8}));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == "read_not_recorded");
  CHECK(missing.error().message.contains("the scores of a row by the model ctr"));
}
