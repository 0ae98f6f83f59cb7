// tests/rankd/op/own_rows_test.cpp: operators of libraries that make rows, take several inputs, or merge them; those of
// version 1 of the interface.
#include <rankd/op/operator_library.hpp>

#include <rankd/abi/operators.hpp>
#include <rankd/op/columns.hpp>
#include <rankd/op/describe.hpp>
#include <rankd/op/row_change.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace rankd;
using namespace rankd::testing;
namespace ops = rankd::operators;

namespace {

using ids = std::vector<std::int64_t>;

/// So many rows, from id 100 on, with their numbers in a key; or what a source may not do.
struct source {
  static auto shape() -> ops::shape {
    return ops::shape("own_rows::source", "Rows of its own.", ops::effect::makes_rows)
        .writes("out_key", ops::floats, ops::need::optional)
        .integer("count", {0, 1LL << 40}, ops::need::optional, ops::given_by::plan_or_request)
        .choice("wrong", {"no_rows", "twice", "no_id", "text_id", "early", "keep", "take"}, ops::need::optional)
        .run_cost_ns(5000);
  }
  explicit source(const ops::binding& with) : count(with.int_of("count")), wrong(with.choice("wrong", 99)) {
    if (with.given("out_key")) out = with.written("out_key");
  }
  void run(ops::rows& rows) const {
    if (rows.size() != 0) throw std::runtime_error("a source has no rows that come in");
    if (wrong == 0) return;
    if (wrong == 4) rows.write_floats(*out).set(0, 1);
    if (wrong == 5) rows.keep(0);
    ops::made_rows made = rows.make(static_cast<std::size_t>(rows.value(count)));
    if (wrong == 1) static_cast<void>(rows.make(1));
    if (wrong == 3) made.set_id(0, "a");
    if (wrong == 6) made.take(0, ops::first_input, 0);
    for (std::int64_t row = wrong == 2 ? 1 : 0; row < rows.value(count); ++row)
      made.set_id(static_cast<std::size_t>(row), 100 + row);
    if (!out) return;
    auto numbers = rows.write_floats(*out);
    for (std::int64_t row = 0; row < rows.value(count); ++row)
      numbers.set(static_cast<std::size_t>(row), static_cast<double>(row));
  }
  std::optional<ops::written_column> out;
  ops::int_option count;
  std::size_t wrong;
};

/// Rows as a text says: `a0` is the first of those that it is called on, `b1` the second of `others`, `c0` the first of
/// `more`, `n7` a new one with id 7, `x0` of an input that there is not. It writes their positions.
struct merge {
  static auto shape() -> ops::shape {
    return ops::shape("own_rows::merge", "Rows of several inputs.", ops::effect::merges_rows)
        .text("rows")
        .input("others")
        .writes("out_key", ops::floats, ops::need::optional)
        .input("more", ops::need::optional);
  }
  explicit merge(const ops::binding& with) : wanted(with.text("rows")), more_is_given(with.given("more")) {
    from = {ops::first_input, with.input("others"), with.input("more"), ops::input_rows{9}};
    if (with.given("out_key")) out = with.written("out_key");
  }
  void run(ops::rows& rows) const {
    if (!more_is_given && rows.input(from[2]).size() != 0) throw std::runtime_error("there are rows of no node");
    const std::size_t count = wanted.size() / 2;
    ops::made_rows made = rows.make(count);
    for (std::size_t at = 0; at < count; ++at) {
      const char side = wanted[2 * at];
      const auto number = static_cast<std::size_t>(wanted[2 * at + 1] - '0');
      if (side == 'n')
        made.set_id(at, static_cast<std::int64_t>(number));
      else if (side != '-')
        made.take(at, from[side == 'x' ? 3 : static_cast<std::size_t>(side - 'a')], number);
      if (out && side != 'c') rows.write_floats(*out).set(at, static_cast<double>(at));
    }
  }
  std::string wanted;
  bool more_is_given;
  std::vector<ops::input_rows> from;
  std::optional<ops::written_column> out;
};

/// Adds the value that the row with the same id has in another input.
template <ops::effect Does>
struct lookup {
  static auto shape() -> ops::shape {
    return ops::shape(Does == ops::effect::keeps_rows ? "own_rows::lookup" : "own_rows::semi", "What others have.",
                      Does)
        .input("others")
        .reads("key", ops::floats)
        .writes("out_key", ops::floats);
  }
  explicit lookup(const ops::binding& with)
      : others(with.input("others")), key(with.read("key")), out(with.written("out_key")) {}
  void run(ops::rows& rows) const {
    const ops::seen_rows second = rows.input(others);
    if constexpr (Does == ops::effect::filters_rows) rows.keep_none();
    for (std::size_t row = 0; row < rows.size(); ++row)
      for (std::size_t other = 0; other < second.size(); ++other) {
        if (second.ids()[other] != rows.ids()[row]) continue;
        if constexpr (Does == ops::effect::filters_rows) rows.keep(static_cast<std::uint32_t>(row));
        if (!rows.floats(key).is_null(row) && !second.floats(key).is_null(other))
          rows.write_floats(out).set(row, rows.floats(key)[row] + second.floats(key)[other]);
      }
  }
  ops::input_rows others;
  ops::read_column key;
  ops::written_column out;
};

/// For each row that comes in two new ones.
struct twins {
  static auto shape() -> ops::shape {
    return ops::shape("own_rows::twins", "Two for one.", ops::effect::makes_rows)
        .takes_rows()
        .reads("key", ops::floats);
  }
  explicit twins(const ops::binding& with) : key(with.read("key")) {}
  void run(ops::rows& rows) const {
    ops::made_rows made = rows.make(2 * rows.size());
    for (std::size_t row = 0; row < 2 * rows.size(); ++row)
      made.set_id(row, 10 * rows.ids()[row / 2] + static_cast<std::int64_t>(rows.floats(key)[row / 2]));
  }
  ops::read_column key;
};

/// Rows whose ids are texts: those that a text lists, with `,` behind each.
struct words {
  static auto shape() -> ops::shape {
    return ops::shape("own_rows::words", "Rows with these ids.", ops::effect::makes_rows).text("ids");
  }
  explicit words(const ops::binding& with) : all(with.text("ids")) {
    if (!with.text_ids()) throw ops::refusal("", "ids are texts");
  }
  void run(ops::rows& rows) const {
    std::vector<std::string> found(1);
    for (const char each : all)
      if (each == ',')
        found.emplace_back();
      else
        found.back() += each;
    ops::made_rows made = rows.make(found.size() - 1);
    for (std::size_t row = 0; row + 1 < found.size(); ++row) made.set_id(row, found[row]);
  }
  std::string all;
};

auto loaded() -> bool {
  static const bool once = add_operators(*ops::detail::library<source, merge, lookup<ops::effect::keeps_rows>,
                                                               lookup<ops::effect::filters_rows>, twins, words>(),
                                         {"libown_rows.so", "00"})
                               .has_value();
  return once;
}

auto outcome(op_bench& bench, const std::string& op, const std::string& params, const std::vector<row_set>& inputs = {})
    -> std::string {
  const auto done = bench.run(*bind_op("own_rows::" + op, params).value(), inputs);
  return done ? "fine" : done.error().code + ": " + done.error().message;
}

auto list_values(const row_set& rows, std::uint32_t key) -> std::vector<std::string> {
  std::vector<std::string> out;
  const auto values = rows.table().find(key);
  for (std::size_t at = 0; at < rows.size(); ++at)
    out.push_back(!values || values->is_null(rows.row(at))
                      ? "-"
                      : std::to_string((*values->floats())[rows.row(at)]).substr(0, 3));
  return out;
}

using texts = std::vector<std::string>;

/// Three rows of four, in an order of their own, and two others.
struct two_sides {
  op_bench bench;
  row_set left = shuffled();
  row_set right = bench.with<double>(bench.rows_of({21, 12}), 1001, {5.0, 6.0});

