// rankd/cli/output/diff_lines.cpp: prints each difference of two plans as one line.
#include <rankd/cli/output/diff_lines.hpp>

#include <rankd/cli/output/printable.hpp>

namespace rankd {
namespace {

auto format_line(const plan_change& change) -> std::string {
  std::string out(to_string(change.kind));
  out.resize(9, ' ');
  if (change.kind == change_kind::renamed) return out + change.was + " → " + change.node;
  if (!change.node.empty()) out += change.node + ": ";
  if (change.kind == change_kind::added) return out + change.after.value_or("");
  if (change.kind == change_kind::removed) return out + change.before.value_or("");
  return out + change.field + ": " + change.before.value_or("(none)") + " → " + change.after.value_or("(none)");
}

}  // namespace

auto diff_lines(const plan_comparison& found) -> std::string {
  std::string out;
  for (const plan_change& change : found.changes) out += printable(format_line(change)) + "\n";
  for (const plan_consequence& each : found.consequences)
    out += "follows  " +
           printable(each.what + ": " + joined(each.before, "(none)") + " → " + joined(each.after, "(none)")) + "\n";
  return out;
}

}  // namespace rankd
