// tests/fuzz/request_fuzz.cpp: any text as a request: refused with its reasons, or read, written and read again.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <rankd/engine/requests/request.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 36> words{"\"user_id\":1",
                                                 "\"request_id\":\"r\"",
                                                 "\"plan\":\"feed\"",
                                                 "\"param_overrides\":{\"weight\":@}",
                                                 "\"output_keys\":[\"score\"]",
                                                 "\"deadline_ms\":50",
                                                 "86400000",
                                                 "86400001",
                                                 "\"explain\":true",
                                                 "\"weight\":0.5",
                                                 "\"pattern\":\"a\"",
                                                 "\"limit\":-3",
                                                 "\"switch\":true",
                                                 "\"old_param\":1",
                                                 "\"fixed_param\":1",
                                                 "\"aging_param\":1",
                                                 "\"score\"",
                                                 "\"country\"",
                                                 "\"secret\"",
                                                 "\"old\"",
                                                 "\"9223372036854775807\"",
                                                 "\"007\"",
                                                 "\"candidates\":[{\"id\":1,\"score\":0.5}]",
                                                 "\"candidates\":{\"id\":[1,2],\"score\":[0.5,null]}",
                                                 "{\"id\":\"3\",\"count\":4}",
                                                 "\"final_score\":[1,2]",
                                                 "\"fresh\":[true,null]",
                                                 "\"country\":[\"US\",\"\"]",
                                                 "\"title\":\"a\"",
                                                 "\"features\":1",
                                                 "\"fixed\":[1]",
                                                 "\"id\":[]",
                                                 "\"context\":{\"hour\":9}",
                                                 "\"hour\":-1",
                                                 "\"device\":\"tv\"",
                                                 "\"device\":null"};

auto to_json(const scalar& value) -> json {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return json(nullptr);
        else
          return json(held);
      },
      value);
}

/// The value of a row as a request may spell it.
auto to_json(const column& values, std::size_t row) -> json {
  if (values.is_null(row)) return nullptr;
  if (const auto* text = values.strings()) return (*text)[row];
  if (const auto* whole = values.integers()) return (*whole)[row];
  if (const auto* flags = values.booleans()) return (*flags)[row];
  return (*values.floats())[row];
}

auto find_columns(const batch& rows) -> json {
  json out = {{"id", std::vector(rows.ids().begin(), rows.ids().end())}};
  for (const auto& [key, values] : rows.columns()) {
    json& all = out[op_world().find_key(key)->name] = json::array();
    for (std::size_t row = 0; row < rows.size(); ++row) all.push_back(to_json(values, row));
  }
  return out;
}

/// A request that says all that was read from another one.
auto written(const rank_request& request) -> std::string {
  json out = {{"request_id", request.request_id}, {"plan", request.plan}};
  if (request.user_id) out["user_id"] = std::get<std::int64_t>(*request.user_id);
  if (request.candidates != nullptr) out["candidates"] = find_columns(request.candidates->rows);
  for (const param_entry& param : op_world().params()) {
    const std::size_t index = op_world().index_of(param);
    const scalar& value = request.params[index];
    if (std::ranges::find(request.in_context, index) != request.in_context.end())
      out["context"][param.name] = to_json(value);
    else if (param.allow_write && param.status != lifecycle::blocked && (param.nullable || !is_null(value)))
      out["param_overrides"][param.name] = to_json(value);
  }
  for (const forced_choice& each : request.forced) out["experiments"][each.experiment] = each.arm;
  if (request.output_keys) {
    out["output_keys"] = json::array();
    for (const std::uint32_t key : *request.output_keys) out["output_keys"].push_back(op_world().find_key(key)->name);
  }
  if (request.deadline) out["deadline_ms"] = request.deadline->count();
  out["explain"] = request.explain == explain_mode::on;
  return out.dump();
}

void expect_same(const rank_request& a, const rank_request& b) {
  BRAID_EXPECTS(a.request_id == b.request_id && a.plan == b.plan && a.user_id == b.user_id, "texts and ids are kept");
  BRAID_EXPECTS(a.params == b.params && a.output_keys == b.output_keys, "params and keys are kept");
  BRAID_EXPECTS((a.candidates == nullptr) == (b.candidates == nullptr), "candidates are kept");
  if (a.candidates != nullptr)
    BRAID_EXPECTS(find_columns(a.candidates->rows) == find_columns(b.candidates->rows), "their values are kept");
  BRAID_EXPECTS(a.forced.size() == b.forced.size(), "arms are kept");
  BRAID_EXPECTS(a.deadline == b.deadline && a.explain == b.explain, "the rest is kept");
}

void run(std::string_view text) {
  const auto request = parse_request(text, op_world());
  const std::string id = find_request_id(text);
  BRAID_EXPECTS(is_utf8(id), "an id can be printed");
  if (!request) {
    expect_sound(request.error());
    if (const auto document = parse_json(text, "request")) expect_locations(request.error(), *document);
    BRAID_EXPECTS(parse_json(rankd::to_json(request.error(), id), "answer"), "a refusal is JSON");
    return;
  }
  BRAID_EXPECTS(request->request_id == id, "a refusal would carry the same id");
  BRAID_EXPECTS(!request->user_id || *request->user_id > row_id(0), "a user is a positive number, or absent");
  BRAID_EXPECTS(request->candidates == nullptr || request->candidates->rows.size() <= max_candidates, "bounded rows");
  BRAID_EXPECTS(request->engine_request_id.starts_with("eng_"), "the engine's id is made up");
  const auto again = parse_request(written(*request), op_world());
  BRAID_EXPECTS(again.has_value(), "what was read can be read again");
  expect_same(*request, *again);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
