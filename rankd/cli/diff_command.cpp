// rankd/cli/diff_command.cpp: rankd diff: the structural difference of two plans, and what follows from it.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/printable.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/plan_comparison.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rankd {
namespace {

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

void print_lines(const plan_comparison& found) {
  std::string out;
  for (const plan_change& change : found.changes) out += printable(line_of(change)) + "\n";
  for (const plan_consequence& each : found.consequences)
    out += "follows  " + printable(each.what + ": " + joined(each.before) + " → " + joined(each.after)) + "\n";
  print(out);
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

  const plan_comparison found = compare_plans(*before, *after, in->declared);
  if (options.form == output_form::programs)
    print(comparison_json(found, *before, *after));
  else
    print_lines(found);
  return found.is_equal() ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
