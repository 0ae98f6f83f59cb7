// bench/rank/braid.cpp: the engine on the embedded store of the reference project, and its columns.
#include <bench/rank/problems.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/expr/expr_world.hpp>

#include <rankd/engine/batch/closed_load.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/expr/parse.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/rows/sort.hpp>

#include <braid/task/pool.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using bench::parameters;
using bench::rank_table;
using bench::sample;
using nlohmann::json;
using namespace rankd;

constexpr std::uint32_t score_key = 1001;
constexpr std::uint32_t other_key = 1002;
constexpr std::uint32_t country_key = 3001;

auto requests() -> std::vector<std::string> {
  constexpr int users_with_data = 5;
  std::vector<std::string> all;
  for (int user = 1; user <= users_with_data; ++user) all.push_back("{\"user_id\":" + std::to_string(user) + "}");
  return all;
}

template <run_order Order>
auto plan_load(const parameters& given) -> sample {
  const auto& project = testing::reference_project::get();
  testing::engine_world world(1);
  const bound_plan& what = world.reference_plan(given.word("plan", "reels_plan_a"));
  const closed_load_options how{
      .clients = static_cast<unsigned>(given.number("clients", 1)),
      .loops = static_cast<unsigned>(given.number("loops", 1)),
      .warm_up = {},
      .duration = std::chrono::milliseconds(given.number("ms", 200)),
      .engine = {.order = Order},
  };
  closed_load_result seen;
  sample measured = bench::timed(1, true, [&] {
    auto ended = run_closed_load(what, project.declared, project.stores, requests(), how);
    if (ended) seen = std::move(*ended);
    return seen.failed == 0 && !seen.latencies.empty();
  });
  const auto us = [&seen](double part) {
    return std::chrono::duration<double, std::micro>(seen.latency(part)).count();
  };
  measured.items = static_cast<double>(seen.latencies.size());
  measured.extra = {{"request_us", 1e6 / seen.per_second()},
                    {"rate_rps", seen.per_second()},
                    {"p50_us", us(0.5)},
                    {"p90_us", us(0.9)},
                    {"p99_us", us(0.99)},
                    {"max_us", us(1)}};
  return measured;
}

auto empty_node(const std::string& id, const std::string& input) -> std::string {
  return testing::node(id, "test::busy_cpu", input, R"({"busy_wait_ms":0})");
}

auto chain_of(std::uint64_t nodes) -> std::string {
  std::string text = testing::source("n0", 1);
  for (std::uint64_t i = 1; i < nodes; ++i)
    text += "," + empty_node("n" + std::to_string(i), "n" + std::to_string(i - 1));
  return testing::artifact_of(text, "\"n" + std::to_string(nodes - 1) + "\"");
}

auto fan_of(std::uint64_t nodes) -> std::string {
  std::string text = testing::source("n0", 1);
  std::string outputs;
  for (std::uint64_t i = 1; i < nodes; ++i) {
    text += "," + empty_node("n" + std::to_string(i), "n0");
    outputs += (i == 1 ? "\"n" : ",\"n") + std::to_string(i) + "\"";
  }
  return testing::artifact_of(text, outputs);
}

auto rank_again(engine& ranker, const bound_plan& plan, const rank_request& request, std::uint64_t times)
    -> braid::task<std::uint64_t> {
  std::uint64_t rows = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    auto work = ranker.rank(plan, request);
    const ranking answer = co_await std::move(work);
    rows += answer.rows.size();
  }
  co_return rows;
}

/// What asks for the workers takes the way there and back for every node.
enum class small_nodes : std::uint8_t { here, on_workers };

template <run_order Order, small_nodes Place = small_nodes::here>
auto nodes(const parameters& given) -> sample {
  const std::uint64_t count = given.number("nodes", 1000);
  const std::uint64_t times = given.number("requests", 100);
  const bool is_chain = given.word("shape", "chain") == "chain";
  engine_options how{.order = Order};
  if (Place == small_nodes::on_workers) how.max_inline_ns = -1;
  testing::engine_world world(1, how);
  const bound_plan& plan = world.bind(is_chain ? chain_of(count) : fan_of(count));
  const rank_request request =
      testing::value_of(parse_request(R"({"user_id":1})", testing::reference_project::get().declared));
  const std::uint64_t rows = times * (is_chain ? 1 : count - 1);
  return bench::timed(static_cast<double>(times * count), rows,
                      [&] { return world.on().run(rank_again(world.ranker(), plan, request, times)); });
}

