// rankd/server/sinks/captured_lines.cpp: writes captures and exposures as lines of JSON.
#include <rankd/server/sinks/captured_lines.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/server/files/serve_log.hpp>

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
  append_rows(out, shown.rows, shown.fields);
  if (!origin.record.asked.json.empty()) out += ",\"request\":" + origin.record.asked.json;
  return out + "}";
}

}  // namespace rankd
