// rankd/cli/commands/plan_commands.cpp: rankd validate, plans and ops: check and list plans and operators.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/checks/project_files.hpp>
#include <rankd/cli/output/plan_graph_text.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/plan_verdicts.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/describe.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/artifact_folder.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {
namespace {

void print_verdicts(const std::vector<plan_verdict>& all) {
  for (const plan_verdict& each : all) {
    if (each.bound) {
      const braid::diagnostics& warnings = each.bound->warnings;
      print("ok    " + printable(each.plan) + " (" + counted(each.bound->nodes.size(), "node") +
            (warnings.empty() ? "" : ", " + counted(warnings.size(), "warning")) + ")\n");
      print(printable(warnings));
      continue;
    }
    print("WRONG " + printable(each.plan) + " (" + counted(each.bound.error().size(), "diagnostic") + ")\n");
    print(printable(each.bound.error()));
  }
}

/// Adds a verdict for each project file that is not a plan and that a server would refuse. If there is already a
/// verdict about such a file, the new verdict replaces it. The checked plans count as plans of the project, even if
/// their artifacts are elsewhere.
void add_file_verdicts(const workspace& workspace, std::vector<plan_verdict>& all) {
  std::vector<std::string> plans;
  if (const auto artifacts = list_artifacts(workspace.where.plans))
    for (const artifact& each : *artifacts) plans.push_back(each.name);
  for (const plan_verdict& each : all)
    if (each.bound) plans.push_back(each.bound->name);
  for (file_problems& each : find_file_problems(workspace, plans)) {
    std::erase_if(all, [&each](const plan_verdict& verdict) { return verdict.plan == each.file; });
    all.push_back({std::move(each.file), std::unexpected(std::move(each.problems))});
  }
}

auto plans_table(const std::vector<bound_plan>& plans) -> std::string {
  text_table table({{"plan"}, {"nodes", text_table::align::right}, {"digest"}});
  for (const bound_plan& each : plans)
    table.add({each.name, std::to_string(each.nodes.size()), each.digest.substr(0, 12)});
  return table.to_text();
}

/// Returns whether a param is required in every node, whatever the values of the other params are.
auto is_always_there(const param_shape& param) -> bool {
  return param.need == presence::required && param.when.param.empty();
}

/// Returns the number of inputs as text, such as "1", or "0-1" if an input may be left out.
auto inputs_text(const op_shape& shape) -> std::string {
  const std::string most = std::to_string(shape.inputs);
  return shape.optional_inputs == 0 ? most : std::to_string(shape.inputs - shape.optional_inputs) + "-" + most;
}

auto params_text(const op_shape& shape) -> std::string {
  std::string out;
  for (const param_shape& param : shape.params) {
    if (!out.empty()) out += ", ";
    out += param.name;
    if (!is_always_there(param)) out += '?';
    out += ": " + std::string(to_string(param.kind));
  }
  return out;
}

auto op_json(const op_entry& entry) -> std::string {
  std::string out = "{\"op\":";
  append_json_string(out, entry.shape.name);
  out += ",\"inputs\":" + std::to_string(entry.shape.inputs);
  if (entry.shape.optional_inputs != 0) out += ",\"optional_inputs\":" + std::to_string(entry.shape.optional_inputs);
  out += ",\"params\":[";
  for (std::size_t at = 0; at < entry.shape.params.size(); ++at) {
    const param_shape& param = entry.shape.params[at];
    if (at != 0) out += ',';
    out += "{\"name\":";
    append_json_string(out, param.name);
    out += ",\"kind\":";
    append_json_string(out, to_string(param.kind));
    out += is_always_there(param) ? ",\"required\":true}" : ",\"required\":false}";
  }
  out += "],\"doc\":";
  append_json_string(out, entry.doc);
  return out + "}";
}

auto show_plan(const workspace& workspace, const plans_options& options) -> exit_status {
  const auto opened = workspace.load_named_plan(options.plan);
  if (!opened) return report(opened.error(), options.form);
  const plan_graph graph = make_graph(*opened, workspace.declared);
  switch (options.graph) {
    case graph_form::tables: print(graph_tables(graph)); break;
    case graph_form::json: print(graph_json(graph)); break;
    case graph_form::dot: print(graph_dot(graph)); break;
    case graph_form::mermaid: print(graph_mermaid(graph)); break;
  }
  return exit_status::fine;
}

}  // namespace

auto validate_command(const validate_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  auto all = validate_plans(*in, options.plans);
  if (!all) return report(all.error(), options.form);
  add_file_verdicts(*in, *all);
  if (options.form == output_form::programs)
    print(to_json(*all));
  else
    print_verdicts(*all);
  const bool fine = std::ranges::all_of(*all, [&options](const plan_verdict& each) {
    return each.bound && (!options.strict || each.bound->warnings.empty());
  });
  return fine ? exit_status::fine : exit_status::failed;
}

auto plans_command(const plans_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  if (!options.plan.empty()) return show_plan(*in, options);
  const auto found = list_plans(*in);
  if (!found) return report(found.error(), options.form);
  if (options.form == output_form::programs) {
    print(to_json(*found));
  } else {
    print(plans_table(found->right));
    if (!found->problems.empty()) report(found->problems);
  }
  return found->problems.empty() ? exit_status::fine : exit_status::failed;
}

namespace {

/// Returns the operators of a project, even if its registries or plans are invalid. If no project is named, uses the
/// project of the current folder. Returns nothing if the current folder is not in a project.
auto ops_of_project(const std::filesystem::path& named) -> braid::checked<std::vector<const op_entry*>> {
  const auto root = named.empty() ? project::find(std::filesystem::current_path()) : named;
  std::vector<const op_entry*> out;
  if (!root) return out;
  const auto where = project::load(*root);
  if (!where) return std::unexpected(where.error());
  if (auto loaded = load_operators(where->operators); !loaded) return std::unexpected(std::move(loaded.error()));
  for (const auto& file : where->operators) {
    const std::vector<const op_entry*> own = list_own_ops(file);
    for (const op_entry* each : own)
      if (std::ranges::find(out, each) == out.end()) out.push_back(each);  // a copy of a library offers the same
  }
  return out;
}

}  // namespace

auto ops_command(const ops_options& options) -> exit_status {
  const auto own = ops_of_project(options.project);
  if (!own) return report(own.error(), options.form);
  if (options.toml) {
    print((options.own ? "" : ops_toml()) + (options.own || !own->empty() ? own_ops_toml(*own) : ""));
    return exit_status::fine;
  }
  std::vector<const op_entry*> listed;
  if (!options.own)
    for (const op_entry& entry : all_ops()) listed.push_back(&entry);
  listed.insert(listed.end(), own->begin(), own->end());
  if (options.form == output_form::programs) {
    std::string out = "{\"ops\":[";
    for (const op_entry* entry : listed) out += (out.ends_with('[') ? "" : ",") + op_json(*entry);
    print(out + "]}\n");
    return exit_status::fine;
  }
  text_table table({{"operator"}, {"inputs", text_table::align::right}, {"params"}, {"meaning"}});
  for (const op_entry* entry : listed)
    table.add({std::string(entry->shape.name), inputs_text(entry->shape), params_text(entry->shape),
               std::string(entry->doc)});
  print(table.to_text());
  return exit_status::fine;
}

}  // namespace rankd
