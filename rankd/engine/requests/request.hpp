// rankd/engine/requests/request.hpp: one request: read, checked, with every name resolved.
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

/// Source of the deadline of a request.
enum class deadline_source : std::uint8_t {
  request,  ///< itself, or what stands in where it says nothing
  budget,   ///< its plan, which has less
};

/// Why a request is in an arm of an experiment.
enum class arm_source : std::uint8_t {
  bucket,   ///< its unit falls there
  request,  ///< it names the arm
};

/// An arm that a request names, in place of that of its bucket.
struct forced_choice {
  std::string experiment;
  std::string arm;
};

/// An arm that a request is in, by positions in the plan_experiments of its plan.
struct chosen_arm {
  std::uint32_t experiment = 0;
  std::uint32_t arm = 0;
  std::uint32_t bucket = 0;  ///< that of its unit, where that decides
  arm_source from = arm_source::bucket;
  bool is_overridden = false;  ///< `param_overrides` sets a param that the arm sets
};

/// Of a request, to be explained.
inline constexpr std::size_t max_explained_ids = 100;

/// The page that a request asks for, once that is known.
struct asked_page {
  std::uint64_t begin = 0;             ///< how many rows stand before it
  std::chrono::milliseconds first{0};  ///< since 1970: when the first page of this ranking was asked for
  std::string identity = {};           ///< what its pages have in common: see `ranking_identity`
};

struct rank_request {
  std::string request_id;                            ///< as given, or made up from the request's bytes or its line
  std::string engine_request_id;                     ///< made up from the request's bytes
  std::string trace_id = {};                         ///< shown beside that in a trace of the process; or empty
  std::string plan;                                  ///< empty where the request names none
  std::chrono::milliseconds time{0};                 ///< since 1970: when it came; 0: not known
  std::optional<row_id> user_id;                     ///< nothing where the request has none
  std::vector<scalar> params;                        ///< one for each of registries::params: as given, or the default
  std::vector<std::size_t> overridden;               ///< positions in `params` that `param_overrides` sets, by name
  std::vector<std::size_t> in_context;               ///< the same of `context`; none is in both
  std::vector<forced_choice> forced;                 ///< `experiments`, by name
  std::vector<chosen_arm> arms;                      ///< by experiment; empty before `fit_to_plan`
  std::vector<std::size_t> set_by_arms;              ///< positions in `params` that these set
  std::shared_ptr<const candidate_rows> candidates;  ///< null where the request carries none
  std::optional<std::vector<std::uint32_t>> output_keys;  ///< ascending key ids; nothing for all
  std::optional<std::chrono::milliseconds> deadline;
  deadline_source deadline_from = deadline_source::request;
  std::optional<std::string> cursor;  ///< `next_cursor` of the answer before
  asked_page page;                    ///< of a plan that gives pages: `find_page` fills it in
  bool is_timed = false;              ///< `ranking::nodes` has times, if the engine collects nodes at all
  explain_mode explain = explain_mode::off;
  std::vector<row_id> explain_ids;  ///< whose fate the explanation reports; each once
  std::vector<asked_capture> captures = {};
};

/// Where a request came from, which decides the ids that are made up for it.
struct request_origin {
  std::uint64_t line = 0;             ///< of a file of requests, counted from 1; 0 for a request that came alone
  std::string_view request_id = {};   ///< of a request whose text has none; empty: one is made up
  std::chrono::milliseconds time{0};  ///< since 1970: when it came; 0: now
};

/// Reads a request from its JSON text, which begins without a byte_order_mark. A user_id is an integer or a string of
/// digits, which may begin with zeros; or where ids are texts such a text. The empty plan counts as none. What its plan
/// demands is for `check_needs`.
/// Errors: every diagnostic at once: those of `parse_json`, which count lines from that of the origin, and
/// `object_reader`; bad_user_id, unknown_param, blocked_param, unwritable_param, wrong_source, null_param, unknown_key,
/// blocked_key, unreadable_key, duplicate_value, bad_id, too_many_ids; of candidates too_many_candidates,
/// unwritable_key, wrong_length, null_value; too_many_captures. As many as a person can use.
auto parse_request(std::string_view text, const registries& declared, request_origin from = {})
    -> braid::checked<rank_request>;

/// Gives the registries of the plan of that name; the name may be empty, or that of no plan.
/// Lifetime: what it gives outlives the reading of the request.
using registries_of_plan = std::function<const registries&(std::string_view plan)>;

/// The same of a request to a plan that has registries of its own. It asks for these at least once.
auto parse_request(std::string_view text, const registries_of_plan& declared_for, request_origin from = {})
    -> braid::checked<rank_request>;

/// The request_id that stands in a text that was refused, for the answer: as given where it stands there once, as a
/// string, before what makes the text no JSON; otherwise made up as `parse_request` does.
auto request_id_of(std::string_view text, request_origin from = {}) -> std::string;

/// Gives a request the default deadline of a budget where it has none, and the latest where its own is later or it has
/// none still. Once more changes nothing.
void keep_to_budget(rank_request& request, const plan_budget& budget);

/// The plan that a request is for: the one it names, or else `given`, which may be empty.
/// Errors: missing_field where neither names one, plan_mismatch where both do and differ, unknown_plan for a name that
/// no plan can have: a request must not choose files.
auto plan_to_run(const rank_request& request, std::string_view given) -> braid::checked<std::string>;

/// What is wrong with the plan that a request was to run, for its answer: unknown_plan points to where the request
/// names it, if it does.
auto plan_diagnostics(const rank_request& request, const braid::diagnostics& problems) -> braid::diagnostics;

}  // namespace rankd
