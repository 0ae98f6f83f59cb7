// rankd/engine/requests/request.hpp: a parsed and checked request, with all names resolved.
#pragma once

#include <rankd/engine/captured_rows.hpp>
#include <rankd/op/candidates.hpp>
#include <rankd/registry/budgets.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

enum class explain_mode : std::uint8_t { off, on };

/// The source of the deadline of a request.
enum class deadline_source : std::uint8_t {
  request,  ///< the request itself, or the default if it sets no deadline
  budget,   ///< the budget of its plan, whose limit is shorter
};

/// The reason why a request is in an arm of an experiment.
enum class arm_source : std::uint8_t {
  bucket,   ///< its unit is in a bucket of the arm
  request,  ///< the request names the arm
};

/// An arm that a request chooses by name. It replaces the arm of the request's bucket.
struct forced_choice {
  std::string experiment;
  std::string arm;
};

/// An arm that a request is in. The experiment and the arm are given by their indexes in the plan_experiments of the
/// plan.
struct chosen_arm {
  std::uint32_t experiment = 0;
  std::uint32_t arm = 0;
  std::uint32_t bucket = 0;  ///< the bucket of the unit, if the bucket decides
  arm_source from = arm_source::bucket;
  bool is_overridden = false;  ///< whether `param_overrides` sets a param that the arm sets
};

/// The maximum number of ids that one request may explain.
inline constexpr std::size_t max_explained_ids = 100;

/// The requested page, taken from a verified cursor.
struct asked_page {
  std::uint64_t begin = 0;             ///< the number of rows before the page
  std::chrono::milliseconds first{0};  ///< since 1970: when the first page of this ranking was requested
  std::string identity = {};  ///< digest of what all pages of the ranking have in common: see `ranking_identity`
};

struct rank_request {
  std::string request_id;               ///< from the request, or derived from the request's bytes or its line
  std::string engine_request_id;        ///< derived from the request's bytes
  std::string trace_id = {};            ///< shown next to engine_request_id in a trace of the process; or empty
  std::string plan;                     ///< empty if the request does not name one
  std::chrono::milliseconds time{0};    ///< the time at which the request arrived, since 1970; 0: unknown
  std::optional<row_id> user_id;        ///< nothing if the request has no user
  std::vector<scalar> params;           ///< one for each of registries::params: from the request, or the default
  std::vector<std::size_t> overridden;  ///< positions in `params` that `param_overrides` sets, ordered by name
  /// The indexes in `params` of the params that the field `context` of the request sets, ordered by name. No index is
  /// also in `overridden`.
  std::vector<std::size_t> in_context;
  std::vector<forced_choice> forced;                      ///< the choices in `experiments`, ordered by name
  std::vector<chosen_arm> arms;                           ///< ordered by experiment; empty before `fit_to_plan`
  std::vector<std::size_t> set_by_arms;                   ///< positions in `params` that these arms set
  std::shared_ptr<const candidate_rows> candidates;       ///< null if the request has no candidates
  std::optional<std::vector<std::uint32_t>> output_keys;  ///< ascending key ids; nothing: all columns
  std::optional<std::chrono::milliseconds> deadline;
  deadline_source deadline_from = deadline_source::request;
  std::optional<std::string> cursor;  ///< `next_cursor` of the previous answer
  asked_page page;                    ///< for a plan with pages: set by `find_page`
  bool is_timed = false;  ///< whether `ranking::nodes` has times, if the engine collects measurements of nodes at all
  explain_mode explain = explain_mode::off;
  std::vector<row_id> explain_ids;  ///< ids that the explanation reports on, each once
  std::vector<asked_capture> captures = {};
};

/// The place from which a request was read. If the request has no id, its id is derived from this place.
struct request_origin {
  std::uint64_t line = 0;  ///< the line number in a file of requests, from 1; 0 if the request is not from a file
  std::string_view request_id = {};   ///< the id for a request whose text has none; empty: an id is derived
  std::chrono::milliseconds time{0};  ///< the time at which the request arrived, since 1970; 0: now
};

/// Returns one diagnostic about a request.
auto request_problem(std::string code, std::string pointer, std::string message) -> braid::diagnostics;

/// Parses the JSON text of a request, which must not begin with a byte order mark. A user_id is an integer or a string
/// of digits, possibly with leading zeros. If the project has string ids, it is a string. An empty plan name counts as
/// absent. Use `check_needs` to check whether the request has everything that the plan needs.
/// Errors: all diagnostics at once, up to a limit: those of `parse_json`, whose line numbers begin with the line of the
/// origin, and of `object_reader`; bad_user_id, unknown_param, blocked_param, unwritable_param, wrong_source,
/// null_param, unknown_key, blocked_key, unreadable_key, duplicate_value, bad_id, too_many_ids; for candidates
/// too_many_candidates, unwritable_key, wrong_length, null_value; too_many_captures.
auto parse_request(std::string_view text, const registries& declared, request_origin origin = {})
    -> braid::checked<rank_request>;

/// Returns the registries of the plan with this name. The name may be empty or unknown.
/// Lifetime: the result is valid until the request has been parsed.
using registries_of_plan = std::function<const registries&(std::string_view plan)>;

/// Parses a request with the registries of the plan that it names. Calls `declared_for` at least once.
auto parse_request(std::string_view text, const registries_of_plan& declared_for, request_origin origin = {})
    -> braid::checked<rank_request>;

/// Returns the request_id of an invalid request, for its answer. If a request_id occurs exactly once as a string before
/// the first syntax error, returns this string. Otherwise, derives an id as `parse_request` does.
auto find_request_id(std::string_view text, request_origin origin = {}) -> std::string;

/// States whether a request without a deadline gets one from the budget. Offline requests get no deadline: no client
/// waits for them, and because they wait for each other, a deadline would make them fail.
enum class budget_times : std::uint8_t { applied, ignored };

/// If a request has no deadline, sets its deadline to the default deadline of the budget. Then limits the deadline to
/// the budget's maximum deadline. If the budget has no default, its maximum is used instead. With
/// `budget_times::ignored`, a request without a deadline stays without one. A second call changes nothing.
void keep_to_budget(rank_request& request, const plan_budget& budget, budget_times times = budget_times::applied);

/// Returns the plan that a request names, or else `given`, which may be empty.
/// Errors: missing_field if there is no plan name, plan_mismatch if both names exist and differ, unknown_plan for a
/// name with characters that plan names cannot contain. Such a name could otherwise select a file.
auto plan_to_run(const rank_request& request, std::string_view given) -> braid::checked<std::string>;

/// Returns the diagnostics about the plan of a request in the form in which the answer contains them. The diagnostic
/// unknown_plan points to the field of the request that names the plan, if there is such a field.
auto plan_diagnostics(const rank_request& request, const braid::diagnostics& problems) -> braid::diagnostics;

}  // namespace rankd
