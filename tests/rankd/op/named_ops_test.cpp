// tests/rankd/op/named_ops_test.cpp: operators that read values under keys of one's own, and what they ask of a store.
#include <rankd/op/detail/bound_template.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using ids = std::vector<std::int64_t>;

namespace {

constexpr std::uint32_t country = 3001;
constexpr std::uint32_t title = 3002;
constexpr std::uint32_t count = 1501;
constexpr std::uint32_t fresh = 1502;
constexpr std::uint32_t score = 1001;
constexpr std::uint32_t final_score = 2001;

auto with_key(std::string_view key, std::string_view more) -> std::string {
  return R"({"endpoint":"ep_0001","key":")" + std::string(key) + "\"," + std::string(more) + "}";
}

using names = std::vector<std::optional<std::string_view>>;

}  // namespace

TEST_CASE("each row has the ids under its key, and each key is asked for once") {
  op_bench bench;
  bench.store.lists["shelf:US"] = {"5", "6", "7"};
  bench.store.lists["shelf:a%3Ab"] = {"8"};
  const row_set rows =
      bench.with(bench.rows_of({1, 2, 3, 4, 5}), country, names{"US", "a:b", "US", std::nullopt, "none"});
  const row_set out = bench.rows("core::list", with_key("shelf:{country}", R"("count":2)"), {rows});
  CHECK((ids_of(out) == ids{5, 6, 8, 5, 6}));
  CHECK((bench.store.asked == lines{"list 2 shelf:US shelf:a%3Ab shelf:none"}));
  CHECK((ids_of(bench.rows("core::list", with_key("shelf:US", R"("count":9,"offset":2)"), {rows})) ==
         ids{7, 7, 7, 7, 7}));
}

TEST_CASE("without input the ids under one key are read once, and params stand in it") {
  op_bench bench;
  bench.store.sets["bought:x%20y/12/true"] = {"3", "4"};
  bench.params[op_world().index_of(*op_world().find_param("pattern"))] = std::string("x y");
  bench.params[op_world().index_of(*op_world().find_param("limit"))] = std::int64_t{12};
  bench.params[op_world().index_of(*op_world().find_param("switch"))] = true;
  const std::string params = with_key("bought:{P.pattern}/{P.limit}/{P.switch}", R"("count":5)");
  CHECK((ids_of(bench.rows("core::set", params)) == ids{3, 4}));
  bench.params[op_world().index_of(*op_world().find_param("limit"))] = scalar();
  bench.store.asked.clear();
  CHECK(bench.rows("core::set", params).empty());
  CHECK(bench.store.asked.empty());
}

TEST_CASE("operators for ids that are integers are refused where ids are strings, and say what does the same") {
  const registries shop = registries::load("rankd/cli/shop/registry", "dev").value();
  const auto refused = [&shop](const std::string& op, const std::string& params) {
    const op_entry* entry = find_op(op);
    const std::string inputs = entry->shape.inputs == 0 ? "[]" : R"(["left"])";
    const auto loaded = parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["left","it"],"nodes":[)"
                                   R"({"node_id":"left","op":"core::candidates","inputs":[]},{"node_id":"it","op":")" +
                                       op + R"(","inputs":)" + inputs + R"(,"params":)" + params + "}]}",
                                   "t.json", {all_op_shapes(), shop});
    const auto bound = entry->bind(loaded.value().nodes[1], {shop, {}, {}, nullptr});
    return bound ? "" : bound.error().front().code + ": " + bound.error().front().hint;
  };
  const std::string fanout = R"({"endpoint":"ep_0001","fanout":3})";
  const std::string list = "string_ids: use core::list with `key`: ";
  CHECK(refused("core::follow", fanout) == list + "follow:{id}");
  CHECK(refused("core::recommendation", fanout) == list + "recommendation:{id}");
  CHECK(refused("core::media", fanout) == list + "media:{id}");
  CHECK(refused("core::fetch_features", R"({"endpoint":"ep_0001","keys":[5]})") ==
        "string_ids: use core::hash with `key`: features:{id}");
  CHECK(refused("core::fetch_features", R"({"endpoint":"ep_0001","keys":[5],"by":1})") == "wrong_key_type: ");
  CHECK(refused("core::fetch_features", R"({"endpoint":"ep_0001","keys":[5],"by":6})").empty());
  CHECK(refused("test::fixed_source", "{}") == "string_ids: ");
  CHECK(refused("core::viewer", R"({"endpoint":"ep_0001"})").empty());
}

