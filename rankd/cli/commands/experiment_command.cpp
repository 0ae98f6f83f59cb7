// rankd/cli/commands/experiment_command.cpp: rankd experiment: checks experiments, and simulates how they split units.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/experiments/experiment_split.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/plan/artifact_folder.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;
using align = text_table::align;

/// Returns the names of all plans for which there are experiments.
auto list_plans(const experiment_set& experiments) -> std::set<std::string> {
  std::set<std::string> out;
  for (const experiment_entry& each : experiments.experiments())
    if (each.status != experiment_status::ended) out.insert(each.plans.begin(), each.plans.end());
  return out;
}

/// The result of checking experiments together with their plans: errors, and warnings about probable mistakes.
struct findings {
  braid::diagnostics problems;
  braid::diagnostics warnings;
};

/// Checks all experiments. The same rules apply to drafts and to active experiments.
auto collect_findings(const workspace& workspace, const std::vector<std::string>& names) -> findings {
  findings out{.problems = workspace.experiments.strangers(names), .warnings = {}};
  for (const std::string& name : list_plans(workspace.experiments)) {
    if (std::ranges::find(names, name) == names.end()) continue;
    auto plan = workspace.load_named_plan(name);
    if (!plan) {
      out.problems.append(std::move(plan.error()));
      continue;
    }
    add_experiments(*plan, find_experiments(workspace.experiments, name, workspace.declared, std::nullopt),
                    workspace.declared, out.problems);
    out.warnings.append(unread_settings(*plan, workspace.declared));
  }
  return out;
}

auto value_json(const scalar& value) -> ordered {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* fraction = std::get_if<double>(&value)) return *fraction;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

auto settings_json(const experiment_arm& arm, const registries& declared) -> ordered {
  ordered out = ordered::object();
  for (const experiment_arm::setting& each : arm.set)
    out[declared.find_param(each.param_id)->name] = value_json(each.value);
  return out;
}

auto experiment_json(const experiment_entry& one, const workspace& workspace, std::chrono::sys_seconds now) -> ordered {
  ordered arms = ordered::array();
  for (const experiment_arm& each : one.arms)
    arms.push_back(
        {{"arm", each.name},
         {"from", each.from},
         {"to", each.to},
         {"share", static_cast<double>(each.to - each.from + 1) / workspace.experiments.layers()[one.layer].buckets},
         {"set", settings_json(each, workspace.declared)}});
  return {{"id", one.id},
          {"experiment", one.name},
          {"layer", workspace.experiments.layers()[one.layer].name},
          {"status", to_string(one.status)},
          {"runs", one.runs_at(now)},
          {"plans", one.plans},
          {"arms", std::move(arms)}};
}

auto check_json(const workspace& workspace, const findings& found) -> std::string {
  ordered experiments = ordered::array();
  const auto now = experiment_time();
  for (const experiment_entry& each : workspace.experiments.experiments())
    experiments.push_back(experiment_json(each, workspace, now));
  ordered out{{"experiments", std::move(experiments)}};
  out["warnings"] = ordered::parse(diagnostics_json(found.warnings));
  return out.dump() + "\n";
}

auto check_text(const workspace& workspace) -> std::string {
  if (workspace.experiments.experiments().empty()) return "no experiments\n";
  text_table table({{"experiment"},
                    {"layer"},
                    {"status"},
                    {"runs"},
                    {"plans"},
                    {"arm"},
                    {"buckets", align::right},
                    {"share", align::right},
                    {"sets"}});
  const auto now = experiment_time();
  for (const experiment_entry& one : workspace.experiments.experiments())
    for (const experiment_arm& arm : one.arms) {
      const experiment_layer& layer = workspace.experiments.layers()[one.layer];
      const double share = 100.0 * (arm.to - arm.from + 1) / layer.buckets;
      table.add({one.name, layer.name, std::string(to_string(one.status)), yes_or_no(one.runs_at(now)),
                 joined(one.plans), arm.name, std::to_string(arm.from) + "-" + std::to_string(arm.to),
                 printed("%.2f%%", share), arm.set.empty() ? "-" : settings_json(arm, workspace.declared).dump()});
    }
  return table.to_text();
}

void add_test(ordered& into, const split_test& test) {
  into["chi_squared"] = test.chi_squared;
  into["degrees"] = test.degrees;
  into["p_value"] = test.p_value;
  into["largest_deviation"] = test.largest_deviation;
  into["as_expected"] = test.is_fair();
}

