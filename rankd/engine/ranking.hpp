// rankd/engine/ranking.hpp: the answer to a request: candidates or an error, and the time that the request took.
#pragma once

#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/explain/explanation.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

struct request_state;
struct plan_experiments;

/// The reason why a request has no candidates.
struct rank_error {
  std::string code;
  std::string message;
  std::string node;     ///< the node that failed, or empty
  std::string pointer;  ///< into the request, or empty
};

/// A fallback that was used after a failure. The request has candidates nevertheless.
struct degradation {
  std::string plan;  ///< the plan that failed, or empty
  std::string node;  ///< the node that failed, or empty
  std::string code;  ///< the code of the failure
  std::string used;  ///< another plan or node by its name, `input` or `empty`

  [[nodiscard]] auto operator==(const degradation&) const -> bool = default;
};

/// Measurements of one node in one request, for the metrics of a server.
struct node_sample {
  node_state state = node_state::skipped;
  std::uint64_t rows_out = 0;
  /// The time from when the node was ready until it started. Not set if the request was not timed.
  std::optional<braid::duration> queue;
  std::optional<braid::duration> run;  ///< from its start until its end
  /// The time from when the engine accepted the request until the node was ready, if the request was timed.
  braid::duration ready{};
  std::int64_t retries = 0;  ///< how often the node was retried
};

/// The answer to a request. Copies share the rows. Threads: one at a time.
struct ranking {
  std::string request_id;
  std::string engine_request_id;
  std::string plan;
  std::optional<rank_error> error;
  row_set rows;                          ///< the candidates in order, if there is no error
  std::string next_cursor;               ///< the cursor for the page after these rows; empty if no rows are left
  std::vector<const key_entry*> fields;  ///< columns to show, ascending by key id, without `id`
  std::uint64_t malformed_ids = 0;       ///< ids in the store that were malformed and were skipped
  std::uint64_t malformed_values = 0;    ///< features in the store that did not have their type
  braid::duration total{};  ///< from the time when the engine accepted the request until this answer was ready
  std::span<const node_sample> nodes;            ///< by number; empty unless `engine_options::metrics` asks for them
  std::shared_ptr<const explanation> explained;  ///< null unless the request asks for it; present with errors, too
  std::vector<captured_rows> captured = {};      ///< rows that the request asks to capture; present with errors, too
  std::vector<captured_rows> captured_by_plan = {};          ///< set if `engine_options::captures` asks for them
  std::shared_ptr<const request_state> memory;               ///< the memory of the rows and the nodes
  std::shared_ptr<const plan_experiments> experiments = {};  ///< the experiments of the plan, if it has any
  std::vector<chosen_arm> arms = {};                         ///< the arms that the request is in
  std::size_t cached_nodes = 0;                              ///< the number of nodes whose rows were in the cache
  bool shares_work = false;  ///< whether a node waited for a part that also runs for other requests
  /// The fallbacks that were used, in the order of the plan. Empty if nothing has failed.
  std::vector<degradation> degraded = {};
  /// The failed answer of the plan itself, if this answer comes from the fallback plan.
  std::shared_ptr<const ranking> failed_before = {};
  std::shared_ptr<const ranking> failed_after = {};  ///< the failed answer of the fallback plan, if it failed, too
};

/// Returns the code of the error, or "ok".
inline auto answer_code(const ranking& answer) -> std::string { return answer.error ? answer.error->code : "ok"; }

/// Returns the number of candidates, which is 0 after an error.
inline auto answer_size(const ranking& answer) -> std::size_t { return answer.error ? 0 : answer.rows.size(); }

/// Returns the response of the HTTP interface and the command line, as one line of JSON without a line feed.
auto to_json(const ranking& answer) -> std::string;

/// Appends the JSON of `to_json` to `out`.
void append_json(std::string& out, const ranking& answer);

/// Appends `"degraded":[…]`, as in answers and audit logs.
void append_degraded(std::string& out, const std::vector<degradation>& all);

/// Returns the first diagnostic as an error. The message includes the hint. It also includes the source, unless the
/// source is the request. Requires at least one diagnostic.
auto first_error(const braid::diagnostics& problems) -> rank_error;

/// Returns the error response for a request that could not be parsed or bound. If there are several diagnostics, all
/// are listed. An empty id is omitted. Requires at least one diagnostic.
auto to_json(const braid::diagnostics& problems, std::string_view request_id) -> std::string;

/// Returns the diagnostics as a JSON array of {code, pointer, node, message, hint, source}. Empty members are omitted,
/// except the pointer.
auto diagnostics_json(const braid::diagnostics& problems) -> std::string;

}  // namespace rankd
