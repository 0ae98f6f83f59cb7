// rankd/engine/explain/plan_comparison.cpp: compares two plans, and writes the differences as JSON.
#include <rankd/engine/explain/plan_comparison.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/engine/plans/plan_graph.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rankd {
namespace {

/// Returns the names of the columns that the candidates of a plan may have.
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

void append_change(std::string& out, const plan_change& change) {
  const auto unless_empty = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  out += '{';
  append_json_member(out, "kind", to_string(change.kind));
  append_json_or_null(out, "node", unless_empty(change.node));
  append_json_or_null(out, "was", unless_empty(change.was));
  append_json_or_null(out, "field", unless_empty(change.field));
  append_json_or_null(out, "before", change.before);
  append_json_or_null(out, "after", change.after);
  out += '}';
}

void append_consequence(std::string& out, const plan_consequence& each) {
  out += '{';
  append_json_member(out, "what", each.what);
  append_json_name(out, "before");
  append_json_strings(out, each.before);
  append_json_name(out, "after");
  append_json_strings(out, each.after);
  out += '}';
}

void append_side(std::string& out, std::string_view name, const bound_plan& plan) {
  append_json_name(out, name);
  out += '{';
  append_json_member(out, "plan", plan.name);
  append_json_member(out, "digest", plan.digest);
  out += '}';
}

}  // namespace

auto compare_plans(const bound_plan& before, const bound_plan& after) -> plan_comparison {
  return {.changes = differences({*before.stated, *before.declared}, {*after.stated, *after.declared}),
          .consequences = consequences(make_graph(before, *before.declared), make_graph(after, *after.declared))};
}

auto comparison_json(const plan_comparison& found, const bound_plan& before, const bound_plan& after) -> std::string {
  std::string out = "{";
  append_side(out, "before", before);
  append_side(out, "after", after);
  append_json_flag(out, "equal", found.is_equal());
  append_json_name(out, "changes");
  append_json_list(out, found.changes, append_change);
  append_json_name(out, "consequences");
  append_json_list(out, found.consequences, append_consequence);
  return out += "}\n";
}

}  // namespace rankd