TEST_CASE("no store is asked for a key that is empty or too long") {
  op_bench bench;
  const row_set rows = bench.with(bench.rows_of({1, 2, 3}), country, names{"", std::string_view("x"), std::nullopt});
  CHECK(bench.rows("core::list", with_key("{country}", R"("count":2)"), {rows}).empty());
  CHECK((bench.store.asked == lines{"list 2 x"}));
  const std::string longest(170, ':');  // 510 bytes where they are escaped
  bench.store.lists["k" + [] {
    std::string out;
    for (int at = 0; at < 170; ++at) out += "%3A";
    return out;
  }()] = {"9"};
  const std::string longer = longest + ":";
  const row_set wide = bench.with(bench.rows_of({1, 2}), country, names{longest, longer});
  CHECK((ids_of(bench.rows("core::list", with_key("k{country}", R"("count":2)"), {wide})) == ids{9}));
}

TEST_CASE("a sorted set gives its scores where a key is named") {
  op_bench bench;
  bench.store.sorted_sets["near:7"] = {{"3", 1.5}, {"4", std::numeric_limits<double>::infinity()}};
  const row_set seven = bench.rows_of({7});
  const row_set out = bench.rows("core::sorted_set", with_key("near:{id}", R"("count":9,"out_key":1001)"), {seven});
  REQUIRE((ids_of(out) == ids{3, 4}));
  CHECK((*out.table().find(score)->floats())[0] == 1.5);
  CHECK(out.table().find(score)->is_null(1));
  CHECK(bench.malformed_values == 1);
  const row_set filled = bench.rows("core::sorted_set", with_key("near:{id}", R"("count":9,"out_key":2001)"), {seven});
  CHECK((*filled.table().find(final_score)->floats())[1] == 0);
  const row_set bare = bench.rows("core::sorted_set", with_key("near:{id}", R"("count":9)"), {seven});
  CHECK(bare.table().columns().empty());
  CHECK(bench.malformed_values == 0);
}

TEST_CASE("fields of hashes become columns, by the names of their keys or by others") {
  op_bench bench;
  bench.store.hashes["item:1"] = {{"count", "12"}, {"unit-price", "0.5"}, {"title", "One"}, {"fresh", "maybe"}};
  bench.store.hashes["item:2"] = {{"count", "x"}};
  const row_set rows = bench.rows_of({1, 2, 1, 3});
  const row_set out = bench.rows("core::hash",
                                 with_key("item:{id}", R"("keys":[1501,2001,3002,1502],)"
                                                       R"("fields":["count","unit-price","title","fresh"])"),
                                 {rows});
  CHECK((bench.store.asked == lines{"fields item:1 item:2 item:3"}));
  CHECK((ids_of(out) == ids{1, 2, 1, 3}));
  const batch& table = out.table();
  CHECK((*table.find(count)->integers())[2] == 12);
  CHECK(table.find(count)->is_null(1));
  CHECK((*table.find(final_score)->floats())[0] == 0.5);
  CHECK((*table.find(final_score)->floats())[3] == 0);
  CHECK((*table.find(title)->strings())[0] == "One");
  CHECK(table.find(fresh)->is_null(0));
  CHECK(bench.malformed_values == 2);
  const row_set plain = bench.rows("core::hash", with_key("item:{id}", R"("keys":[1501])"), {rows});
  CHECK((*plain.table().find(count)->integers())[0] == 12);
}

TEST_CASE("strings become one column by the type of its key, each key read once") {
  op_bench bench;
  bench.store.strings = {{"price:1", "12"}, {"price:2", "x"}, {"price:4", ""}};
  const row_set rows = bench.rows_of({1, 2, 1, 3, 2, 4});
  const row_set out = bench.rows("core::strings", with_key("price:{id}", R"("out_key":1501)"), {rows});
  CHECK((bench.store.asked == lines{"strings price:1 price:2 price:3 price:4"}));
  CHECK((ids_of(out) == ids{1, 2, 1, 3, 2, 4}));
  const column whole = *out.table().find(count);
  CHECK((*whole.integers())[0] == 12);
  CHECK((*whole.integers())[2] == 12);
  for (const std::uint32_t row : {1U, 3U, 4U, 5U}) CHECK(whole.is_null(row));
  CHECK(bench.malformed_values == 2);  // `x` counts once, and so does the empty text
  const row_set texts = bench.rows("core::strings", with_key("price:{id}", R"("out_key":3002)"), {rows});
  CHECK((*texts.table().find(title)->strings())[1] == "x");
  CHECK((*texts.table().find(title)->strings())[5] == "");
  CHECK(texts.table().find(title)->is_null(3));
  CHECK(bench.malformed_values == 0);
  const row_set floats = bench.rows("core::strings", with_key("price:{id}", R"("out_key":2001)"), {rows});
  CHECK((*floats.table().find(final_score)->floats())[0] == 12);
  CHECK_FALSE(floats.table().find(final_score)->is_null(3));  // the default
  const row_set flags = bench.rows("core::strings", with_key("price:{id}", R"("out_key":1502)"), {rows});
  CHECK(flags.table().find(fresh)->is_null(0));
  CHECK(bench.malformed_values == 3);
}