constexpr int choices = 40;

/// A plan of 201 nodes: 40 choices in a row, each among two branches of two nodes. Or what a request runs of it, alone.
auto branched(bool with_branches) -> std::string {
  std::string text = testing::source("c0", 1);
  for (int i = 1; i <= choices; ++i) {
    const std::string number = std::to_string(i);
    const std::string before = "c" + std::to_string(i - 1);
    for (const char* const side : {"a", "b"}) {
      if (!with_branches && *side == 'a') continue;
      text += "," + empty_node(side + number, before);
      text += "," + empty_node(side + number + "_end", side + number);
    }
    text += with_branches ? R"(,{"node_id":"c)" + number + R"(","op":"core::choose","inputs":["a)" + number +
                                R"(_end","b)" + number + R"(_end"],"params":{"pred_ids":["new"]}})"
                          : "," + empty_node("c" + number, "b" + number + "_end");
  }
  const std::string tables = R"("capabilities_required":["cap.rfc.0005.branch.v1"],"pred_table":{"new":{"op":"cmp",)"
                             R"("cmp":"==","a":{"op":"param_ref","param_id":5},)"
                             R"("b":{"op":"const_number","value":1}}},)";
  return testing::artifact_of(text, "\"c" + std::to_string(choices) + "\"", with_branches ? tables : "");
}

template <bool WithBranches>
auto branches(const parameters& given) -> sample {
  const std::uint64_t times = given.number("requests", 100);
  testing::engine_world world(1);
  const bound_plan& plan = world.bind(branched(WithBranches));
  const rank_request request =
      testing::value_of(parse_request(R"({"user_id":1})", testing::reference_project::get().declared));
  return bench::timed(static_cast<double>(times), times,
                      [&] { return world.on().run(rank_again(world.ranker(), plan, request, times)); });
}

/// From the bytes of an artifact to a plan that can be run.
auto bind_artifact(const parameters& given) -> sample {
  const std::uint64_t times = given.number("times", 20);
  testing::engine_world world(1);
  const std::string artifact = branched(true);
  return bench::timed(static_cast<double>(times), times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) world.bind(artifact);
    return times;
  });
}

/// The table as a batch.
auto batch_of(const rank_table& from, braid::arena& memory) -> row_set {
  column_builder<double> score(memory, from.size());
  column_builder<std::string_view> country(memory, from.size());
  for (std::size_t row = 0; row < from.size(); ++row) {
    if (from.has_score[row])
      score.push(from.score[row]);
    else
      score.push_null();
    country.push("country " + std::to_string(from.country[row]));
  }
  return row_set(batch(from.ids)
                     .with_column(score_key, score.finish(), memory)
                     .with_column(other_key, {.values = std::span<const double>(from.other), .validity = {}}, memory)
                     .with_column(country_key, country.finish(), memory));
}

auto key(std::uint32_t id) -> json { return {{"op", "key_ref"}, {"key_id", id}}; }
auto literal(const json& value) -> json { return {{"op", "const_number"}, {"value", value}}; }

auto value_by_value(const rank_table& table, std::uint64_t operations) -> double {
  double sum = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    double value = table.score[row];
    for (std::uint64_t i = 0; i < operations; ++i)
      value = i % 2 == 0 ? value * bench::factor : value + table.other[row];
    if (table.has_score[row]) sum += value;
  }
  return sum;
}

/// How the rows of an expression are divided.
enum class division : std::uint8_t { none, among_workers };

