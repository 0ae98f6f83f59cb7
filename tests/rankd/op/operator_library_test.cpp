// tests/rankd/op/operator_library_test.cpp: operators of libraries: what is refused, and how the others compute.
#include <rankd/op/operator_library.hpp>

#include <rankd/abi/c_operators.h>
#include <rankd/abi/operator_rows.hpp>
#include <rankd/abi/operator_shape.hpp>
#include <rankd/abi/operators.hpp>
#include <rankd/op/column_check.hpp>
#include <rankd/op/row_change.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gnu/libc-version.h>

using namespace rankd;
using namespace rankd::testing;
namespace ops = rankd::operators;

namespace {

/// Twice what a key holds, plus what the request adds.
struct twice {
  static auto shape() -> ops::shape {
    return ops::shape("mine::twice", "Twice the value of a key.")
        .reads("in_key", ops::floats)
        .writes("out_key", ops::floats)
        .number("plus", {-10, 10}, ops::need::optional, ops::given_by::plan_or_request);
  }
  explicit twice(const ops::binding& with)
      : in(with.read("in_key")), out(with.written("out_key")), plus(with.float_of("plus")) {}
  void run(ops::rows& rows) const {
    const auto values = rows.floats(in);
    auto doubled = rows.write_floats(out);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!values.is_null(row)) doubled.set(row, 2 * values[row] + rows.value(plus));
  }
  ops::read_column in;
  ops::written_column out;
  ops::float_option plus;
};

/// Writes what it was given as text: options, keys, ids, values of each type.
struct echo {
  static auto shape() -> ops::shape {
    return ops::shape("mine::echo", "What it was given.")
        .reads_all("keys", ops::ints | ops::floats | ops::texts | ops::bools)
        .writes("out_key", ops::texts)
        .integer("whole", {1, 9})
        .truth("truth", ops::need::optional)
        .text("word", ops::need::optional)
        .choice("side", {"left", "right"}, ops::need::optional);
  }
  explicit echo(const ops::binding& with)
      : keys(with.all_read("keys")),
        out(with.written("out_key")),
        said(std::to_string(with.integer("whole")) + (with.truth("truth", true) ? " yes " : " no ") +
             with.text("word", "-") + (with.given("side") ? std::to_string(with.choice("side")) : "?")) {
    for (const ops::read_column each : keys) {
      types.push_back(with.key_of(each).type);
      said += " " + std::string(with.key_of(each).name);
    }
    if (with.text("word") == "wrong") throw ops::refusal("word", "there is no such word");
    if (with.text("word") == "worse") throw std::runtime_error("nothing is right");
    if (with.text("word") == "mistaken") static_cast<void>(with.integer("word"));
  }
  void run(ops::rows& rows) const {
    auto text = rows.write_texts(out);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::string all = said + " id " + std::to_string(rows.ids()[row]);
      for (std::size_t at = 0; at < keys.size(); ++at) all += " " + value_text(rows, at, row);
      text.set(row, all);
    }
  }
  [[nodiscard]] auto value_text(ops::rows& rows, std::size_t at, std::size_t row) const -> std::string {
    const auto one = [row](const auto& values, auto form) {
      return values.is_null(row) ? std::string("null") : form(values[row]);
    };
    const auto number = [](auto value) { return std::to_string(static_cast<int>(value)); };
    if (types[at] == ops::ints) return one(rows.ints(keys[at]), number);
    if (types[at] == ops::floats) return one(rows.floats(keys[at]), number);
    if (types[at] == ops::bools) return one(rows.bools(keys[at]), number);
    return one(rows.texts(keys[at]), [](std::string_view value) { return std::string(value); });
  }
  std::vector<ops::read_column> keys;
  ops::written_column out;
  std::string said;
  std::vector<std::uint32_t> types;
};

