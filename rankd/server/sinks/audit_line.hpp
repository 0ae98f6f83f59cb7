// rankd/server/sinks/audit_line.hpp: audit lines. Each line contains a request, the status of its answer, and
// everything that is needed to send the request again.
#pragma once

#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/trace_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The names whose values are hidden in the audit. They are names of params, and of fields of requests and of the
/// audit. Immutable. Threads: any.
class redaction {
 public:
  redaction() = default;  ///< hides nothing

  /// Creates a redaction. Each name is the name of a param, or one of user_id, request_id, engine_request_id, trace_id,
  /// client, context, param_overrides, output_keys, explain, experiments, cursor, capture.
  /// Errors: unknown_name for any other name, with its position in rankd.toml.
  static auto make(std::vector<std::string> names, const registries& declared) -> braid::checked<redaction>;

  [[nodiscard]] auto hides(std::string_view name) const -> bool;
  [[nodiscard]] auto is_empty() const noexcept -> bool { return names_.empty(); }

 private:
  explicit redaction(std::vector<std::string> names) noexcept : names_(std::move(names)) {}

  std::vector<std::string> names_;  // only a few names
};

/// A request that can be sent again. Redacted values are missing.
struct audited_request {
  std::string json;                   ///< the JSON object to send; empty if the request could not be parsed
  std::size_t rest = 0;               ///< the position in `json` after request_id, user_id and plan
  bool names_keys = false;            ///< whether the request has `output_keys`
  std::vector<std::string> redacted;  ///< names whose values are in the request but not in `json`
  std::string engine_request_id;      ///< distinguishes the bytes of the request from those of other requests
  std::size_t candidates = 0;         ///< the number of candidates in the request, which are not in `json`
  bool has_candidates = false;
};

/// Returns the request as the client sent it, before budgets and default deadlines were applied.
[[nodiscard]] auto audited(const rank_request& request, const registries& declared, const redaction& hidden)
    -> audited_request;

/// One request to rank and its result.
struct request_record {
  std::chrono::system_clock::time_point time;
  braid::time_point begun{};                  ///< the same moment by the loop's clock; not written to the line
  std::string request_id;                     ///< empty if the id could not be read
  std::optional<braid::trace_context> trace;  ///< the span of the request, if it is part of a trace
  std::string client;                         ///< the name of the token, if there are tokens
  std::optional<row_id> user_id;              ///< not set if the user could not be read
  std::string plan;
  std::string plan_digest;
  braid::http_status status{};      ///< 0 if the client was not answered
  std::string code = "unanswered";  ///< `ok`, or the code of the error
  braid::duration took{};
  std::size_t candidates = 0;
  audited_request asked{};
  std::string experiments{};     ///< the members of the line about the arms of the request, or empty
  std::string degraded{};        ///< the member about fallbacks that were used, or empty
  bool is_degraded = false;      ///< whether a fallback was used; if so, the line has `degraded`
  bool is_known = false;         ///< whether the client may send requests to this server; not written to the line
  bool may_force = false;        ///< whether the client may choose arms of experiments; not written to the line
  bool may_send_events = false;  ///< whether the client may send events; not written to the line
  bool may_write = false;        ///< whether the client may change records; not written to the line
  bool is_shed = false;  ///< whether it was refused because there were too many requests; not written to the line
};

/// Returns the record as one line of JSON. Empty members are left out.
[[nodiscard]] auto audit_line(const request_record& record, const redaction& hidden = {}) -> std::string;

}  // namespace rankd
