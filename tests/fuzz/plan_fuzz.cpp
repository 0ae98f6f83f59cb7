// tests/fuzz/plan_fuzz.cpp: any text as an artifact: refused with its reasons, or bound, and run where that is cheap.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <rankd/abi/operators.hpp>
#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/digest.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::string_view, 104> words{
    "\"core::viewer\"",
    "\"core::follow\"",
    "\"core::recommendation\"",
    "\"core::media\"",
    "\"core::vm\"",
    "\"core::filter\"",
    "\"core::concat\"",
    "\"core::sort\"",
    "\"core::take\"",
    "\"test::fixed_source\"",
    "\"test::sleep\"",
    "\"test::busy_cpu\"",
    "\"node_id\"",
    "\"inputs\"",
    "\"params\"",
    "\"trace\":null",
    "\"endpoint\":\"ep_0001\"",
    "\"ep_0002\"",
    "\"ep_0003\"",
    "\"fanout\":3",
    "\"rhs\"",
    "\"out_key\":1001",
    "2001",
    "1001",
    "3001",
    "4001",
    "5001",
    "5002",
    "5003",
    "5004",
    "\"expr_id\":\"e\"",
    "\"pred_id\":\"p\"",
    "\"order\":\"desc\"",
    "\"by\":1",
    "\"count\":2",
    "\"row_count\":65",
    "\"schema_version\":1",
    "\"capabilities_required\":[\"cap.rfc.0001.math.v1\"]",
    "\"cap.rfc.0002.old.v1\"",
    "\"cap.rfc.0003.more.v1\"",
    "\"extensions\":{\"cap.rfc.0001.math.v1\":@}",
    "\"source_files\":[\"a.ts\"]",
    "{\"file\":0,\"line\":1,\"column\":1,\"end_line\":1,\"end_column\":2}",
    "\"registry_digests\":{\"keys\":@}",
    "\"registry_digests\":{\"params\":{\"1\":@}}",
    "{\"op\":\"const_null\"}",
    "{\"op\":\"const_number\",\"value\":0.5}",
    "{\"op\":\"key_ref\",\"key_id\":1001}",
    "{\"op\":\"param_ref\",\"param_id\":1}",
    "{\"op\":\"neg\",\"x\":@}",
    "{\"op\":\"add\",\"a\":@,\"b\":@}",
    "{\"op\":\"coalesce\",\"a\":@,\"b\":{\"op\":\"const_number\",\"value\":1}}",
    "{\"op\":\"mul\",\"a\":@,\"b\":{\"op\":\"key_ref\",\"key_id\":1}}",
    "\"cap.rfc.0001.arithmetic.v1\"",
    "{\"op\":\"div\",\"a\":@,\"b\":{\"op\":\"clamp\",\"x\":@,\"lo\":@,\"hi\":@}}",
    "{\"op\":\"if\",\"pred\":@,\"a\":@,\"b\":@}",
    "{\"op\":\"not\",\"x\":@}",
    "{\"op\":\"and\",\"a\":@,\"b\":@}",
    "{\"op\":\"const_bool\",\"value\":true}",
    "{\"op\":\"is_null\",\"x\":@}",
    "{\"op\":\"cmp\",\"cmp\":\"<=\",\"a\":{\"op\":\"key_ref\",\"key_id\":1},\"b\":{\"op\":\"const_number\",\"value\":3}"
    "}",
    "{\"op\":\"in\",\"lhs\":{\"op\":\"key_ref\",\"key_id\":3001},\"list\":[\"US\",\"CA\"]}",
    "{\"op\":\"regex\",\"key_id\":3001,\"pattern\":{\"kind\":\"literal\",\"value\":\"U|(C.)*$\"},\"flags\":\"i\"}",
    "{\"kind\":\"param\",\"param_id\":2}",
    "\"x{1000}{1000}\"",
    "\"(?i)[^\\\\PL]+\"",
    "{\"node_id\":\"z\",\"op\":\"core::take\",\"inputs\":[\"v\"],\"params\":{\"count\":1}}",
    "[\"v\",\"z\"]",
    "\"core::dedupe\"",
    "{\"node_id\":\"z\",\"op\":\"core::diversify\",\"inputs\":[\"v\"],\"params\":{\"strategy\":\"window\","
    "\"by\":3001,\"at_most\":1,\"window\":3,\"overflow\":\"drop\"}}",
    "\"strategy\":\"quota\",\"by\":1,\"values\":[2,7],\"every_nth\":2,\"first\":1",
    "\"core::join\"",
    "\"strategy\":\"max_by\",\"score_key\":2001",
    "\"how\":\"left\",\"select\":[1001,3001],\"on_missing\":\"default\"",
    "\"select\":[1,1001],\"map\":[1501,2001]",
    "{\"node_id\":\"z\",\"op\":\"core::join\",\"inputs\":[\"v\"],\"params\":{\"rhs\":\"v\",\"how\":\"semi\",\"by\":"
    "3001}}",
    "\"core::fetch_features\"",
    "{\"node_id\":\"z\",\"op\":\"core::call_models\",\"inputs\":[\"v\"],\"params\":{\"models\":[\"line\",\"forest\"],"
    "\"out_keys\":[1001,2001]}}",
    "{\"node_id\":\"z\",\"op\":\"core::fetch_features\",\"inputs\":[\"v\"],\"params\":{\"endpoint\":\"ep_0001\","
    "\"hash\":\"user\",\"keys\":[1001,1501,3002]}}",
    "{\"node_id\":\"z\",\"op\":\"core::extract_features\",\"inputs\":[\"v\"],\"params\":{\"transform\":\"one_hot\","
    "\"keys\":[3001],\"out_keys\":[1001,2001],\"values\":[\"US\",\"CA\"]}}",
    "\"key\":\"follow:{id}\"",
    "\"timeout_ms\":40",
    "\"retries\":2",
    "\"hedge_ms\":8",
    "\"capture\":{\"sample\":0.5,\"key_ids\":[1],\"side\":\"both\"}",
    "\"capabilities_required\":[\"cap.rfc.0010.capture.v1\"]",
    "\"cache\":{\"ttl_ms\":1000,\"stale_ms\":5,\"max_rows\":1}",
    "\"capabilities_required\":[\"cap.rfc.0011.cache.v1\"]",
    "\"capabilities_required\":[\"cap.rfc.0007.timeouts.v1\",\"cap.rfc.0008.retries.v1\"]",
    "\"capabilities_required\":[\"cap.rfc.0003.bound_params.v1\",\"cap.rfc.0005.branch.v1\"]",
    "\"capabilities_required\":[\"cap.rfc.0006.formulas.v1\"]",
    "{\"op\":\"mod\",\"a\":{\"op\":\"key_ref\",\"key_id\":1},\"b\":{\"op\":\"const_number\",\"value\":3}}",
    "{\"op\":\"bucket\",\"x\":{\"op\":\"key_ref\",\"key_id\":1},\"count\":100,\"seed\":\"a\"}",
    "{\"op\":\"cmp_text\",\"cmp\":\">=\",\"a\":{\"kind\":\"key\",\"key_id\":3001},\"b\":{\"kind\":\"literal\","
    "\"value\":\"US\"}}",
    "{\"op\":\"starts_with\",\"a\":{\"kind\":\"key\",\"key_id\":3001},\"b\":{\"kind\":\"param\",\"param_id\":11}}",
    "{\"node_id\":\"z\",\"op\":\"core::flag\",\"inputs\":[\"v\"],\"params\":{\"out_key\":1502,\"pred_id\":\"p\"}}",
    "{\"param_id\":10,\"min\":1,\"max\":50}",
    "{\"node_id\":\"z\",\"op\":\"core::choose\",\"inputs\":[\"v\",\"v\"],\"params\":{\"pred_ids\":[\"p\"]}}",
    "{\"op\":\"in\",\"lhs\":{\"op\":\"param_ref\",\"param_id\":11},\"list\":[\"feed\"]}",
    "{\"node_id\":\"z\",\"op\":\"core::sorted_set\",\"inputs\":[],\"params\":{\"endpoint\":\"ep_0001\",\"key\":"
    "\"near:{P.pattern}\",\"count\":3,\"out_key\":1001}}",
    "{\"node_id\":\"z\",\"op\":\"core::hash\",\"inputs\":[\"v\"],\"params\":{\"endpoint\":\"ep_0001\",\"key\":"
    "\"user:{id}\",\"keys\":[1501,3002],\"fields\":[\"a\",\"b\"]}}",
    "{\"node_id\":\"z\",\"op\":\"core::members_of\",\"inputs\":[\"v\"],\"params\":{\"endpoint\":\"ep_0001\",\"key\":"
    "\"seen:{country}\",\"out_key\":1502}}",
    "{\"node_id\":\"z\",\"op\":\"core::strings\",\"inputs\":[\"v\"],\"params\":{\"endpoint\":\"ep_0001\",\"key\":"
    "\"price:{id}\",\"out_key\":1501}}",
    "\"transform\":\"bucket\",\"keys\":[1],\"out_keys\":[1001],\"boundaries\":[-1e300,0,7.5]"};

