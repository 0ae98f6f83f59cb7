// rankd/cli/diff_command.cpp: rankd diff: the structural difference of two plans, and what follows from it.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/printable.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/plan_graph.hpp>
#include <rankd/plan/diff.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;

/// Something that is not written in the nodes and differs because of them, or because of the plans' names.
struct consequence {
  std::string what;
  std::vector<std::string> before;
  std::vector<std::string> after;
};

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

auto budget_of(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const budget_line& line : lines_of(graph.budget)) lines.push_back(line.name + " " + std::to_string(line.value));
  return lines;
}

auto models_of(const plan_graph& graph) -> std::vector<std::string> {
  std::vector<std::string> models;
  for (const model_digest& each : graph.models) models.push_back(each.name + " " + each.sha256);
  return models;
}

auto consequences(const plan_graph& before, const plan_graph& after) -> std::vector<consequence> {
  std::vector<consequence> all{{"columns", answer_columns(before), answer_columns(after)},
                               {"budget", budget_of(before), budget_of(after)},
                               {"capabilities", before.capabilities, after.capabilities},
                               {"models", models_of(before), models_of(after)}};
  std::erase_if(all, [](const consequence& each) { return each.before == each.after; });
  return all;
}

auto joined(const std::vector<std::string>& items) -> std::string {
  std::string out;
  for (const std::string& item : items) out.append(out.empty() ? "" : ", ").append(item);
  return out.empty() ? "(none)" : out;
}

auto line_of(const plan_change& change) -> std::string {
  std::string out(to_string(change.kind));
  out.resize(9, ' ');
  if (change.kind == change_kind::renamed) return out + change.was + " → " + change.node;
  if (!change.node.empty()) out += change.node + ": ";
  if (change.kind == change_kind::added) return out + change.after.value_or("");
  if (change.kind == change_kind::removed) return out + change.before.value_or("");
  return out + change.field + ": " + change.before.value_or("(none)") + " → " + change.after.value_or("(none)");
}

auto change_json(const plan_change& change) -> ordered {
  const auto or_null = [](const std::optional<std::string>& text) { return text ? ordered(*text) : ordered(nullptr); };
  const auto unless_empty = [](const std::string& text) { return text.empty() ? ordered(nullptr) : ordered(text); };
  return {{"kind", to_string(change.kind)},      {"node", unless_empty(change.node)}, {"was", unless_empty(change.was)},
          {"field", unless_empty(change.field)}, {"before", or_null(change.before)},  {"after", or_null(change.after)}};
}

struct plan_comparison {
  std::vector<plan_change> changes;
  std::vector<consequence> consequences;

  [[nodiscard]] auto is_equal() const -> bool { return changes.empty() && consequences.empty(); }
};

void print_lines(const plan_comparison& found) {
  std::string out;
  for (const plan_change& change : found.changes) out += printable(line_of(change)) + "\n";
  for (const consequence& each : found.consequences)
    out += "follows  " + printable(each.what + ": " + joined(each.before) + " → " + joined(each.after)) + "\n";
  print(out);
}

void print_json(const plan_comparison& found, const plan_graph& before, const plan_graph& after) {
  ordered changes = ordered::array();
  for (const plan_change& change : found.changes) changes.push_back(change_json(change));
  ordered follows = ordered::array();
  for (const consequence& each : found.consequences)
    follows.push_back({{"what", each.what}, {"before", each.before}, {"after", each.after}});
  const auto side = [](const plan_graph& graph) { return ordered{{"plan", graph.name}, {"digest", graph.digest}}; };
  const ordered out = {{"before", side(before)},
                       {"after", side(after)},
                       {"equal", found.is_equal()},
                       {"changes", std::move(changes)},
                       {"consequences", std::move(follows)}};
  print(out.dump() + "\n");
}

auto open_side(const workspace& in, const std::string& name_or_file) -> braid::checked<bound_plan> {
  return name_or_file.ends_with(".json") ? in.load_plan_file(name_or_file) : in.load_plan_of(name_or_file);
}

auto report_error(const braid::diagnostics& problems, output_form form) -> exit_status {
  report(problems, form);
  return exit_status::wrong_usage;
}

}  // namespace

auto diff_command(const diff_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report_error(in.error(), options.form);
  const auto before = open_side(*in, options.before);
  if (!before) return report_error(before.error(), options.form);
  const auto after = open_side(*in, options.after);
  if (!after) return report_error(after.error(), options.form);

  const plan_graph old = graph_of(*before, in->declared);
  const plan_graph now = graph_of(*after, in->declared);
  const plan_comparison found{.changes = differences({*before->stated, in->declared}, {*after->stated, in->declared}),
                              .consequences = consequences(old, now)};
  if (options.form == output_form::programs)
    print_json(found, old, now);
  else
    print_lines(found);
  return found.is_equal() ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
