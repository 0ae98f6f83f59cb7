// rankd/server/grpc/grpc_messages.cpp: writes requests as JSON, and candidates as columns.
#include <rankd/server/grpc/grpc_messages.hpp>

#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/server/grpc/grpc_status.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

/// Appends a number. JSON cannot represent numbers that are not finite. NaN is written as `NaN`, which the parser reads
/// as null. An infinite number is written in a form that the parser refuses.
void append_number_message(std::string& out, double number) {
  if (std::isnan(number))
    out += "NaN";
  else if (std::isinf(number))
    out += number > 0 ? "1e999" : "-1e999";
  else
    append_json_number(out, number);
}

void append_id_message(std::string& out, const v1::Id& id) {
  switch (id.kind_case()) {
    case v1::Id::kInteger: return append_json_number(out, std::int64_t{id.integer()});
    case v1::Id::kText: return append_json_string(out, id.text());
    case v1::Id::KIND_NOT_SET: break;
  }
  out += "null";
}

void append_value_message(std::string& out, const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kInteger: return append_json_number(out, std::int64_t{value.integer()});
    case v1::Value::kNumber: return append_number_message(out, value.number());
    case v1::Value::kText: return append_json_string(out, value.text());
    case v1::Value::kFlag: return static_cast<void>(out += value.flag() ? "true" : "false");
    case v1::Value::kList: return append_json_list(out, value.list().values(), append_value_message);
    case v1::Value::KIND_NOT_SET: break;
  }
  out += "null";
}

/// Appends the members of a map, sorted by name. The hash maps of protobuf have a different order in each process.
template <typename Map, typename Append>
void append_sorted(std::string& out, const Map& map, Append append) {
  std::vector<const typename Map::value_type*> sorted;
  sorted.reserve(map.size());
  for (const auto& each : map) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, [](const auto* each) -> const std::string& { return each->first; });
  for (const auto* each : sorted) {
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, each->first);
    out += ':';
    append(each->second, each->first);
  }
}

void append_values_by_name(std::string& out, std::string_view name,
                           const google::protobuf::Map<std::string, v1::Value>& map) {
  if (map.empty()) return;
  append_json_name(out, name);
  out += '{';
  append_sorted(out, map, [&](const v1::Value& value, const std::string&) { append_value_message(out, value); });
  out += '}';
}

/// Writes the rows of a request as columns by name.
class rows_writer {
 public:
  rows_writer(std::string& out, braid::diagnostics& problems) noexcept : out_(&out), problems_(&problems) {}

  void write(const v1::Rows& rows) {
    std::string& out = *out_;
    if (rows.ids_size() != 0 && rows.text_ids_size() != 0)
      refuse("bad_rows", "/candidates", "rows must have `ids` or `text_ids`, not both");
    out += "{\"id\":";
    if (rows.text_ids_size() != 0)
      append_json_strings(out, rows.text_ids());
    else
      append_json_list(out, rows.ids(), [](std::string& to, std::int64_t id) { append_json_number(to, id); });
    append_sorted(out, rows.columns(),
                  [&](const v1::Column& values, const std::string& name) { column(values, name); });
    out += '}';
  }

 private:
  void refuse(std::string code, std::string pointer, std::string message) {
    for (const braid::diagnostic& each : request_problem(std::move(code), std::move(pointer), std::move(message)))
      problems_->add(each);
  }

  void column(const v1::Column& values, const std::string& name) {
    const auto bad = [&](const std::string& problem) {
      refuse("bad_column", braid::json_pointer("/candidates", name), "column " + quote_name(name) + " " + problem);
    };
    const int sizes[] = {values.integers_size(), values.numbers_size(), values.texts_size(),
                         values.flags_size(),    values.data_size(),    values.vectors_size()};
    if (std::ranges::count_if(sizes, [](int size) { return size != 0; }) > 1)
      return bad("must have values of one type");
    if (values.data_size() != 0) return bad("must have its texts in `texts`; `data` is only for answers");
    const auto size = static_cast<std::uint32_t>(std::ranges::max(sizes));
    std::uint32_t above = 0;
    for (const std::uint32_t each : values.nulls()) {
      if (each < above || each >= size)
        return bad("must have ascending positions below " + std::to_string(size) + " in `nulls`, got " +
                   std::to_string(each));
      above = each + 1;
    }
    items(values, size);
  }

