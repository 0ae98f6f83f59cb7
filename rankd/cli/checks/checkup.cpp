// rankd/cli/checks/checkup.cpp: checks the project for rankd doctor, and prints all findings.
#include <rankd/cli/checks/checkup.hpp>

#include <rankd/cli/checks/project_files.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/events/step_kinds.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto sentence(const braid::diagnostic& item) -> std::string {
  std::string out = item.source.empty() ? "" : item.source + ": ";
  if (!item.node.empty()) out += "node `" + item.node + "`: ";
  return out + item.message + " [" + item.code + "]";
}

}  // namespace

auto to_string(health state) noexcept -> std::string_view {
  switch (state) {
    case health::ok: return "ok";
    case health::warn: return "warn";
    case health::fail: break;
  }
  return "fail";
}

void checkup::add(std::string_view area, health health, const braid::diagnostics& problems, std::string_view advice) {
  constexpr std::size_t max_count = 5;
  std::size_t shown = 0;
  for (const braid::diagnostic& item : problems) {
    if (shown++ == max_count)
      return add(area, health, counted(problems.size() - max_count, "more diagnostic"), std::string(advice));
    add(area, health, sentence(item), item.hint.empty() ? std::string(advice) : item.hint);
  }
}

auto checkup::count(health health) const -> std::size_t {
  return static_cast<std::size_t>(std::ranges::count(findings_, health, &finding::how));
}

auto check_project(const fs::path& folder, checkup& checkup) -> std::optional<workspace> {
  auto root = folder;
  if (root.empty()) root = project::find(fs::current_path()).value_or("");
  if (root.empty()) {
    checkup.fail("project", "there is no rankd.toml here or in any parent folder",
                 "change to a project folder, set --project, or create a project with `rankd init demo DIR`");
    return std::nullopt;
  }
  auto where = project::load(root);
  if (!where) {
    checkup.fail("project", where.error(), "correct rankd.toml");
    return std::nullopt;
  }
  checkup.ok("project", "`" + where->name + "` in " + where->root.string() + ", environment " + where->environment);
  auto declared = registries::load(where->registry, where->environment);
  if (!declared) {
    checkup.fail("registries", declared.error(), "correct the files in " + where->registry.string());
    return std::nullopt;
  }
  checkup.ok("registries", counted(declared->keys().size(), "key") + ", " +
                               counted(declared->params().size(), "param") + ", " +
                               counted(declared->endpoints().size(), "endpoint"));
  if (auto loaded = load_operators(where->operators); !loaded) {
    checkup.fail("operators", loaded.error(), "correct the library, or the `operators` tables of rankd.toml");
    return std::nullopt;
  }
  if (!where->operators.empty())
    checkup.ok("operators", counted(own_ops().size(), "operator") +
                                " of the project: " + counted(where->operators.size(), "library", "libraries"));
  auto experiments = experiment_set::load(where->registry, *declared);
  if (!experiments) {
    checkup.fail("experiments", experiments.error(), "correct the file");
    return std::nullopt;
  }
  return workspace{std::move(*where), std::move(*declared), std::move(*experiments)};
}