  auto shuffled() -> row_set {
    const row_set rows = bench.with<double>(bench.rows_of({11, 12, 13, 14}), 1001, {1.0, 2.0, 3.0, 4.0});
    static constexpr std::array<std::uint32_t, 3> order{3, 1, 0};
    return {rows.table(), order};
  }
  auto merged(const std::string& rows, const std::string& more = "") -> row_set {
    return bench.rows("own_rows::merge", R"({"rows":")" + rows + R"(","others":"right")" + more + "}", {left, right});
  }
  auto wrong(const std::string& rows) -> std::string {
    return outcome(bench, "merge", R"({"rows":")" + rows + R"(","others":"right"})", {left, right});
  }
};

}  // namespace

TEST_CASE("an operator of a library is a source of rows with columns that it writes") {
  REQUIRE(loaded());
  op_bench bench;
  const row_set rows = bench.rows("own_rows::source", R"({"count":3,"out_key":1001})");
  CHECK(ids_of(rows) == ids{100, 101, 102});
  CHECK(list_values(rows, 1001) == texts{"0.0", "1.0", "2.0"});
  CHECK(rows.table().columns().size() == 1);
  CHECK(keeps_promise(row_change::dense_source, {}, rows));
  CHECK(bench.rows("own_rows::source", R"({"count":0,"out_key":1001})").empty());
  CHECK(find_op("own_rows::source")->shape.inputs == 0);
  CHECK(bind_op("own_rows::source", R"({"count":3})").value()->cost_ns(0) > 5000);
  CHECK(ids_of(bench.rows("own_rows::twins", R"({"key":1001})",
                          {bench.with<double>(bench.rows_of({4, 5}), 1001, {1.0, 2.0})})) == ids{41, 41, 52, 52});
}

