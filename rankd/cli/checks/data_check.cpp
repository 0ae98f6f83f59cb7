// rankd/cli/checks/data_check.cpp: collects the columns that plans read from data, except the columns that events fill.
#include <rankd/cli/checks/data_check.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/server/events/event_rules.hpp>

namespace rankd {
namespace {

auto written_fields(const workspace& workspace) -> std::vector<std::string> {
  std::vector<std::string> out;
  const auto rules = event_rules::load(workspace.where.registry, workspace.declared);
  if (!rules) return out;
  for (const event_rule& each : rules->all()) {
    if (each.name.empty()) continue;
    out.push_back(each.name);
    if (each.half_life_s != 0) out.push_back(each.time_field());
  }
  return out;
}

}  // namespace

data_check::data_check(const workspace& workspace, data_check_options options)
    : written_(written_fields(workspace)),
      columns_({.files = options.files, .endpoints = options.endpoints, .written = written_}) {
  const auto artifacts = list_artifacts(workspace.where.plans);
  if (!artifacts) return;
  for (const artifact& each : *artifacts)
    if (const auto stated = load_plan(each.file, {all_op_shapes(), workspace.declared}))
      columns_.add(*stated, workspace.declared);
}

}  // namespace rankd