/// Does one of the things that an operator may not do, or may.
struct odd {
  static auto shape() -> ops::shape {
    return ops::shape("mine::odd", "Something odd.")
        .writes("out_key", ops::floats | ops::ints | ops::bools | ops::texts)
        .choice("what", {"throw", "throw_number", "nan", "null", "type", "bytes", "truth", "huge", "stop"});
  }
  explicit odd(const ops::binding& with) : out(with.written("out_key")), what(with.choice("what")) {}
  void run(ops::rows& rows) const {
    switch (what) {
      case 0: throw std::runtime_error("it is cold");
      case 1: throw 7;
      case 2: rows.write_floats(out).set(0, std::nan("")); break;
      case 4: rows.write_ints(out).set(0, 1); break;
      case 5: rows.write_texts(out).set(0, "\xFF"); break;
      case 6: rows.write_bools(out).set(0, true); break;
      case 7: rows.write_texts(out).set(0, std::string(100'000, 'x')); break;
      case 8:
        if (rows.stopped()) throw std::runtime_error("stopped");
        break;
      default: break;
    }
  }
  ops::written_column out;
  std::size_t what;
};

/// Chooses the rows that the plan lists, as digits.
template <ops::effect Does>
struct choosing {
  static auto shape() -> ops::shape {
    const char* const name = Does == ops::effect::filters_rows  ? "mine::some"
                             : Does == ops::effect::orders_rows ? "mine::order"
                                                                : "mine::pick";
    return ops::shape(name, "The rows that it is told.", Does).text("rows");
  }
  explicit choosing(const ops::binding& with) : wanted(with.text("rows")) {}
  void run(ops::rows& rows) const {
    if (wanted == "-") return;
    rows.keep_none();
    for (const char each : wanted) rows.keep(static_cast<std::uint32_t>(each - '0'));
  }
  std::string wanted;
};

auto loaded() -> bool {
  static const bool once = [] {
    const auto* const offered =
        ops::detail::library<twice, echo, odd, choosing<ops::effect::filters_rows>, choosing<ops::effect::orders_rows>,
                             choosing<ops::effect::selects_rows>>();
    return add_operators(*offered, {"libmine.so", "00"}).has_value();
  }();
  return once;
}

/// Three rows of a batch of four, in an order of their own: the last, the second and the first of it.
auto three(op_bench& bench) -> row_set {
  row_set rows = bench.rows_of({11, 12, 13, 14});
  rows = bench.with<double>(rows, 1001, {1.0, std::nullopt, 3.0, 4.0});
  static constexpr std::array<std::uint32_t, 3> order{3, 1, 0};
  return {rows.table(), order};
}

auto doubles_of(const row_set& rows, std::uint32_t key) -> std::vector<std::string> {
  std::vector<std::string> out;
  const auto values = rows.table().find(key);
  for (std::size_t at = 0; at < rows.size(); ++at)
    out.push_back(values->is_null(rows.row(at)) ? "null"
                                                : std::to_string((*values->floats())[rows.row(at)]).substr(0, 4));
  return out;
}

/// "code: message" of what a node fails with, or "fine".
auto outcome(op_bench& bench, const std::string& op, const std::string& params, const row_set& rows) -> std::string {
  const auto done = bench.run(*bind_op(op, params).value(), {rows});
  return done ? "fine" : done.error().code + ": " + done.error().message;
}

auto first_message(const braid::checked<op_ptr>& made) -> std::string {
  const braid::diagnostic& item = *made.error().begin();
  return item.code + " " + item.pointer + ": " + item.message;
}

/// A library of one operator in C, for what C++ would not let pass.
struct raw_library {
  std::array<const char*, 2> choices{"a", "b"};
  rankd_option option{};
  rankd_operator one{};
  rankd_operator_library all{RANKD_OPERATOR_ABI, 1, &one, nullptr};

  explicit raw_library(const char* name = "raw::it") {
    option.name = "choice";
    option.kind = RANKD_OPTION_CHOICE;
    option.choices = choices.data();
    option.choice_count = 2;
    one.name = name;
    one.doc = "It.";
    one.options = &option;
    one.option_count = 1;
    one.inputs = 1;
    one.bind = [](const rankd_binding*, void**) -> std::int32_t { return 0; };
    one.run = [](const void*, const rankd_run*) -> std::int32_t { return 0; };
  }
};

/// Codes and messages, one a line, of a library that `change` has changed.
auto refusal_of(const std::function<void(raw_library&)>& change) -> std::string {
  raw_library made;
  change(made);
  const auto added = add_operators(made.all, {"libraw.so", "11"});
  if (added) return "fine";
  std::string out;
  for (const auto& item : added.error()) out += (out.empty() ? "" : "\n") + item.code + ": " + item.message;
  return out;
}

}  // namespace

TEST_CASE("an operator of a library computes on the active rows in their order") {
  REQUIRE(loaded());
  op_bench bench;
  const row_set rows = three(bench);
  const row_set out = bench.rows("mine::twice", R"({"in_key":1001,"out_key":1001})", {rows});
  CHECK(ids_of(out) == std::vector<std::int64_t>{14, 12, 11});
  CHECK(doubles_of(out, 1001) == std::vector<std::string>{"8.00", "null", "2.00"});
  CHECK(doubles_of(rows, 1001) == std::vector<std::string>{"4.00", "null", "1.00"});  // as they were
  CHECK(keeps_promise(row_change::preserves_view, std::array{rows}, out));
}

TEST_CASE("an operator of a library sees whole batches as they lie, columns that no row has, and no rows") {
  REQUIRE(loaded());
  op_bench bench;
  const std::string params = R"({"in_key":1001,"out_key":1001})";
  row_set rows = bench.rows_of({1, 2});
  CHECK(doubles_of(bench.rows("mine::twice", params, {rows}), 1001) == std::vector<std::string>{"null", "null"});
  rows = bench.with<double>(rows, 1001, {0.5, 1.5});
  CHECK(doubles_of(bench.rows("mine::twice", params, {rows}), 1001) == std::vector<std::string>{"1.00", "3.00"});
  CHECK(doubles_of(bench.rows("mine::twice", params, {rows.take(1)}), 1001) == std::vector<std::string>{"1.00"});
  CHECK(bench.rows("mine::twice", params, {rows.take(0)}).empty());
  CHECK(bench.rows("mine::twice", params, {bench.rows_of({})}).empty());
}

TEST_CASE("an operator of a library gets its options and the values of every type") {
  REQUIRE(loaded());
  op_bench bench;
  row_set rows = three(bench);
  rows = bench.with<std::int64_t>(rows, 1501, {1, 2, 3, std::nullopt});
  rows = bench.with<std::string_view>(rows, 3001, {"de", std::nullopt, "fr", "it"});
  rows = bench.with<bool>(rows, 1502, {true, false, std::nullopt, true});
  const auto text = [&](const std::string& params) {
    const row_set out = bench.rows("mine::echo", params, {rows});
    std::vector<std::string> all;
    for (std::size_t at = 0; at < out.size(); ++at) all.emplace_back((*out.table().find(3002)->strings())[out.row(at)]);
    return all;
  };
  CHECK(text(R"({"keys":[1501,1001,3001,1502],"out_key":3002,"whole":3,"truth":false,"word":"hi","side":"right"})") ==
        std::vector<std::string>{"3 no hi1 count score country fresh id 14 null 4 it 1",
                                 "3 no hi1 count score country fresh id 12 2 null null 0",
                                 "3 no hi1 count score country fresh id 11 1 1 de 1"});
  CHECK(text(R"({"keys":[1],"out_key":3002,"whole":9})").front() == "9 yes -? id id 14 14");
}

TEST_CASE("a request gives the value of an option that is bound to a param") {
  REQUIRE(loaded());
  op_bench bench;
  const row_set rows = bench.with<double>(bench.rows_of({1}), 1001, {1.0});
  const auto op =
      bind_op("mine::twice", R"({"in_key":1001,"out_key":1001,"plus":{"param_id":1,"min":-1.0,"max":1.0}})",
              R"({"op":"const_null"})", R"({"op":"const_bool","value":true})", R"(["cap.rfc.0003.bound_params.v1"])");
  REQUIRE(op.has_value());
  CHECK(doubles_of(bench.run(**op, {rows}).value(), 1001) == std::vector<std::string>{"2.50"});
  bench.params[op_world().index_of(*op_world().find_param("weight"))] = -1.0;
  CHECK(doubles_of(bench.run(**op, {rows}).value(), 1001) == std::vector<std::string>{"1.00"});
}

TEST_CASE("what an operator of a library throws, or leaves wrong, fails its node with a sentence") {
  REQUIRE(loaded());
  op_bench bench;
  const row_set rows = three(bench);
  const auto odd = [&](const std::string& what, const std::string& key) {
    return outcome(bench, "mine::odd", R"({"what":")" + what + R"(","out_key":)" + key + "}", rows);
  };
  CHECK(odd("throw", "1001") == "operator_failed: it is cold");
  CHECK(odd("throw_number", "1001") == "operator_failed: it threw an object that is not a std::exception");
  CHECK(odd("nan", "1001") == "non_finite_value: the value for `score` of row 3 (id 14) is not a finite number");
  CHECK(odd("null", "2001") ==
        "null_value: the value for `final_score` of row 3 (id 14) is null, which the key does not allow");
  CHECK(odd("null", "1001") == "fine");
  CHECK(odd("type", "1001") == "operator_failed: the type of the column differs from the requested type");
  CHECK(odd("type", "1501") == "fine");
  CHECK(odd("truth", "1502") == "fine");
  CHECK(odd("bytes", "3002") == "operator_failed: the value for `title` of row 3 (id 14) is not UTF-8");
  CHECK(odd("huge", "3002") == "fine");
  CHECK(odd("stop", "1001") == "fine");
  bench.stop.request(braid::errc::stopped);
  CHECK(odd("stop", "1001") == "operator_failed: stopped");
}

TEST_CASE("an operator of a library chooses rows as its effect says") {
  REQUIRE(loaded());
  op_bench bench;
  const row_set rows = three(bench);
  const auto chosen = [&](const std::string& op, const std::string& wanted) {
    return outcome(bench, "mine::" + op, R"({"rows":")" + wanted + R"("})", rows);
  };
  CHECK(ids_of(bench.rows("mine::pick", R"({"rows":"20"})", {rows})) == std::vector<std::int64_t>{11, 14});
  CHECK(ids_of(bench.rows("mine::some", R"({"rows":"02"})", {rows})) == std::vector<std::int64_t>{14, 11});
  CHECK(ids_of(bench.rows("mine::order", R"({"rows":"120"})", {rows})) == std::vector<std::int64_t>{12, 11, 14});
  CHECK(chosen("pick", "") == "fine");
  CHECK(chosen("pick", "-") == "operator_failed: the operator did not set the number of rows that it keeps");
  CHECK(chosen("pick", "3") == "operator_failed: the operator chose row 3, but its input has 3 rows");
  CHECK(chosen("pick", "11") == "operator_failed: the operator chose row 1 twice");
  CHECK(chosen("pick", "0121") == "operator_failed: more rows are kept than there are input rows");
  CHECK(chosen("some", "20") ==
        "operator_failed: the operator must keep the order of rows, but returned row 0 after row 2");
  CHECK(chosen("order", "01") == "operator_failed: the operator must return all rows, but returned 2 of 3");
}

TEST_CASE("an operator of a library may refuse its options") {
  REQUIRE(loaded());
  const auto refused = [](const std::string& word) {
    return first_message(bind_op("mine::echo", R"({"keys":[1],"out_key":3002,"whole":1,"word":")" + word + R"("})"));
  };
  CHECK(refused("wrong") == "operator_refused /nodes/2/params/word: `mine::echo` refuses this: there is no such word");
  CHECK(refused("worse") == "operator_refused /nodes/2: `mine::echo` refuses this: nothing is right");
  CHECK(refused("mistaken") ==
        "operator_refused /nodes/2: `mine::echo` refuses this: option `word` was read as another kind than its "
        "shape declares");
  CHECK(diagnostics("mine::echo", R"({"keys":[],"out_key":3002,"whole":10})") ==
        lines{"too_few_items /nodes/2/params/keys", "out_of_range /nodes/2/params/whole"});
  CHECK(diagnostics("mine::echo", R"({"keys":[4001,5002,7],"out_key":1001,"whole":1})") ==
        lines{"wrong_key_type /nodes/2/params/keys/0", "unreadable_key /nodes/2/params/keys/1",
              "unknown_key /nodes/2/params/keys/2", "wrong_key_type /nodes/2/params/out_key"});
  CHECK(diagnostics("mine::odd", R"({"what":"nan","out_key":5003})") ==
        lines{"unwritable_key /nodes/2/params/out_key"});
}

TEST_CASE("a library is refused with all that is wrong with it") {
  CHECK(refusal_of([](raw_library& it) { it.all.abi = 3; }) ==
        "unsupported_abi: the library uses version 3 of the operator interface; this rankd supports versions 1 to 2");
  CHECK(refusal_of([](raw_library& it) { it.all.abi = 0; }).starts_with("unsupported_abi: "));
  CHECK(refusal_of([](raw_library& it) { it.all.problem = "no luck"; }) ==
        "bad_library: the library exports no operators: no luck");
  CHECK(refusal_of([](raw_library& it) { it.all.operator_count = 0; }) == "bad_library: the library has no operator");
  CHECK(refusal_of([](raw_library& it) { it.one.name = nullptr; }) ==
        "bad_operator: the name of an operator is not valid UTF-8");
  for (const char* const name : {"it", "raw::", "::it", "Raw::it", "raw::it::more", "1raw::it", "__proto__::it"}) {
    CAPTURE(name);
    CHECK(refusal_of([name](raw_library& it) { it.one.name = name; }) ==
          "bad_operator: operator `" + std::string(name) +
              "`: its name must be `namespace::name`, each of lower-case letters, digits and `_`");
  }
  for (const char* const name : {"core::it", "test::it", "sort::it", "graph::it"}) {
    CAPTURE(name);
    CHECK(refusal_of([name](raw_library& it) { it.one.name = name; }).ends_with("use the name of your project"));
  }
  CHECK(refusal_of([](raw_library& it) {
          it.one.effect = 6;
          it.one.run = nullptr;
          it.one.row_cost_ns = -1;
          it.one.run_cost_ns = std::nan("");
          it.one.doc = nullptr;
        }) ==
        "bad_operator: operator `raw::it`: its doc must be a sentence of at most 1000 bytes of UTF-8\n"
        "bad_operator: operator `raw::it`: no effect has the number 6\n"
        "bad_operator: operator `raw::it`: it lacks `bind` or `run`\n"
        "bad_operator: operator `raw::it`: its cost per row must be a number of at least 0\n"
        "bad_operator: operator `raw::it`: its cost per run must be a number of at least 0");
  CHECK(refusal_of([](raw_library& it) { it.one.inputs = 2; }).ends_with("further inputs are options"));
  CHECK(refusal_of([](raw_library& it) { it.one.inputs = 0; }) ==
        "bad_operator: operator `raw::it`: it has no input rows, but only an operator that makes rows may be without "
        "input rows");
  CHECK(refusal_of([](raw_library& it) {
          it.one.inputs = 0;
          it.one.effect = RANKD_MAKES_ROWS;
          it.option.kind = RANKD_OPTION_READ_KEY;
          it.option.types = RANKD_TYPE_INT;
        }) == "bad_operator: operator `raw::it`: it reads keys, but has no input rows");
  const auto option = [](const std::function<void(rankd_option&)>& change) {
    const std::string all = refusal_of([&change](raw_library& it) { change(it.option); });
    constexpr std::string_view front = "bad_operator: operator `raw::it`: option ";
    return all.starts_with(front) ? all.substr(front.size()) : all;
  };
  CHECK(option([](rankd_option& it) { it.name = "trace"; }) ==
        "`trace` has the name of an option that every operator has");
  CHECK(option([](rankd_option& it) { it.name = "Upper"; }).contains("the name of an option must consist of"));
  CHECK(option([](rankd_option& it) { it.kind = 10; }) == "`choice` has an unknown kind");
  CHECK(option([](rankd_option& it) { it.bindable = 1; }).contains("cannot be bound to params"));
  CHECK(option([](rankd_option& it) { it.choice_count = 0; }) == "`choice` must have choices, at most 256");
  CHECK(option([](rankd_option& it) { it.kind = RANKD_OPTION_READ_KEY; }).contains("at least one type"));
  CHECK(option([](rankd_option& it) {
          it.kind = RANKD_OPTION_INT;
          it.int_min = 1;
        }) == "`choice` has an empty range");
  CHECK(option([](rankd_option& it) {
          it.kind = RANKD_OPTION_FLOAT;
          it.float_max = std::numeric_limits<double>::infinity();
        }) == "`choice` has an empty or infinite range");
  CHECK(find_op("raw::it") == nullptr);
}

TEST_CASE("an option of a library is no endpoint, whatever it is called") {
  static raw_library raw("records::none");
  raw.option = {};
  raw.option.name = "endpoint";
  raw.option.kind = RANKD_OPTION_INT;
  raw.option.int_max = 9;
  REQUIRE(add_operators(raw.all, {"librecords.so", "66"}).has_value());
  const auto stated = parse_plan(
      R"({"schema_version":1,"plan_name":"p","nodes":[{"node_id":"a","op":"core::candidates","inputs":[],)"
      R"("params":{"keys":[]}},{"node_id":"b","op":"records::none","inputs":["a"],"params":{"endpoint":7}}],)"
      R"("outputs":["b"]})",
      "p.json", {all_op_shapes(), op_world()});
  REQUIRE(stated.has_value());
  column_check check;
  check.add(*stated, op_world());
  CHECK(check.missing_records().empty());
}

TEST_CASE("a name stands in one library, once; the same library may come again") {
  REQUIRE(loaded());
  raw_library same("mine::twice");
  CHECK(add_operators(same.all, {"libmine.so", "00"}).has_value());  // it is known already, and not looked at
  const auto taken = add_operators(same.all, {"libother.so", "22"});
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().begin()->code == "duplicate_operator");
  CHECK(taken.error().begin()->message == "there is already an operator `mine::twice`, from libmine.so");
  std::array<rankd_operator, 2> two{raw_library("twice::it").one, raw_library("twice::it").one};
  two[0].option_count = two[1].option_count = 0;
  CHECK(add_operators({RANKD_OPERATOR_ABI, 2, two.data(), nullptr}, {"libtwice.so", "33"}).error().begin()->code ==
        "duplicate_operator");
  CHECK(find_library("mine::twice")->library == "libmine.so");
  CHECK(find_library("core::sort") == nullptr);
}

