// rankd/server/sinks/captured_lines.cpp: writes lines of captures and of exposures.
#include <rankd/server/sinks/captured_lines.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/server/files/serve_log.hpp>

namespace rankd {
namespace {

auto begin_line(const line_origin& from) -> std::string {
  std::string out = "{";
  append_json_member(out, "time", utc_text(std::chrono::system_clock::time_point(from.time)));
  if (!from.hidden.hides("request_id")) append_json_member(out, "request_id", from.record.request_id);
  append_json_member(out, "plan", from.plan);
  append_json_member(out, "plan_digest", from.digest);
  return out;
}

}  // namespace

auto capture_line(const line_origin& from, const captured_rows& rows) -> std::string {
  std::string out = begin_line(from);
  out += ',';
  append_members(out, rows);
  return out + "}";
}

auto exposure_line(const line_origin& from, const ranking& shown) -> std::string {
  std::string out = begin_line(from);
  if (from.record.user_id && !from.hidden.hides("user_id")) {
    out += ",\"user_id\":";
    append_json_id(out, *from.record.user_id);
  }
  if (!from.record.experiments.empty() && !from.hidden.hides("experiments")) out += "," + from.record.experiments;
  if (!shown.degraded.empty()) {
    out += ',';
    append_degraded(out, shown.degraded);
  }
  out += ',';
  append_rows(out, shown.rows, shown.fields);
  if (!from.record.asked.json.empty()) out += ",\"request\":" + from.record.asked.json;
  return out + "}";
}

}  // namespace rankd