constexpr std::size_t max_list = 6;

void fill(memory_store& out) {
  out.hashes = {{"user:7", {{"country", "US"}}}, {"user:2", {{"country", "CA"}}}, {"user:-3", {{"country", ""}}}};
  out.lists = {{"follow:7", {"2", "-3", "x", "9007199254740993", "7", "2"}},
               {"recommendation:7", {"5", "7", "9223372036854775807"}},
               {"follow:2", {"7", "2"}},
               {"media:7", {"1", "", "2"}}};
}

/// An engine whose store lies in memory.
struct world {
  memory_store store;
  engine_world engines{op_world(), {&store, nullptr, &store}, 1};

  world() { fill(store); }

  static auto get() -> world& {
    static world once;
    return once;
  }
};

auto int_param(const plan_node& node, std::string_view name, std::int64_t absent) -> std::int64_t {
  const plan_param* param = node.find_param(name);
  return param == nullptr ? absent : std::get<std::int64_t>(param->most());
}

/// A bound of the rows that a node can give, or nothing where it would take time.
auto rows_of(const plan_node& node, const std::vector<std::int64_t>& rows) -> std::optional<std::int64_t> {
  if (int_param(node, "duration_ms", 0) > 0 || int_param(node, "busy_wait_ms", 0) > 0) return std::nullopt;
  if (node.op == "core::viewer") return 1;
  if (node.op == "fuzz::merge") return int_param(node, "count", 0);
  if (node.op == "test::fixed_source") return int_param(node, "row_count", 1);
  std::int64_t incoming = 0;
  for (const node_index source : node.sources) incoming += rows[source];
  return incoming * std::min<std::int64_t>(int_param(node, "fanout", 1), max_list);
}