  void items(const v1::Column& values, std::uint32_t size) {
    std::string& out = *out_;
    out += '[';
    int null = 0;
    for (std::uint32_t row = 0; row < size; ++row) {
      if (row != 0) out += ',';
      if (null < values.nulls_size() && values.nulls(null) == row) {
        ++null;
        out += "null";
      } else {
        item(values, static_cast<int>(row));
      }
    }
    out += ']';
  }

  void item(const v1::Column& values, int row) {
    std::string& out = *out_;
    if (values.integers_size() != 0) return append_json_number(out, std::int64_t{values.integers(row)});
    if (values.numbers_size() != 0) return append_number_message(out, values.numbers(row));
    if (values.texts_size() != 0) return append_json_string(out, values.texts(row));
    if (values.flags_size() != 0) return static_cast<void>(out += values.flags(row) ? "true" : "false");
    append_json_list(out, values.vectors(row).values(),
                     [](std::string& to, float number) { append_number_message(to, number); });
  }

  std::string* out_;
  braid::diagnostics* problems_;
};

void append_capture_message(std::string& out, const v1::Capture& capture) {
  out += '{';
  append_json_member(out, "node", capture.node());
  if (capture.keys_size() != 0) {
    append_json_name(out, "keys");
    append_json_strings(out, capture.keys());
  }
  if (capture.max_rows() != 0) append_json_count(out, "max_rows", capture.max_rows());
  append_json_unless_empty(out, "side", capture.side());
  out += '}';
}

void append_explain_message(std::string& out, const v1::RankRequest& request) {
  if (!request.explain() && request.explain_ids_size() == 0) return;
  append_json_name(out, "explain");
  if (request.explain_ids_size() == 0) return static_cast<void>(out += "true");
  out += "{\"ids\":";
  append_json_list(out, request.explain_ids(), append_id_message);
  out += '}';
}

void append_event_message(std::string& out, const v1::Event& event) {
  out += '{';
  append_json_member(out, "event_id", event.event_id());
  append_json_member(out, "type", event.type());
  if (event.has_time_ms()) append_json_member(out, "time_ms", std::int64_t{event.time_ms()});
  if (event.has_user_id()) {
    append_json_name(out, "user_id");
    append_id_message(out, event.user_id());
  }
  if (event.has_item_id()) {
    append_json_name(out, "item_id");
    append_id_message(out, event.item_id());
  }
  append_json_unless_empty(out, "request_id", event.request_id());
  append_values_by_name(out, "fields", event.fields());
  out += '}';
}

/// Adds a value to a column of an answer. For a null, adds an entry with the default value.
void add_value(v1::Column& out, const column& values, std::uint32_t row, bool as_data) {
  const bool is_null = values.is_null(row);
  if (const auto* whole = values.integers()) return out.add_integers(is_null ? 0 : (*whole)[row]);
  if (const auto* numbers = values.floats()) return out.add_numbers(is_null ? 0 : (*numbers)[row]);
  if (const auto* flags = values.booleans()) return out.add_flags(!is_null && (*flags)[row]);
  const string_values& texts = *values.strings();
  const std::string_view text = is_null ? std::string_view() : texts[row];
  if (texts.dimensions != 0) {
    v1::Vector& vector = *out.add_vectors();
    for (std::size_t at = 0; at < vector_size(text); ++at) vector.add_values(vector_item(text, at));
  } else if (as_data) {
    out.add_data(text.data(), text.size());
  } else {
    out.add_texts(text.data(), text.size());
  }
}

void add_column(v1::Column& out, const row_set& rows, const column& values) {
  bool as_data = false;
  if (const string_values* texts = values.strings(); texts != nullptr && texts->dimensions == 0)
    rows.for_each_row(
        [&](std::uint32_t row) { as_data = as_data || (!values.is_null(row) && !is_utf8((*texts)[row])); });
  std::uint32_t at = 0;
  rows.for_each_row([&](std::uint32_t row) {
    add_value(out, values, row, as_data);
    if (values.is_null(row)) out.add_nulls(at);
    ++at;
  });
}

}  // namespace

