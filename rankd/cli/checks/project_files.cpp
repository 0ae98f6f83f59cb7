// rankd/cli/checks/project_files.cpp: collects the diagnostics about rankd.toml, experiments and rules for events.
#include <rankd/cli/checks/project_files.hpp>

#include <rankd/registry/budgets.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/shadows.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/sinks/audit_line.hpp>

#include <utility>

namespace rankd {

auto find_file_problems(const workspace& workspace, const std::vector<std::string>& plans)
    -> std::vector<file_problems> {
  const project& where = workspace.where;
  std::vector<file_problems> found;
  const auto add = [&found](std::string_view file, braid::diagnostics problems) {
    if (!problems.empty()) found.push_back({std::string(file), std::move(problems)});
  };
  braid::diagnostics settings = where.budgets.strangers(plans);
  settings.append(find_strangers(where.shadows, plans));
  if (auto hidden = redaction::make(where.redacted, workspace.declared); !hidden) settings.append(hidden.error());
  add(project_file, std::move(settings));
  add(experiments_file, workspace.experiments.strangers(plans));
  if (auto rules = event_rules::load(where.registry, workspace.declared); !rules)
    add(find_event_rules(where.registry)->filename().string(), std::move(rules.error()));
  return found;
}

}  // namespace rankd