auto is_cheap(const plan& loaded) -> bool {
  constexpr std::int64_t max_rows = 1'000;
  std::vector<std::int64_t> rows(loaded.nodes.size());
  for (const node_index i : loaded.order) {
    const auto bound = rows_of(loaded.nodes[i], rows);
    if (!bound || *bound > max_rows) return false;
    rows[i] = *bound;
  }
  return true;
}

void expect_limits(const plan& loaded) {
  std::size_t edges = 0;
  std::vector<std::size_t> depth(loaded.nodes.size(), 1);
  BRAID_EXPECTS(loaded.order.size() == loaded.nodes.size(), "every node has its turn");
  for (const node_index i : loaded.order) {
    edges += loaded.nodes[i].sources.size();
    for (const node_index source : loaded.nodes[i].sources) depth[i] = std::max(depth[i], depth[source] + 1);
    BRAID_EXPECTS(depth[i] <= max_plan_depth, "no plan is too deep");
  }
  BRAID_EXPECTS(loaded.nodes.size() <= max_plan_nodes && edges <= max_plan_edges, "no plan is too large");
  BRAID_EXPECTS(!loaded.outputs.empty(), "every plan has an output");
}

/// The same request is answered with the same bytes.
void run_twice(const bound_plan& bound) {
  constexpr std::string_view request = R"({"user_id":7,"param_overrides":{"pattern":"^.[AS]"}})";
  world& at = world::get();
  const std::string answer = to_json(at.engines.rank(bound, request));
  at.store.asked.clear();
  BRAID_EXPECTS(parse_json(answer, "answer"), "an answer is JSON");
  BRAID_EXPECTS(answer == to_json(at.engines.rank(bound, request)), "the same request has the same answer");
  at.store.asked.clear();
}

void bind_and_run(const plan& loaded, const nlohmann::json& document) {
  model_folder models("tests/rankd/tables/models", op_world());
  vector_folder vectors("tests/rankd/tables");
  const auto bound = bind_plan(loaded, op_world(), {}, &models, &vectors);
  if (!bound) {
    expect_sound(bound.error());
    expect_locations(bound.error(), document);
  } else if (is_cheap(loaded)) {
    run_twice(*bound);
  }
}