auto to_json(const v1::RankRequest& request) -> braid::checked<std::string> {
  braid::diagnostics problems;
  std::string out = "{";
  append_json_unless_empty(out, "request_id", request.request_id());
  if (request.has_user_id()) {
    append_json_name(out, "user_id");
    append_id_message(out, request.user_id());
  }
  append_json_unless_empty(out, "plan", request.plan());
  append_values_by_name(out, "context", request.context());
  append_values_by_name(out, "param_overrides", request.param_overrides());
  if (!request.experiments().empty()) {
    append_json_name(out, "experiments");
    out += '{';
    append_sorted(out, request.experiments(),
                  [&](const std::string& arm, const std::string&) { append_json_string(out, arm); });
    out += '}';
  }
  if (request.has_candidates()) {
    append_json_name(out, "candidates");
    rows_writer(out, problems).write(request.candidates());
  }
  if (request.ids_only() && request.output_keys_size() != 0)
    for (const braid::diagnostic& each :
         request_problem("wrong_value", "/output_keys", "`output_keys` must be empty if `ids_only` is true"))
      problems.add(each);
  if (request.output_keys_size() != 0 || request.ids_only()) {
    append_json_name(out, "output_keys");
    append_json_strings(out, request.output_keys());
  }
  append_json_unless_empty(out, "cursor", request.cursor());
  if (request.has_deadline_ms()) append_json_member(out, "deadline_ms", std::int64_t{request.deadline_ms()});
  append_explain_message(out, request);
  if (request.capture_size() != 0) {
    append_json_name(out, "capture");
    append_json_list(out, request.capture(), append_capture_message);
  }
  out += '}';
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return out;
}

auto to_json(const v1::EventsRequest& request) -> std::string {
  std::string out = "{\"events\":";
  append_json_list(out, request.events(), append_event_message);
  return out += '}';
}

auto to_message(const ranking& answer) -> v1::RankResponse {
  v1::RankResponse out;
  out.set_request_id(answer.request_id);
  out.set_engine_request_id(answer.engine_request_id);
  out.set_plan(answer.plan);
  v1::Rows& rows = *out.mutable_candidates();
  const column ids = *answer.rows.table().find(registries::id_key);
  answer.rows.for_each_row([&](std::uint32_t row) {
    if (const auto* numbers = ids.integers())
      rows.add_ids((*numbers)[row]);
    else
      rows.add_text_ids(std::string((*ids.strings())[row]));
  });
  for (const key_entry* key : answer.fields)
    if (const auto values = answer.rows.table().find(key->key_id))
      add_column((*rows.mutable_columns())[key->name], answer.rows, *values);
  out.set_next_cursor(answer.next_cursor);
  if (answer.experiments != nullptr)
    for (const chosen_arm& each : answer.arms) {
      const plan_experiments::experiment& experiment = answer.experiments->experiments[each.experiment];
      (*out.mutable_experiments())[experiment.name] = experiment.arms[each.arm].name;
      if (each.is_overridden) out.add_experiments_overridden(experiment.name);
    }
  for (const degradation& each : answer.degraded) {
    v1::Degradation& made = *out.add_degraded();
    made.set_node(each.node);
    if (each.node.empty()) made.set_plan(each.plan);
    made.set_code(each.code);
    made.set_used(each.used);
  }
  out.set_malformed_ids(answer.malformed_ids);
  out.set_malformed_values(answer.malformed_values);
  if (!answer.captured.empty()) {
    append_json_list(*out.mutable_captured_json(), answer.captured, [](std::string& text, const captured_rows& each) {
      text += '{';
      append_members(text, each);
      text += '}';
    });
  }
  if (answer.explained != nullptr) out.set_explain_json(rankd::to_json(*answer.explained));
  return out;
}

auto to_message(const error_answer& error) -> v1::Error {
  v1::Error out;
  out.set_status(static_cast<int>(to_grpc_code(error.status)));
  out.set_code(error.code);
  const nlohmann::json body = nlohmann::json::parse(error.body, nullptr, false);
  if (!body.is_object() || !body.contains("error")) return out;
  const nlohmann::json& reason = body.at("error");
  out.set_message(reason.value("message", ""));
  out.set_node(reason.value("node", ""));
  out.set_pointer(reason.value("pointer", ""));
  out.set_request_id(body.value("request_id", ""));
  if (const auto found = body.find("diagnostics"); found != body.end()) out.set_diagnostics_json(found->dump());
  return out;
}

}  // namespace rankd