auto split_json(const split_report& report) -> std::string {
  ordered experiments = ordered::array();
  for (const experiment_split& each : report.experiments) {
    ordered arms = ordered::array();
    for (const arm_split& arm : each.arms)
      arms.push_back({{"arm", arm.arm},
                      {"from", arm.from},
                      {"to", arm.to},
                      {"expected_share", arm.expected_share},
                      {"units", arm.units},
                      {"share", static_cast<double>(arm.units) / static_cast<double>(report.ids)},
                      {"deviation", arm.deviation}});
    ordered one{{"experiment", each.experiment}, {"layer", each.layer}, {"arms", std::move(arms)}};
    add_test(one, each.test);
    experiments.push_back(std::move(one));
  }
  ordered overlaps = ordered::array();
  for (const split_overlap& each : report.overlaps) {
    ordered one{{"experiments", {each.first, each.second}},
                {"expected_share", each.expected_share},
                {"units", each.units},
                {"share", static_cast<double>(each.units) / static_cast<double>(report.ids)}};
    add_test(one, each.test);
    overlaps.push_back(std::move(one));
  }
  ordered out{{"ids", report.ids}};
  out["experiments"] = std::move(experiments);
  out["overlaps"] = std::move(overlaps);
  return out.dump() + "\n";
}

auto arms_text(const split_report& report) -> std::string {
  text_table table({{"experiment"},
                    {"layer"},
                    {"arm"},
                    {"buckets", align::right},
                    {"expected", align::right},
                    {"share", align::right},
                    {"units", align::right},
                    {"deviation", align::right}});
  for (const experiment_split& each : report.experiments)
    for (const arm_split& arm : each.arms)
      table.add({each.experiment, each.layer, arm.arm, std::to_string(arm.from) + "-" + std::to_string(arm.to),
                 printed("%.3f%%", 100 * arm.expected_share),
                 printed("%.3f%%", 100 * static_cast<double>(arm.units) / static_cast<double>(report.ids)),
                 std::to_string(arm.units), printed("%+.2f", arm.deviation)});
  return table.to_text();
}

auto test_cells(const split_test& test) -> std::vector<std::string> {
  return {printed("%.2f", test.chi_squared), std::to_string(test.degrees), printed("%.4f", test.p_value),
          yes_or_no(test.is_fair())};
}

void add_row(text_table& table, std::vector<std::string> cells, const split_test& test) {
  std::ranges::move(test_cells(test), std::back_inserter(cells));
  table.add(std::move(cells));
}

auto tests_text(const split_report& report) -> std::string {
  text_table alone(
      {{"split"}, {"chi squared", align::right}, {"degrees", align::right}, {"p", align::right}, {"as expected"}});
  for (const experiment_split& each : report.experiments) add_row(alone, {each.experiment}, each.test);
  std::string out = alone.to_text();
  if (report.overlaps.empty()) return out;
  text_table both({{"in both"},
                   {"and"},
                   {"expected", align::right},
                   {"units", align::right},
                   {"chi squared", align::right},
                   {"degrees", align::right},
                   {"p", align::right},
                   {"independent"}});
  for (const split_overlap& each : report.overlaps)
    add_row(both, {each.first, each.second, printed("%.3f%%", 100 * each.expected_share), std::to_string(each.units)},
            each.test);
  return out + "\n" + both.to_text();
}

}  // namespace

auto experiment_check_command(const list_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const auto artifacts = list_artifacts(in->where.plans);
  if (!artifacts) return report(artifacts.error(), options.form);
  std::vector<std::string> names;
  for (const artifact& each : *artifacts) names.push_back(each.name);
  const findings found = collect_findings(*in, names);
  if (!found.problems.empty()) return report(found.problems, options.form);
  if (options.form == output_form::programs) {
    print(check_json(*in, found));
    return exit_status::fine;
  }
  print(check_text(*in));
  if (!found.warnings.empty()) std::fputs(found.warnings.to_text().c_str(), stderr);
  return exit_status::fine;
}

auto experiment_simulate_command(const simulate_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const split_report split = simulate_split(in->experiments, options.ids);
  if (options.form == output_form::programs)
    print(split_json(split));
  else if (split.experiments.empty())
    print("no experiments\n");
  else
    print(arms_text(split) + "\n" + tests_text(split));
  return split.is_fair() ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
