// rankd/cli/checks/checkup.cpp: findings about the project, and how all findings are printed.
#include <rankd/cli/checks/checkup.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/catalog.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/server/events/event_rules.hpp>

#include <algorithm>
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

auto to_string(health how) noexcept -> std::string_view {
  switch (how) {
    case health::ok: return "ok";
    case health::warn: return "warn";
    case health::fail: break;
  }
  return "fail";
}

void checkup::add(std::string_view area, health how, const braid::diagnostics& problems, std::string_view advice) {
  constexpr std::size_t max_count = 5;
  std::size_t shown = 0;
  for (const braid::diagnostic& item : problems) {
    if (shown++ == max_count)
      return add(area, how, counted(problems.size() - max_count, "more diagnostic"), std::string(advice));
    add(area, how, sentence(item), item.hint.empty() ? std::string(advice) : item.hint);
  }
}

auto checkup::count(health how) const -> std::size_t {
  return static_cast<std::size_t>(std::ranges::count(findings_, how, &finding::how));
}

auto check_project(const fs::path& folder, checkup& into) -> std::optional<workspace> {
  auto root = folder;
  if (root.empty()) root = project::find(fs::current_path()).value_or("");
  if (root.empty()) {
    into.fail("project", "there is no rankd.toml here or in any parent folder",
              "go into a project, name one with --project, or make one with rankd init demo DIR");
    return std::nullopt;
  }
  auto where = project::load(root);
  if (!where) {
    into.fail("project", where.error(), "correct rankd.toml");
    return std::nullopt;
  }
  into.ok("project", "`" + where->name + "` in " + where->root.string() + ", environment " + where->environment);
  auto declared = registries::load(where->registry, where->environment);
  if (!declared) {
    into.fail("registries", declared.error(), "correct the files in " + where->registry.string());
    return std::nullopt;
  }
  into.ok("registries", counted(declared->keys().size(), "key") + ", " + counted(declared->params().size(), "param") +
                            ", " + counted(declared->endpoints().size(), "endpoint"));
  if (auto loaded = load_operators(where->operators); !loaded) {
    into.fail("operators", loaded.error(), "correct the library, or the tables `operators` of rankd.toml");
    return std::nullopt;
  }
  if (!where->operators.empty())
    into.ok("operators", counted(own_ops().size(), "operator") +
                             " of the project: " + std::to_string(where->operators.size()) +
                             (where->operators.size() == 1 ? " library" : " libraries"));
  auto experiments = experiment_set::load(where->registry, *declared);
  if (!experiments) {
    into.fail("experiments", experiments.error(), "correct the file");
    return std::nullopt;
  }
  return workspace{std::move(*where), std::move(*declared), std::move(*experiments)};
}

namespace {

/// Checks the file of counters, as serve does. Adds nothing if the project has no such file.
void check_counters(const workspace& in, checkup& into) {
  std::error_code error;
  if (!fs::exists(in.where.registry / counters_file, error)) return;
  const auto rules = event_rules::load(in.where.registry, in.declared);
  if (!rules) return into.fail("counters", rules.error(), "correct the file");
  into.ok("counters",
          counted(rules->types().size(), "event type") + ", " + counted(rules->counters().size(), "counter"));
}

/// Checks the experiments. Adds nothing if the project has no such file.
void check_experiments(const workspace& in, const std::vector<artifact>& artifacts, checkup& into) {
  if (in.experiments.digest().empty()) return;
  std::vector<std::string> names;
  for (const artifact& each : artifacts) names.push_back(each.name);
  if (const auto strangers = in.experiments.strangers(names); !strangers.empty())
    return into.fail("experiments", strangers, "build the plans, or correct the file");
  into.ok("experiments", counted(in.experiments.experiments().size(), "experiment"));
}

}  // namespace

void check_plans(const workspace& in, checkup& into) {
  check_counters(in, into);
  const auto artifacts = list_artifacts(in.where.plans);
  if (!artifacts) return into.fail("plans", artifacts.error(), "build the plans");
  check_experiments(in, *artifacts, into);
  if (artifacts->empty())
    return into.fail("plans", "there are none in " + in.where.plans.string(), "build the plans with dslc");
  std::size_t right = 0;
  for (const artifact& each : *artifacts) {
    const auto bound = in.load_plan_of(each.name);
    if (bound)
      ++right;
    else
      into.fail("plans", bound.error(), "build the plan again");
  }
  if (right != 0) into.ok("plans", counted(right, "plan") + " can be run");
  if (!fs::exists(in.where.plans / index_file))
    return into.warn("plans", "no " + std::string(index_file) + " lies beside them",
                     "build the plans with dslc, so that an incomplete deployment is noticed");
  if (const auto wrong = verify_index(in.where.plans); !wrong.empty())
    into.fail("plans", wrong, "build the plans again");
}

auto to_text(const checkup& all) -> std::string {
  std::size_t widest = 0;
  for (const finding& each : all.findings()) widest = std::max(widest, each.area.size());
  std::string out;
  for (const finding& each : all.findings()) {
    const std::string how(to_string(each.how));
    out += how + std::string(6 - how.size(), ' ') + printable(each.area) +
           std::string(widest - each.area.size() + 2, ' ') + printable(each.found) + "\n";
    if (!each.advice.empty()) out += std::string(8 + widest, ' ') + "-> " + printable(each.advice) + "\n";
  }
  return out + counted(all.count(health::fail), "failure") + ", " + counted(all.count(health::warn), "warning") + "\n";
}

auto to_json(const checkup& all) -> std::string {
  std::string out = "{\"failures\":" + std::to_string(all.count(health::fail)) +
                    ",\"warnings\":" + std::to_string(all.count(health::warn)) + ",\"findings\":[";
  for (const finding& each : all.findings()) {
    if (&each != &all.findings().front()) out += ',';
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
