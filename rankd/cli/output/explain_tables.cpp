// rankd/cli/output/explain_tables.cpp: formats the times of nodes and the fates of ids as tables.
#include <rankd/cli/output/explain_tables.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/registry/json_text.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

namespace rankd {
namespace {

using align = text_table::align;

auto microseconds(braid::duration span) -> std::string {
  return printed("%.1f", std::chrono::duration<double, std::micro>(span).count());
}

auto between(const std::optional<braid::duration>& from, const std::optional<braid::duration>& to) -> std::string {
  return from && to ? microseconds(*to - *from) : std::string(nothing);
}

auto share(braid::duration part, braid::duration whole) -> std::string {
  if (whole.count() == 0) return std::string(nothing);
  return printed("%.0f%%", 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

auto value_text(const column& values, std::size_t row) -> std::string {
  if (const auto* text = values.strings(); text != nullptr && text->dimensions != 0)
    return "(" + counted(text->dimensions, "number") + ")";
  if (const auto* text = values.strings()) return std::string((*text)[row]);
  if (const auto* whole = values.integers()) return std::to_string((*whole)[row]);
  if (const auto* flags = values.booleans()) return (*flags)[row] ? "true" : "false";
  std::string out;
  append_json_number(out, (*values.floats())[row]);
  return out;
}

auto fields_text(const id_drop& drop) -> std::string {
  std::string out;
  for (const key_entry* key : drop.fields) {
    const auto values = drop.input.table().find(key->key_id);
    const bool known = values && !values->is_null(drop.row);
    out += (out.empty() ? "" : ", ") + key->name + " " + (known ? value_text(*values, drop.row) : "null");
  }
  return out;
}

/// Returns a line about an option whose value came from a param, such as "top: count is 3, the override of page_size".
auto option_text(const node_report& node, const option_report& option) -> std::string {
  std::string value;
  if (const auto* whole = std::get_if<std::int64_t>(&option.value)) append_json_number(value, *whole);
  if (const auto* fraction = std::get_if<double>(&option.value)) append_json_number(value, *fraction);
  return printable(node.node_id + ": " + option.option + " is " + value + ", the " +
                   std::string(to_string(option.from)) + " of " + option.param) +
         "\n";
}

auto why_text(const id_drop& drop) -> std::string {
  switch (drop.reason) {
    case drop_reason::predicate: return "the predicate is false";
    case drop_reason::count: return "after the last kept row";
    case drop_reason::duplicate: return "another row has the same value";
    case drop_reason::match: return "dropped by a join, because of the matching rows on the other side";
    case drop_reason::diversity: return "too many rows with the same value, or no slot";
    case drop_reason::merged: return "the node uses other rows of its inputs";
    case drop_reason::replaced: return "replaced by rows that the node returns";
    case drop_reason::not_done: return "the node had not ended";
    case drop_reason::other: break;
  }
  return "not passed on";
}

auto drop_text(const id_drop& drop) -> std::string {
  std::string out = "  at " + drop.node_id + " (" + drop.op + "): " + why_text(drop);
  if (drop.position != 0)
    out += ", row " + std::to_string(drop.position) + " of those " +
           (drop.from.empty() ? "that came in" : "of " + drop.from);
  if (drop.rows > 1) out += ", " + counted(drop.rows, "row");
  if (const std::string fields = fields_text(drop); !fields.empty()) out += "; " + fields;
  return out;
}

auto fate_text(const id_fate& fate) -> std::string {
  std::string out = "id " + to_text(fate.id) + ": ";
  if (!fate.positions.empty()) {
    out += "candidate number";
    for (const std::size_t position : fate.positions) out += " " + std::to_string(position);
  } else {
    out += fate.produced_by.empty() && fate.drops.empty() ? "no node gave it" : "no candidate";
  }
  if (!fate.produced_by.empty()) out += "; given by " + joined(fate.produced_by);
  for (const id_merge& each : fate.merges) out += "; " + each.node_id + " takes it from " + each.from;
  out = printable(out) + "\n";
  for (const id_drop& drop : fate.drops) out += printable(drop_text(drop)) + "\n";
  return out;
}

}  // namespace

auto nodes_text(const explanation& explanation) -> std::string {
  text_table table({{"node", align::left},
                    {"operator", align::left},
                    {"state", align::left},
                    {"wait us", align::right},
                    {"run us", align::right},
                    {"rows in", align::right},
                    {"rows out", align::right},
                    {"keys added", align::left},
                    {"fused with", align::left}});
  for (const node_report& node : explanation.nodes)
    table.add({node.node_id, node.op, std::string(to_string(node.state)), between(node.ready, node.started),
               between(node.started, node.ended), std::to_string(node.rows_in), std::to_string(node.rows_out),
               joined(node.keys_added), node.fused_with});
  std::string out = table.to_text();
  for (const node_report& node : explanation.nodes)
    for (const option_report& option : node.options) out += option_text(node, option);
  for (const node_report& node : explanation.nodes)
    if (!node.failure.empty())
      out += printable(node.node_id + ": failed by " + node.failure + "; " + node.used + " stands in") + "\n";
  for (const fragment_report& each : explanation.fragments)
    out += printable("fragment " + each.use + ": " + each.fragment + " " + each.version + ": " + joined(each.nodes)) +
           "\n";
  for (const arm_report& arm : explanation.arms)
    out += printable("experiment " + arm.experiment + ": arm " + arm.arm +
                     (arm.bucket ? ", by bucket " + std::to_string(*arm.bucket) + " of layer " + arm.layer
                                 : ", by the request") +
                     (arm.is_overridden ? "; the request overrides the values of this arm" : "")) +
           "\n";
  if (explanation.reads)
    out += "reads: " + std::to_string(explanation.reads->asked) + ", " + std::to_string(explanation.reads->shared) +
           " of them shared\n";
  return out + "total: " + microseconds(explanation.total) + " us\n";
}

auto path_text(const explanation& explanation) -> std::string {
  text_table table({{"critical path", align::left},
                    {"wait us", align::right},
                    {"run us", align::right},
                    {"share", align::right},
                    {"kind", align::left}});
  for (const path_step& step : explanation.critical_path)
    table.add({step.node_id, microseconds(step.wait), microseconds(step.run),
               share(step.wait + step.run, explanation.total), step.waits ? "I/O" : "computes"});
  table.add({"(answer)", microseconds({}), microseconds(explanation.answering),
             share(explanation.answering, explanation.total), ""});
  return table.to_text();
}

auto fates_text(const explanation& explanation) -> std::string {
  std::string out;
  for (const id_fate& fate : explanation.ids) out += fate_text(fate);
  return out;
}

auto fate_sentence(const id_fate& fate) -> std::string {
  const std::string id = "id " + to_text(fate.id);
  if (fate.drops.empty() && fate.positions.empty())
    return id + (fate.produced_by.empty() ? ": no node gave it" : " is given by " + joined(fate.produced_by));
  if (fate.drops.empty()) return id + " is at position " + std::to_string(fate.positions.front());
  const id_drop& last = fate.drops.back();
  std::string out = id + " ends at `" + last.node_id + "` (" + last.op + "): " + why_text(last);
  if (const std::string fields = fields_text(last); !fields.empty()) out += "; " + fields;
  return out;
}

}  // namespace rankd