namespace {

/// Returns how many rules of each kind a project has, such as "2 counters, 1 sorted set".
auto count_rules(const event_rules& rules) -> std::string {
  std::string out;
  for (const step_kind& kind : step_kinds()) {
    const auto number = std::ranges::count(rules.all(), kind.kind, &event_rule::kind);
    if (number == 0 && kind.kind != rule_kind::counter) continue;
    std::string noun(kind.table);
    std::ranges::replace(noun, '_', ' ');
    out += (out.empty() ? "" : ", ") + counted(static_cast<std::uint64_t>(number), noun);
  }
  return out;
}

/// Checks the rules for events in the same way as rankd serve. Adds no findings if the project has no file with such
/// rules.
void check_events(const workspace& workspace, checkup& checkup) {
  if (!find_event_rules(workspace.where.registry)) return;
  const auto rules = event_rules::load(workspace.where.registry, workspace.declared);
  if (!rules) return checkup.fail("events", rules.error(), "correct the file");
  checkup.ok("events", counted(rules->types().size(), "event type") + ", " + count_rules(*rules));
}

/// Checks the settings in rankd.toml that name plans or params. Adds nothing if they are fine.
void check_settings(const workspace& workspace, const std::vector<std::string>& names, checkup& checkup) {
  for (const file_problems& each : find_file_problems(workspace, names))
    if (each.file == project_file) checkup.fail("project", each.problems, "correct rankd.toml");
}

/// Checks the experiments. Does nothing if the project has no experiments.toml.
void check_experiments(const workspace& workspace, const std::vector<std::string>& names, checkup& checkup) {
  if (workspace.experiments.digest().empty()) return;
  if (const auto strangers = workspace.experiments.strangers(names); !strangers.empty())
    return checkup.fail("experiments", strangers, "build the plans, or correct the file");
  checkup.ok("experiments", counted(workspace.experiments.experiments().size(), "experiment"));
}

}  // namespace

void check_plans(const workspace& workspace, checkup& checkup) {
  check_events(workspace, checkup);
  const auto artifacts = list_artifacts(workspace.where.plans);
  if (!artifacts) return checkup.fail("plans", artifacts.error(), "build the plans");
  std::vector<std::string> names;
  for (const artifact& each : *artifacts) names.push_back(each.name);
  check_settings(workspace, names, checkup);
  check_experiments(workspace, names, checkup);
  if (artifacts->empty())
    return checkup.fail("plans", "there are no plans in " + workspace.where.plans.string(),
                        "build the plans with dslc");
  std::size_t right = 0;
  for (const artifact& each : *artifacts) {
    const auto bound = workspace.load_named_plan(each.name);
    if (bound)
      ++right;
    else
      checkup.fail("plans", bound.error(), "build the plan again");
  }
  if (right != 0) checkup.ok("plans", counted(right, "plan") + " can be run");
  if (!fs::exists(workspace.where.plans / index_file))
    return checkup.warn(
        "plans", "the folder of the plans has no " + std::string(index_file),
        "build the plans with dslc, which writes an index; the index shows whether a deployment is complete");
  if (const auto wrong = verify_index(workspace.where.plans); !wrong.empty())
    checkup.fail("plans", wrong, "build the plans again");
}

auto to_text(const checkup& checkup) -> std::string {
  std::size_t widest = 0;
  for (const finding& each : checkup.findings()) widest = std::max(widest, each.area.size());
  std::string out;
  for (const finding& each : checkup.findings()) {
    const std::string how(to_string(each.how));
    out += how + std::string(6 - how.size(), ' ') + printable(each.area) +
           std::string(widest - each.area.size() + 2, ' ') + printable(each.found) + "\n";
    if (!each.advice.empty()) out += std::string(8 + widest, ' ') + "-> " + printable(each.advice) + "\n";
  }
  return out + counted(checkup.count(health::fail), "failure") + ", " +
         counted(checkup.count(health::warn), "warning") + "\n";
}

auto to_json(const checkup& checkup) -> std::string {
  std::string out = "{\"failures\":" + std::to_string(checkup.count(health::fail)) +
                    ",\"warnings\":" + std::to_string(checkup.count(health::warn)) + ",\"findings\":[";
  for (const finding& each : checkup.findings()) {
    if (&each != &checkup.findings().front()) out += ',';
    out += "{\"area\":";
    append_json_string(out, each.area);
    out += ",\"status\":";
    append_json_string(out, to_string(each.how));
    out += ",\"found\":";
    append_json_string(out, each.found);
    if (!each.advice.empty()) {
      out += ",\"advice\":";
      append_json_string(out, each.advice);
    }
    out += '}';
  }
  return out + "]}";
}

}  // namespace rankd
