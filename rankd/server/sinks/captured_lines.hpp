// rankd/server/sinks/captured_lines.hpp: lines of JSON with rows of requests: captured rows of plan stages, and
// candidates that were shown.
#pragma once

#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/server/sinks/audit_line.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace rankd {

/// The request to which the rows of a line belong.
struct line_origin {
  const request_record& record;
  std::chrono::milliseconds time{0};  ///< the time at which the request arrived, since 1970
  std::string_view plan;              ///< the plan that produced the rows
  std::string_view digest;            ///< the digest of that plan
  const redaction& hidden;
};

/// Returns the line for captured rows:
/// `{"time":…,"request_id":…,"plan":…,"plan_digest":…,"node":…,"side":…,"state":…,"rows":{…},"cut":0}`.
[[nodiscard]] auto capture_line(const line_origin& origin, const captured_rows& rows) -> std::string;

/// Returns a line with the candidates of an answer, in order, and their values: `{"time":…,"request_id":…,"plan":…,
/// "plan_digest":…,"user_id":…,"experiments":{…},"rows":{…},"shared":{…},"request":{…}}`. Each value is written only
/// once: `shared` contains the columns that have the same value in all rows, and `request` contains only the fields
/// that are not elsewhere in the line. Vectors are left out, unless the request has `output_keys`.
/// Requires an answer without an error.
[[nodiscard]] auto exposure_line(const line_origin& origin, const ranking& shown) -> std::string;

}  // namespace rankd