TEST_CASE("what a library in C forgets to catch, or to say, fails the node all the same") {
  static raw_library raw("rough::it");
  raw.one.option_count = 0;
  raw.one.bind = [](const rankd_binding*, void**) -> std::int32_t { throw std::runtime_error("from bind"); };
  REQUIRE(add_operators(raw.all, {"librough.so", "44"}).has_value());
  CHECK(first_message(bind_op("rough::it", "{}")) ==
        "operator_refused /nodes/2: `rough::it` refuses this: it threw: from bind");

  static raw_library silent("silent::it");
  silent.one.option_count = 0;
  silent.one.run = [](const void*, const rankd_run* with) -> std::int32_t {
    if (with->rows == 1) throw std::runtime_error("from run");
    if (with->rows == 2) return 1;
    static const std::string endless(100'000, 'x');
    with->fail(with->host, {endless.data(), endless.size()});
    return 1;
  };
  REQUIRE(add_operators(silent.all, {"libsilent.so", "55"}).has_value());
  op_bench bench;
  CHECK(outcome(bench, "silent::it", "{}", bench.rows_of({1})) == "operator_failed: it threw: from run");
  CHECK(outcome(bench, "silent::it", "{}", bench.rows_of({1, 2})) ==
        "operator_failed: the operator failed without a reason");
  CHECK(outcome(bench, "silent::it", "{}", bench.rows_of({1, 2, 3})) == "operator_failed: " + std::string(1000, 'x'));
}

TEST_CASE("a library whose static constructors end a process is refused, and this one goes on") {
  const std::filesystem::path file(ROUGH_LIBRARY);
  const auto refusal = [&file](const char* how) {
    REQUIRE(::setenv("ROUGH_LIBRARY", how, 1) == 0);
    const auto done = load_operators(std::array{file});
    return done ? std::string("fine") : done.error().begin()->code + ": " + done.error().begin()->message;
  };
  const std::string lead = "bad_library: the static constructors of the library failed: loading the library ";
  CHECK(refusal("throws") == lead + "threw no table at /opt/table");
  CHECK(refusal("throws 7") == lead + "threw an object that is not a std::exception");
  CHECK(refusal("aborts").starts_with(lead + "ended the process by signal "));
  CHECK(refusal("exits") == lead + "ended the process with status 3");
  CHECK(refusal("nothing") == "bad_library: the library has no function `rankd_operators`");
  CHECK(::unsetenv("ROUGH_LIBRARY") == 0);
}

TEST_CASE("a file that is no library of operators is refused") {
  const braid::testing::scratch_folder folder;
  folder.write("libtext.so", "this is no library");
  const auto refusal = [](const std::filesystem::path& file) {
    const auto done = load_operators(std::array{file});
    return done ? std::string("fine") : done.error().begin()->code + ": " + done.error().begin()->message;
  };
  CHECK(refusal(folder.path() / "libnone.so") == "unreadable_file: there is no such file");
  CHECK(refusal(folder.path()) == "unreadable_file: this is not a regular file");
  CHECK(refusal(folder.path() / "libtext.so").starts_with("bad_library: the library cannot be loaded: "));
  ::Dl_info strangers{};
  // One without the function. Others of the C library are in the sanitizers as well.
  REQUIRE(::dladdr(reinterpret_cast<void*>(&::gnu_get_libc_version), &strangers) != 0);
  CHECK(refusal(strangers.dli_fname) == "bad_library: the library has no function `rankd_operators`");
  const std::string whole = read_text_file(strangers.dli_fname).value();
  folder.write("libcut.so", whole.substr(0, whole.size() / 2));
  CHECK(refusal(folder.path() / "libcut.so") == "bad_library: the library file is truncated");
  folder.write("libfront.so", whole.substr(0, 100));
  CHECK(refusal(folder.path() / "libfront.so") == "bad_library: the library file is truncated");
  CHECK(list(changed_operators(std::array{folder.path() / "libtext.so"})) == lines{"library_changed "});
}