/// An operator of a library that takes every kind of option, and does what it may not do where the options say so.
struct odd_operator {
  static auto shape() -> operators::shape {
    return operators::shape("fuzz::odd", "Rows that it is told, each perhaps wrong.", operators::effect::selects_rows)
        .reads_all("keys", operators::ints | operators::floats | operators::texts | operators::bools, 0)
        .writes("out_key", operators::floats, operators::need::optional)
        .integer("first", {-2, 70}, operators::need::optional, operators::given_by::plan_or_request)
        .number("value", {-1e300, 1e300}, operators::need::optional, operators::given_by::plan_or_request)
        .text("word", operators::need::optional)
        .choice("side", {"left", "right"}, operators::need::optional)
        .truth("twice", operators::need::optional);
  }
  explicit odd_operator(const operators::binding& with)
      : first(with.int_of("first")), value(with.float_of("value")), twice(with.truth("twice")) {
    if (with.given("out_key")) out.emplace(with.written("out_key"));
    if (with.text("word").size() > 3) throw operators::refusal("word", "it is long");
  }
  void run(operators::rows& rows) const {
    const auto begin = static_cast<std::uint32_t>(rows.value(first));
    rows.keep_none();
    for (std::uint32_t row = begin; row < rows.size(); ++row) {
      if (out) rows.write_floats(*out).set(row, rows.value(value) * 1e10 * row);
      rows.keep(twice ? begin : row);
    }
  }
  operators::int_option first;
  operators::float_option value;
  std::optional<operators::written_column> out;
  bool twice;
};

/// Merges rows of its inputs, some of which are not there, or twice, and rows of its own, some of them without an id.
struct odd_merge {
  static auto shape() -> operators::shape {
    return operators::shape("fuzz::merge", "Rows that it is told, each perhaps wrong.", operators::effect::merges_rows)
        .input("others", operators::need::optional)
        .reads_all("keys", operators::ints | operators::floats | operators::texts | operators::bools, 0)
        .writes("out_key", operators::floats, operators::need::optional)
        .integer("count", {0, 200})
        .integer("first", {-2, 70}, operators::need::optional, operators::given_by::plan_or_request)
        .integer("kinds", {1, 4});
  }
  explicit odd_merge(const operators::binding& with)
      : others(with.input("others")),
        count(static_cast<std::size_t>(with.integer("count"))),
        first(with.int_of("first")),
        kinds(static_cast<std::size_t>(with.integer("kinds"))) {
    if (with.given("out_key")) out.emplace(with.written("out_key"));
  }
  void run(operators::rows& rows) const {
    operators::made_rows made = rows.make(count);
    for (std::size_t at = 0; at < count; ++at) {
      const auto number = static_cast<std::size_t>(rows.value(first)) + at / kinds;
      if (at % kinds == 0) made.take(at, operators::first_input, number);
      if (at % kinds == 1) made.take(at, others, number);
      if (at % kinds == 2) made.set_id(at, static_cast<std::int64_t>(number));
      if (out) rows.write_floats(*out).set(at, static_cast<double>(number));
    }
  }
  operators::input_rows others;
  std::size_t count;
  operators::int_option first;
  std::size_t kinds;
  std::optional<operators::written_column> out;
};

/// Once; plans of the corpus use them.
auto load_odd_operators() -> bool {
  return add_operators(*operators::detail::library<odd_operator, odd_merge>(), {"libfuzz.so", "00"}).has_value();
}

/// Those of the corpus, as if the engine had code for them.
constexpr std::array<std::string_view, 15> capabilities{
    "cap.rfc.0001.arithmetic.v1",   "cap.rfc.0001.math.v1",    "cap.rfc.0002.fragments.v1",
    "cap.rfc.0003.bound_params.v1", "cap.rfc.0003.more.v1",    "cap.rfc.0004.aging.v1",
    "cap.rfc.0004.fallback.v1",     "cap.rfc.0005.branch.v1",  "cap.rfc.0006.formulas.v1",
    "cap.rfc.0007.timeouts.v1",     "cap.rfc.0008.retries.v1", "cap.rfc.0009.vectors.v1",
    "cap.rfc.0010.capture.v1",      "cap.rfc.0011.cache.v1",   "cap.rfc.0012.hedge.v1"};

void run(std::string_view text) {
  static const bool loaded_once = load_odd_operators();
  BRAID_EXPECTS(loaded_once, "the operators of this target are right");
  const plan_rules rules{.ops = all_op_shapes(), .declared = op_world(), .capabilities = capabilities};
  const auto loaded = parse_plan(text, "fuzz", rules);
  const auto document = parse_json(text, "fuzz");
  if (!loaded) expect_sound(loaded.error());
  if (!document) {
    BRAID_EXPECTS(!loaded, "a plan is JSON");
    return;
  }
  const auto again = parse_plan(document->dump(), "fuzz", rules);
  BRAID_EXPECTS(loaded.has_value() == again.has_value(), "layout does not matter");
  if (!loaded) {
    BRAID_EXPECTS(same_diagnostics(loaded.error(), again.error()), "layout does not matter to diagnostics");
    return expect_locations(loaded.error(), *document);
  }
  BRAID_EXPECTS(loaded->digest == sha256_hex(text), "the digest is that of the bytes");
  expect_limits(*loaded);
  bind_and_run(*loaded, *document);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