TEST_CASE("what a source of a library does wrong fails its node with a sentence") {
  REQUIRE(loaded());
  op_bench bench;
  const auto wrong = [&](const std::string& what) {
    return outcome(bench, "source", R"({"count":2,"out_key":1001,"wrong":")" + what + R"("})");
  };
  CHECK(wrong("no_rows") == "operator_failed: the operator did not set the number of rows that it creates");
  CHECK(wrong("twice") == "operator_failed: the operator called make twice");
  CHECK(wrong("no_id") == "operator_failed: the operator gave row 0 no id");
  CHECK(wrong("text_id") == "operator_failed: the type of the column differs from the requested type");
  CHECK(wrong("early") == "operator_failed: call make before writing columns");
  CHECK(wrong("keep") == "operator_failed: only an operator that filters, orders or selects rows may call keep");
  CHECK(wrong("take") == "operator_failed: only an operator that merges rows may take input rows");
  CHECK(outcome(bench, "source", R"({"count":10000001})") ==
        "too_many_rows: the operator creates 10000001 rows; a node may return at most 10000000");
  CHECK(outcome(bench, "source", R"({"count":1099511627776})").starts_with("too_many_rows: "));
}

TEST_CASE("an operator of a library reads the columns of another input beside those of its rows") {
  REQUIRE(loaded());
  two_sides of;
  const std::string params = R"({"others":"right","key":1001,"out_key":2001})";
  const row_set rows = of.bench.rows("own_rows::semi", params, {of.left, of.right});
  CHECK(ids_of(rows) == ids{12});
  CHECK(list_values(rows, 2001) == texts{"8.0"});
  CHECK(keeps_promise(row_change::stable_filter, std::array{of.left, of.right}, rows));
  const row_set kept =
      of.bench.rows("own_rows::lookup", R"({"others":"right","key":1001,"out_key":1001})", {of.left, of.right});
  CHECK(ids_of(kept) == ids{14, 12, 11});
  CHECK(list_values(kept, 1001) == texts{"-", "8.0", "-"});
  CHECK(ids_of(of.bench.rows("own_rows::lookup", R"({"others":"right","key":1001,"out_key":1001})",
                             {of.left, row_set()})) == ids{14, 12, 11});
  CHECK(list_values(of.left, 1001) == texts{"4.0", "2.0", "1.0"});
}

