// rankd/engine/explain/plan_comparison.cpp: derives consequences from the nodes of two plans, and writes both as JSON.
#include <rankd/engine/explain/plan_comparison.hpp>

#include <rankd/engine/plans/plan_graph.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;

/// The columns that candidates may have.
auto answer_columns(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> columns;
  for (const graph_node& node : graph.nodes)
    if (node.is_output) columns.insert(columns.end(), node.columns.begin(), node.columns.end());
  std::ranges::sort(columns);
  const auto repeated = std::ranges::unique(columns);
  columns.erase(repeated.begin(), repeated.end());
  return columns;
}

auto list_budget(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const budget_line& line : list_lines(graph.budget))
    lines.push_back(line.name + " " + std::to_string(line.value));
  return lines;
}

auto list_models(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> models;
  for (const model_digest& each : graph.models) models.push_back(each.name + " " + each.sha256);
  return models;
}

auto list_operators(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> libraries;
  for (const operator_digest& each : graph.operators) libraries.push_back(each.library + " " + each.sha256);
  return libraries;
}

auto list_vectors(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> files;
  for (const model_digest& each : graph.vectors) files.push_back(each.name + " " + each.sha256);
  return files;
}

auto consequences(const plan_graph& before, const plan_graph& after) -> std::vector<plan_consequence> {
  std::vector<plan_consequence> all{{"columns", answer_columns(before), answer_columns(after)},
                                    {"budget", list_budget(before), list_budget(after)},
                                    {"capabilities", before.capabilities, after.capabilities},
                                    {"models", list_models(before), list_models(after)},
                                    {"operators", list_operators(before), list_operators(after)},
                                    {"vectors", list_vectors(before), list_vectors(after)}};
  std::erase_if(all, [](const plan_consequence& each) { return each.before == each.after; });
  return all;
}

auto change_json(const plan_change& change) -> ordered {
  const auto or_null = [](const std::optional<std::string>& text) { return text ? ordered(*text) : ordered(nullptr); };
  const auto unless_empty = [](const std::string& text) { return text.empty() ? ordered(nullptr) : ordered(text); };
  return {{"kind", to_string(change.kind)},      {"node", unless_empty(change.node)}, {"was", unless_empty(change.was)},
          {"field", unless_empty(change.field)}, {"before", or_null(change.before)},  {"after", or_null(change.after)}};
}

}  // namespace

auto compare_plans(const bound_plan& before, const bound_plan& after) -> plan_comparison {
  return {.changes = differences({*before.stated, *before.declared}, {*after.stated, *after.declared}),
          .consequences = consequences(make_graph(before, *before.declared), make_graph(after, *after.declared))};
}

auto comparison_json(const plan_comparison& found, const bound_plan& before, const bound_plan& after) -> std::string {
  ordered changes = ordered::array();
  for (const plan_change& change : found.changes) changes.push_back(change_json(change));
  ordered follows = ordered::array();
  for (const plan_consequence& each : found.consequences)
    follows.push_back({{"what", each.what}, {"before", each.before}, {"after", each.after}});
  const auto side = [](const bound_plan& plan) { return ordered{{"plan", plan.name}, {"digest", plan.digest}}; };
  const ordered out = {{"before", side(before)},
                       {"after", side(after)},
                       {"equal", found.is_equal()},
                       {"changes", std::move(changes)},
                       {"consequences", std::move(follows)}};
  return out.dump() + "\n";
}

}  // namespace rankd
