// rankd/server/sinks/captured_lines.cpp: writes captures and exposures as lines of JSON.
#include <rankd/server/sinks/captured_lines.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <algorithm>
#include <vector>

namespace rankd {
namespace {

auto begin_line(const line_origin& origin) -> std::string {
  std::string out = "{";
  append_json_member(out, "time", utc_text(std::chrono::system_clock::time_point(origin.time)));
  if (!origin.hidden.hides("request_id")) append_json_member(out, "request_id", origin.record.request_id);
  append_json_member(out, "plan", origin.plan);
  append_json_member(out, "plan_digest", origin.digest);
  return out;
}

/// Returns the columns of an answer that the exposure contains. Vectors are left out unless the request lists the keys
/// of the output.
auto logged_fields(const audited_request& asked, const ranking& shown) -> std::vector<const key_entry*> {
  std::vector<const key_entry*> out = shown.fields;
  if (!asked.names_keys) std::erase_if(out, [](const key_entry* key) { return key->type == value_type::vector; });
  return out;
}

/// Appends the fields of a request that the line does not contain yet. Appends nothing if there are no such fields.
void append_rest_of_request(std::string& out, const audited_request& asked) {
  std::string_view rest = asked.json;
  rest.remove_prefix(std::min(asked.rest, rest.size()));
  if (rest.starts_with(',')) rest.remove_prefix(1);
  if (rest.size() <= 1) return;  // only the end of the object
  out += ",\"request\":{";
  out += rest;
}

}  // namespace

auto capture_line(const line_origin& origin, const captured_rows& rows) -> std::string {
  std::string out = begin_line(origin);
  out += ',';
  append_members(out, rows);
  return out + "}";
}

auto exposure_line(const line_origin& origin, const ranking& shown) -> std::string {
  std::string out = begin_line(origin);
  if (origin.record.user_id && !origin.hidden.hides("user_id")) {
    out += ",\"user_id\":";
    append_json_id(out, *origin.record.user_id);
  }
  if (!origin.record.experiments.empty() && !origin.hidden.hides("experiments")) out += "," + origin.record.experiments;
  if (!shown.degraded.empty()) {
    out += ',';
    append_degraded(out, shown.degraded);
  }
  append_compact_rows(out, shown.rows, logged_fields(origin.record.asked, shown));
  append_rest_of_request(out, origin.record.asked);
  return out + "}";
}

}  // namespace rankd