template <division Divided>
auto expression(const parameters& given) -> sample {
  const rank_table table = bench::table_of(given);
  const std::uint64_t operations = given.number("operations", 4);
  json tree = key(score_key);
  for (std::uint64_t i = 0; i < operations; ++i)
    tree = {
        {"op", i % 2 == 0 ? "mul" : "add"}, {"a", tree}, {"b", i % 2 == 0 ? literal(bench::factor) : key(other_key)}};
  const expr_program code = compile_expr(parse_expr(tree, "").value(), testing::world()).value();
  braid::arena memory;
  const row_set rows = batch_of(table, memory);
  const std::vector<scalar> params(testing::world().params().size());
  const std::size_t repeats = bench::repeats_of(table.size() * operations);
  const evaluate_options how{.rows_of_part = Divided == division::none ? evaluate_options::one_part : 16'384};
  const auto all = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < repeats; ++i) {
      braid::arena own;
      const column found = evaluate(code, rows, params, own, how).value();
      if (i + 1 < repeats) continue;
      for (const double value : *found.floats()) sum += value;
    }
    return sum;
  };
  braid::pool pool({.workers = given.workers()});
  const double items = static_cast<double>(repeats * table.size() * operations);
  return braid::run_in(pool, [&] { return bench::timed(items, value_by_value(table, operations), all); });
}

auto test_of(const std::string& what, const rank_table& table) -> json {
  if (what == "country") {
    json list = json::array();
    for (std::uint32_t i = 0; i < bench::wanted_countries; ++i) list.push_back("country " + std::to_string(i));
    return {{"op", "in"}, {"lhs", key(country_key)}, {"list", list}};
  }
  const bool is_id = what == "id";
  return {{"op", "cmp"},
          {"cmp", ">"},
          {"a", key(is_id ? 1 : score_key)},
          {"b", literal(is_id ? json(bench::middle_id(table)) : json(bench::middle_score))}};
}

auto count_of(const std::string& what, const rank_table& table) -> std::size_t {
  std::size_t count = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (what == "float") count += table.score[row] > bench::middle_score ? 1 : 0;
    if (what == "id") count += table.ids[row] > bench::middle_id(table) ? 1 : 0;
    if (what == "country") count += table.country[row] < bench::wanted_countries ? 1 : 0;
  }
  return count;
}

auto filter(const parameters& given) -> sample {
  const rank_table table = bench::table_of(given);
  const std::string what = given.word("test", "float");
  const pred_program code = compile_pred(parse_pred(test_of(what, table), "").value(), testing::world()).value();
  braid::arena memory;
  const row_set rows = batch_of(table, memory);
  const std::vector<scalar> params(testing::world().params().size());
  const std::size_t repeats = bench::repeats_of(table.size());
  return bench::timed(static_cast<double>(repeats * table.size()), count_of(what, table), [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < repeats; ++i) {
      braid::arena own;
      count = rows.select(evaluate(code, rows, params, own).value(), own).size();
    }
    return count;
  });
}

auto top(const parameters& given) -> sample {
  const rank_table table = bench::table_of(given);
  braid::arena memory;
  const row_set rows = batch_of(table, memory);
  const std::size_t repeats = bench::repeats_of(table.size() * 4);
  return bench::timed(static_cast<double>(repeats * table.size()), true, [&] {
    bool sorted = true;
    for (std::size_t i = 0; i < repeats; ++i) {
      braid::arena own;
      const row_set first = sort_first(rows, score_key, sort_direction::descending, 50, own);
      for (std::size_t at = 1; at < first.size(); ++at)
        sorted = sorted && table.score[first.row(at)] <= table.score[first.row(at - 1)];
    }
    return sorted;
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  const bench::contender in_parts = bench::braid_contender("braid in parts");
  const bench::contender on_workers = bench::braid_contender("braid all on workers");
  const bench::contender one_by_one = bench::braid_contender("braid one by one");
  const bench::contender chosen_alone = bench::braid_contender("braid, the chosen nodes alone");
  return bench::run_program(count, arguments, "rank",
                            {{"plan", braid, plan_load<run_order::side_by_side>},
                             {"plan", one_by_one, plan_load<run_order::one_by_one>},
                             {"nodes", braid, nodes<run_order::side_by_side>},
                             {"nodes", one_by_one, nodes<run_order::one_by_one>},
                             {"nodes", on_workers, nodes<run_order::side_by_side, small_nodes::on_workers>},
                             {"branches", braid, branches<true>},
                             {"branches", chosen_alone, branches<false>},
                             {"bind", braid, bind_artifact},
                             {"expression", braid, expression<division::none>},
                             {"expression", in_parts, expression<division::among_workers>},
                             {"filter", braid, filter},
                             {"top", braid, top}});
}
