// rankd/engine/ranking.cpp: writes answers as JSON.
#include <rankd/engine/ranking.hpp>

#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/registry/json_text.hpp>

#include <string_view>
#include <utility>

namespace rankd {
namespace {

struct shown_column {
  std::string lead;  // a comma, the name and a colon
  column values;
};

/// Three typical sizes in bytes: of a candidate without its values, of one value, and of the rest of an answer.
constexpr std::size_t usual_candidate = 32;
constexpr std::size_t usual_value = 12;
constexpr std::size_t usual_rest = 192;

auto columns_to_show(const ranking& answer) -> std::vector<shown_column> {
  std::vector<shown_column> shown;
  shown.reserve(answer.fields.size());
  for (const key_entry* key : answer.fields) {
    const auto values = answer.rows.table().find(key->key_id);
    if (!values) continue;
    shown_column& made = shown.emplace_back(std::string(","), *values);
    append_json_string(made.lead, key->name);
    made.lead += ':';
  }
  return shown;
}

void append_candidate(std::string& out, const std::vector<shown_column>& shown, const column& ids, std::size_t row) {
  out += "{\"id\":";
  if (const auto* numbers = ids.integers())
    append_json_number(out, (*numbers)[row]);
  else
    append_json_string(out, (*ids.strings())[row]);
  out += ",\"fields\":{";
  std::size_t comma = 1;  // how much of the next lead is left out
  for (const shown_column& field : shown) {
    if (field.values.is_null(row)) continue;
    out.append(field.lead, comma);
    detail::append_value(out, field.values, row);
    comma = 0;
  }
  out += "}}";
}

/// Reserves memory for an answer of typical size.
void reserve_for(std::string& out, const ranking& answer, const std::vector<shown_column>& shown) {
  std::size_t usual = usual_candidate;
  for (const shown_column& field : shown) usual += field.lead.size() + usual_value;
  out.reserve(out.size() + usual_rest + answer.rows.size() * usual);
}

void append_candidates(std::string& out, const ranking& answer, const std::vector<shown_column>& shown) {
  out += ",\"candidates\":[";
  const column ids = *answer.rows.table().find(registries::id_key);
  bool is_first = true;
  answer.rows.for_each_row([&](std::uint32_t row) {
    if (!is_first) out += ',';
    is_first = false;
    append_candidate(out, shown, ids, row);
  });
  out += ']';
}

void append_error(std::string& out, const rank_error& error, std::string_view request_id) {
  out += "\"error\":{";
  append_json_member(out, "code", error.code);
  append_json_member(out, "message", error.message);
  append_json_unless_empty(out, "node", error.node);
  append_json_unless_empty(out, "pointer", error.pointer);
  append_json_unless_empty(out, "request_id", request_id);
  out += '}';
}

void append_degradation(std::string& out, const degradation& one) {
  out += '{';
  append_json_member(out, one.node.empty() ? "plan" : "node", one.node.empty() ? one.plan : one.node);
  append_json_member(out, "code", one.code);
  append_json_member(out, "used", one.used);
  out += '}';
}

void append_explanation(std::string& out, const ranking& answer) {
  if (answer.explained != nullptr) out += ",\"explain\":" + to_json(*answer.explained);
}

void append_captured(std::string& out, const ranking& answer) {
  if (answer.captured.empty()) return;
  append_json_list(out, "captured", answer.captured, [](std::string& text, const captured_rows& each) {
    text += '{';
    append_members(text, each);
    text += '}';
  });
}

void append_diagnostic(std::string& out, const braid::diagnostic& item) {
  const std::pair<std::string_view, std::string_view> fields[] = {{"code", item.code}, {"pointer", item.pointer},
                                                                  {"node", item.node}, {"message", item.message},
                                                                  {"hint", item.hint}, {"source", item.source}};
  out += '{';
  for (const auto& [name, text] : fields)
    if (!text.empty() || name == "pointer") append_json_member(out, name, text);
  out += '}';
}

}  // namespace

void append_json(std::string& out, const ranking& answer) {
  out += '{';
  if (answer.error) {
    append_error(out, *answer.error, answer.request_id);
    append_captured(out, answer);
    append_explanation(out, answer);
    out += '}';
    return;
  }
  const std::vector<shown_column> shown = columns_to_show(answer);
  reserve_for(out, answer, shown);
  append_json_member(out, "request_id", answer.request_id);
  append_json_member(out, "engine_request_id", answer.engine_request_id);
  append_json_member(out, "plan", answer.plan);
  if (answer.experiments != nullptr) {
    out += ',';
    append_arms(out, *answer.experiments, answer.arms);
  }
  if (!answer.degraded.empty()) {
    out += ',';
    append_degraded(out, answer.degraded);
  }
  append_candidates(out, answer, shown);
  append_json_unless_empty(out, "next_cursor", answer.next_cursor);
  if (answer.malformed_ids != 0) append_json_count(out, "malformed_ids", answer.malformed_ids);
  if (answer.malformed_values != 0) append_json_count(out, "malformed_values", answer.malformed_values);
  append_captured(out, answer);
  append_explanation(out, answer);
  out += '}';
}

void append_degraded(std::string& out, const std::vector<degradation>& all) {
  out += "\"degraded\":";
  append_json_list(out, all, append_degradation);
}

auto to_json(const ranking& answer) -> std::string {
  std::string out;
  append_json(out, answer);
  return out;
}

auto first_error(const braid::diagnostics& problems) -> rank_error {
  const braid::diagnostic& first = problems.front();
  // The source of most diagnostics is the request itself. The message names the source only if it is not the request.
  std::string message = first.source.empty() || first.source == "request" ? "" : first.source + ": ";
  message += first.message;
  if (!first.hint.empty()) message += "; " + first.hint;
  return {.code = first.code, .message = std::move(message), .node = first.node, .pointer = first.pointer};
}

auto to_json(const braid::diagnostics& problems, std::string_view request_id) -> std::string {
  std::string out = "{";
  append_error(out, first_error(problems), request_id);
  if (problems.size() > 1) out += ",\"diagnostics\":" + diagnostics_json(problems);
  return out + "}";
}

auto diagnostics_json(const braid::diagnostics& problems) -> std::string {
  std::string out = "[";
  for (const braid::diagnostic& item : problems) {
    if (out.size() > 1) out += ',';
    append_diagnostic(out, item);
  }
  return out + "]";
}

}  // namespace rankd