TEST_CASE("an operator of a library merges rows of its inputs and rows of its own, in any order") {
  REQUIRE(loaded());
  two_sides of;
  const row_set rows = of.merged("b1a0n7a2b0", R"(,"out_key":2001)");
  CHECK(ids_of(rows) == ids{12, 14, 7, 11, 21});
  CHECK(list_values(rows, 1001) == texts{"6.0", "4.0", "-", "1.0", "5.0"});
  CHECK(list_values(rows, 2001) == texts{"0.0", "1.0", "2.0", "3.0", "4.0"});
  CHECK(keeps_promise(row_change::merged, std::array{of.left, of.right}, rows));
  const row_set in_order = of.merged("a0a1a2b0b1");
  CHECK(ids_of(in_order) == ids{14, 12, 11, 21, 12});
  CHECK(in_order.is_prefix());
  CHECK(of.merged("").empty());
  CHECK(ids_of(of.merged("n3n3")) == ids{3, 3});
  CHECK(of.merged("b0").table().size() == 1);  // nothing is copied of rows that are left
}

TEST_CASE("an input of an operator of a library may be left out") {
  REQUIRE(loaded());
  two_sides of;
  const auto with_more = bind_op("own_rows::merge", R"({"rows":"c1a0","others":"right","more":"left","out_key":1001})");
  const row_set rows = of.bench.run(**with_more, {of.left, of.right, of.left}).value();
  CHECK(ids_of(rows) == ids{12, 14});
  CHECK(list_values(rows, 1001) == texts{"-", "1.0"});
  CHECK(of.wrong("c0") == "operator_failed: the operator chose row 0 of its input `more`, which has 0 rows");
}

TEST_CASE("rows that are not there, or twice, fail a node that merges rows") {
  REQUIRE(loaded());
  two_sides of;
  CHECK(of.wrong("a3") == "operator_failed: the operator chose row 3 of its first input, which has 3 rows");
  CHECK(of.wrong("a0b2") == "operator_failed: the operator chose row 2 of its input `others`, which has 2 rows");
  CHECK(of.wrong("b1a1b1") == "operator_failed: the operator chose row 1 of its input `others` twice");
  CHECK(of.wrong("a0x0") == "operator_failed: the operator took row 1 from input 9, but it has 3 inputs");
  CHECK(of.wrong("a0-0") == "operator_failed: the operator gave row 1 no id");
}

TEST_CASE("ids that an operator of a library makes are texts where those of the project are") {
  REQUIRE(loaded());
  const registries shop = registries::load("rankd/cli/shop/registry", "dev").value();
  braid::arena memory;
  const auto made = [&](const std::string& listed) {
    const auto plan = parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["it"],"nodes":[{"node_id":"it",)"
                                 R"("op":"own_rows::words","inputs":[],"params":{"ids":")" +
                                     listed + R"("}}]})",
                                 "t.json", {all_op_shapes(), shop});
    const auto op = find_op("own_rows::words")->bind(plan.value().nodes[0], {shop, {}, {}, nullptr});
    node_context context{.memory = memory, .inputs = {}, .params = {}, .stores = {}};
    const auto rows = op.value()->run(context);
    if (!rows) return rows.error().code + ": " + rows.error().message;
    std::string out;
    for (std::uint32_t row = 0; row < rows->size(); ++row) out += to_text(rows->table().id(row)) + ",";
    return out;
  };
  CHECK(made("") == "");
  CHECK(made("b,a,b,") == "b,a,b,");
  CHECK(made("a,,") ==
        "operator_failed: the id that the operator wrote for row 1 is not a string of 1 to 128 bytes without NUL");
  CHECK(made(std::string(129, 'x') + ",")
            .starts_with("operator_failed: the id that the operator wrote for row 0 is not"));
  CHECK(diagnostics("own_rows::words", R"({"ids":"a,"})") == lines{"operator_refused /nodes/2"});
}