TEST_CASE("membership and scores of ids and of texts") {
  op_bench bench;
  bench.store.sets["seen:7"] = {"1", "3", "US"};
  bench.store.sorted_sets["near:7"] = {{"3", 2.5}};
  const row_set rows = bench.with(bench.rows_of({1, 2, 3}), country, names{"US", std::nullopt, "DE"});
  const auto flags = [&](const std::string& more) {
    const row_set out = bench.rows("core::members_of", with_key("seen:7", R"("out_key":1502)" + more), {rows});
    const column values = *out.table().find(fresh);
    std::vector<bool> all;
    for (std::size_t at = 0; at < 3; ++at) {
      CHECK_FALSE(values.is_null(at));
      all.push_back((*values.booleans())[at]);
    }
    return all;
  };
  CHECK((flags("") == std::vector{true, false, true}));
  CHECK((flags(R"(,"member":3001)") == std::vector{true, false, false}));
  CHECK((flags(R"(,"of":"sorted_set")") == std::vector{false, false, false}));
  const row_set scored =
      bench.rows("core::members_of", with_key("near:7", R"("of":"sorted_set","out_key":1001)"), {rows});
  CHECK(scored.table().find(score)->is_null(0));
  CHECK((*scored.table().find(score)->floats())[2] == 2.5);
  const row_set filled =
      bench.rows("core::members_of", with_key("near:{id}", R"("of":"sorted_set","out_key":2001)"), {rows});
  CHECK_FALSE(filled.table().find(final_score)->is_null(0));
}

TEST_CASE("only active rows are asked about, and the others stay null") {
  op_bench bench;
  bench.store.sets["seen:7"] = {"1", "2"};
  const std::vector<std::uint32_t> order{2, 0};
  const row_set rows(bench.rows_of({1, 2, 3}).table(), order);
  const row_set out = bench.rows("core::members_of", with_key("seen:7", R"("out_key":1502)"), {rows});
  CHECK((ids_of(out) == ids{3, 1}));
  CHECK(out.table().find(fresh)->is_null(1));
  CHECK((*out.table().find(fresh)->booleans())[0]);
}

TEST_CASE("what names and types are wrong is said when the node is bound") {
  const auto said = [](const std::string& op, std::string_view key, std::string_view more) {
    return diagnostics(op, with_key(key, more));
  };
  const std::string at = " /nodes/2/params/key";
  constexpr std::string_view one = R"("count":1)";
  CHECK((said("core::list", "a:{none}", one) == lines{"unknown_key" + at}));
  CHECK((said("core::list", "a:{P.none}", one) == lines{"unknown_param" + at}));
  CHECK((said("core::list", "a:{old}:{P.old_param}", one) == lines{"blocked_key" + at, "blocked_param" + at}));
  CHECK(
      (said("core::set", "a:{secret}:{P.secret_param}", one) == lines{"unreadable_key" + at, "unreadable_param" + at}));
  CHECK((said("core::set", "a:{score}:{P.weight}", one) == lines{"wrong_key_type" + at, "wrong_param_type" + at}));
  CHECK((said("core::list", "a:{features}", one) == lines{"wrong_key_type" + at}));
  CHECK((said("core::sorted_set", "a", R"("count":1,"min":2,"max":1)") == lines{"out_of_range /nodes/2/params/max"}));
  CHECK((said("core::sorted_set", "a", R"("count":1,"out_key":1501)") ==
         lines{"wrong_key_type /nodes/2/params/out_key"}));
  CHECK((said("core::hash", "a", R"("keys":[1001,1501],"fields":["x"])") ==
         lines{"wrong_length /nodes/2/params/fields"}));
  CHECK((said("core::members_of", "a", R"("out_key":1001)") == lines{"wrong_key_type /nodes/2/params/out_key"}));
  CHECK((said("core::members_of", "a", R"("out_key":1501)") == lines{"wrong_key_type /nodes/2/params/out_key"}));
  CHECK((said("core::members_of", "a", R"("out_key":1502,"member":1001)") ==
         lines{"wrong_key_type /nodes/2/params/member"}));
}

TEST_CASE("a store that refuses fails the node") {
  op_bench bench;
  bench.store.refusal = std::make_error_code(std::errc::io_error);
  const row_set rows = bench.rows_of({1});
  for (const auto& [op, more] :
       std::vector<std::pair<std::string, std::string>>{{"core::list", R"("count":1)"},
                                                        {"core::hash", R"("keys":[1501])"},
                                                        {"core::strings", R"("out_key":1501)"},
                                                        {"core::members_of", R"("out_key":1502)"}}) {
    const auto failed = bench.run(*bind_op(op, with_key("a:{id}", more)).value(), {rows});
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().code == "store_error");
  }
}
