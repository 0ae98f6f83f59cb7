// rankd/embed/plan_verdicts.cpp: loads and checks the plans of a project, and writes the results as JSON.
#include <rankd/embed/plan_verdicts.hpp>

#include <rankd/engine/ranking.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/json_text.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rankd {
namespace {

/// Adds each diagnostic only if it is not in the list yet. This is needed because an error in the index may be reported
/// for the index and again for each plan.
void add_new(braid::diagnostics& problems, const braid::diagnostics& others) {
  for (const braid::diagnostic& item : others)
    if (std::ranges::find(problems, item) == problems.end()) problems.add(item);
}

void add_verdict(std::vector<plan_verdict>& into, std::string_view file, braid::diagnostics problems) {
  if (!problems.empty()) into.push_back({std::string(file), std::unexpected(std::move(problems))});
}

}  // namespace

auto list_plans(const workspace& workspace) -> braid::checked<plan_list> {
  const auto artifacts = list_artifacts(workspace.where.plans);
  if (!artifacts) return std::unexpected(artifacts.error());
  plan_list found;
  for (const artifact& each : *artifacts) {
    auto loaded = workspace.load_named_plan(each.name);
    if (loaded)
      found.right.push_back(std::move(*loaded));
    else
      add_new(found.problems, loaded.error());
  }
  add_new(found.problems, verify_index(workspace.where.plans));
  return found;
}

auto validate_plans(const workspace& workspace, std::vector<std::string> names)
    -> braid::checked<std::vector<plan_verdict>> {
  std::vector<plan_verdict> about_files;
  if (names.empty()) {
    const auto artifacts = list_artifacts(workspace.where.plans);
    if (!artifacts) return std::unexpected(artifacts.error());
    for (const artifact& each : *artifacts) names.push_back(each.name);
    add_verdict(about_files, index_file, verify_index(workspace.where.plans));
    add_verdict(about_files, project_file, workspace.where.budgets.strangers(names));
  }
  std::vector<plan_verdict> all;
  for (const std::string& each : names) all.push_back({each, workspace.load_named_plan(each)});
  std::ranges::move(about_files, std::back_inserter(all));
  return all;
}

auto to_json(const std::vector<plan_verdict>& all) -> std::string {
  std::string out = "{\"plans\":[";
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (at != 0) out += ',';
    out += "{\"plan\":";
    append_json_string(out, all[at].plan);
    out += all[at].bound ? ",\"valid\":true"
                         : ",\"valid\":false,\"diagnostics\":" + diagnostics_json(all[at].bound.error());
    if (all[at].bound && !all[at].bound->warnings.empty())
      out += ",\"warnings\":" + diagnostics_json(all[at].bound->warnings);
    out += '}';
  }
  return out + "]}\n";
}

auto to_json(const plan_list& found) -> std::string {
  std::string out = "{\"plans\":[";
  for (const bound_plan& each : found.right) {
    if (!out.ends_with('[')) out += ',';
    out += "{\"plan\":";
    append_json_string(out, each.name);
    out += ",\"nodes\":" + std::to_string(each.nodes.size()) + ",\"digest\":";
    append_json_string(out, each.digest);
    out += '}';
  }
  const std::string failure = found.problems.empty() ? "{}" : to_json(found.problems, {});
  return out + (found.problems.empty() ? "]" : "],") + failure.substr(1) + "\n";  // the members of one object
}

}  // namespace rankd