TEST_CASE("inputs of operators of libraries are checked when a plan is loaded") {
  REQUIRE(loaded());
  CHECK(diagnostics("own_rows::merge", R"({"rows":""})") == lines{"missing_field /nodes/2/params"});
  CHECK(diagnostics("own_rows::merge", R"({"rows":"","others":"nowhere"})") ==
        lines{"unknown_node /nodes/2/params/others"});
  CHECK(diagnostics("own_rows::merge", R"({"rows":"","others":7})") == lines{"wrong_type /nodes/2/params/others"});
  CHECK(diagnostics("own_rows::merge", R"({"rows":"","others":"it"})") == lines{"cycle /nodes/2"});
  CHECK(diagnostics("own_rows::source", R"({"count":1,"out_key":1})") ==
        lines{"unwritable_key /nodes/2/params/out_key"});
}

TEST_CASE("rows of operators of libraries have the columns that come of their inputs") {
  REQUIRE(loaded());
  const auto columns = [](const std::string& op, const std::string& params, const std::string& inputs) {
    const auto plan =
        parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["it","left","right"],"pred_table":{"p":)"
                   R"({"op":"const_bool","value":true}},"expr_table":{"e":{"op":"const_null"}},"nodes":[{"node_id":)"
                   R"("s","op":"test::fixed_source","inputs":[]},{"node_id":"left","op":"core::flag","inputs":["s"],)"
                   R"("params":{"out_key":1502,"pred_id":"p"}},{"node_id":"right","op":"core::vm","inputs":["s"],)"
                   R"("params":{"out_key":5001,"expr_id":"e"}},{"node_id":"it","op":"own_rows::)" +
                       op + R"(","inputs":[)" + inputs + R"(],"params":)" + params + "}]}",
                   "t.json", {all_op_shapes(), op_world()});
    std::string out;
    const auto all_columns = find_columns(plan.value(), op_world());
    for (const std::uint32_t key : all_columns.back().has) out += std::to_string(key) + " ";
    return out;
  };
  CHECK(columns("source", R"({"count":1,"out_key":2001})", "") == "1 2001 ");
  CHECK(columns("twins", R"({"key":1001})", R"("left")") == "1 ");
  CHECK(columns("lookup", R"({"others":"right","key":1001,"out_key":2001})", R"("left")") == "1 1502 2001 ");
  CHECK(columns("merge", R"({"rows":"","others":"right","out_key":2001})", R"("left")") == "1 1502 2001 5001 ");
}

TEST_CASE("the description of operators of a library says whose columns rows have") {
  REQUIRE(loaded());
  const auto described = [](std::string_view op) { return own_ops_toml(std::array{find_op(op)}); };
  CHECK(described("own_rows::source").contains("inputs = 0\ncolumns = \"written\"\n"));
  CHECK(described("own_rows::lookup").contains("inputs = 1\ncolumns = \"first_input\"\n"));
  CHECK(described("own_rows::merge").contains("inputs = 1\ndoc = "));
  CHECK(described("own_rows::merge").contains("name = \"others\"\nkind = \"node_ref\"\nrequired = true\n"));
  CHECK(described("own_rows::merge").contains("name = \"more\"\nkind = \"node_ref\"\nrequired = false\n"));
}

TEST_CASE("a library of version 1 of the interface works as it did") {
  REQUIRE(load_operators(std::array{std::filesystem::path(FIRST_OPERATORS)}).has_value());
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({1, 2, 3}), 1001, {0.5, 1.5, 2.5});
  CHECK(list_values(bench.rows("first::add_one", R"({"in_key":1001,"out_key":1001})", {rows}), 1001) ==
        texts{"1.5", "2.5", "3.5"});
  CHECK(ids_of(bench.rows("first::reverse", "{}", {rows})) == ids{3, 2, 1});
  CHECK(find_op("first::reverse")->shape.inputs == 1);
  CHECK(find_op("first::reverse")->doc == "The last row first.");
}
