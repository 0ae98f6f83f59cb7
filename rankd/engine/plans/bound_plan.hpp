// rankd/engine/plans/bound_plan.hpp: a plan that is ready to run: a graph of checked operators with all names resolved.
#pragma once

#include <rankd/engine/plans/branches.hpp>
#include <rankd/engine/plans/plan_caches.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/op/extra_columns.hpp>
#include <rankd/op/models.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/op/vectors.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/budgets.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// An option of a node whose value is a param of the request.
struct bound_option {
  std::string name;
  std::size_t param = 0;  ///< a position in registries::params
};

struct bound_node {
  std::string node_id;
  std::string op_name;
  std::string place;  ///< the place in the author's files, as path:line:column, or empty
  std::shared_ptr<const bound_op> op;
  std::vector<node_index> sources;  ///< nodes whose rows it takes, in order
  row_change change = row_change::dense_source;
  std::optional<node_index> fused_with;  ///< the node that it does its work together with
  std::vector<bound_option> options = {};
  std::optional<node_fallback> fallback = {};
  braid::duration timeout = braid::duration::max();  ///< it fails if it has not ended by then; max: no limit
  std::int64_t retries = 0;                          ///< how often it is run again if the store fails temporarily
  braid::duration hedge{};             ///< after this time its reads are sent a second time; zero: they are not
  extra_use extras = extra_use::read;  ///< how the column is used that the operator adds by itself
  std::uint32_t extra_key = 0;         ///< the key of this column
};

/// A plan with its operators bound. It is immutable once published, and shared by all requests. Copies share operators
/// and the contents of the artifact. Threads: any.
struct bound_plan {
  std::string name;
  std::string digest;                           ///< of everything that it was made from: see `plan_identity`
  std::string artifact_digest;                  ///< of the artifact only
  std::vector<model_digest> models;             ///< models that it calls, by name
  std::vector<model_digest> vectors = {};       ///< files that it searches, by the ids of their endpoints
  std::vector<operator_digest> operators = {};  ///< libraries whose operators its nodes use, by name
  plan_budget budget;
  /// things that are allowed, but are most likely mistakes: the warnings of `missing_columns`
  braid::diagnostics warnings;
  std::vector<bound_node> nodes;
  std::vector<node_index> outputs;
  std::optional<node_index> page_node = {};       ///< the node that returns one page of its rows
  plan_route whole;                               ///< the route of every request, unless requests choose some of it
  std::shared_ptr<const plan_branches> branches;  ///< null if every request runs all nodes
  std::shared_ptr<const plan> stated;             ///< the contents of its artifact, to be shown
  std::shared_ptr<const plan_experiments> experiments = {};  ///< experiments that run for it; null if there are none
  bool has_fallbacks = false;                                ///< a node has a fallback
  std::vector<node_index> captures = {};                     ///< nodes that capture rows
  std::shared_ptr<const plan_caches> caches = {};            ///< null if no node has a cache
  std::shared_ptr<const bound_plan> substitute = {};         ///< the plan that gets requests when this one fails
  /// the registries that it is bound to, which also parse requests to it
  std::shared_ptr<const registries> declared = {};
};

/// Returns the nodes that run for a request with these values of params. Lifetime: the plan outlives it. Cost: nothing
/// without branches, otherwise the cost of plan_branches::find_route.
[[nodiscard]] auto find_route(const bound_plan& plan, std::span<const scalar> params)
    -> std::shared_ptr<const plan_route>;

/// Returns the fallback of a node that has one: the id of another node, `input` or `empty`.
[[nodiscard]] auto find_substitute(const bound_plan& plan, node_index node) -> std::string;

/// Looks up all names in the plan and checks it, once; requests to it have this budget. The models that it calls come
/// from `models`, and its files of vectors from `vectors`, if there are any. Lifetime: `declared` outlives the plan,
/// unless `bound_plan::declared` is made to own it.
/// Errors: every diagnostic at once: from the operators' binders and from `compile_expr` and `compile_pred`; about a
/// model, with its file as their source.
auto bind_plan(plan loaded, const registries& declared, const plan_budget& budget = {}, model_folder* models = nullptr,
               vector_folder* vectors = nullptr) -> braid::checked<bound_plan>;

/// The name of the substitute of a plan, if it has one.
[[nodiscard]] auto substitute_name(const bound_plan& plan) -> std::string_view;

/// Sets the substitute that a plan names, in place of an earlier one: `found`, which is null if there is no such plan.
/// The digest of the plan then covers both. Requires a plan that names a substitute.
/// Errors: unknown_plan, nested_fallback if the substitute names another, fallback_with_pages,
/// fallback_of_other_registries. Then nothing has changed.
auto add_substitute(bound_plan& plan, std::shared_ptr<const bound_plan> found) -> braid::diagnostics;

/// Returns whether something replaces late results, in the plan or in its substitute: then the answers to the same
/// request may differ.
[[nodiscard]] auto depends_on_time(const bound_plan& plan) noexcept -> bool;

/// Distinguishes versions of a plan: the digest of its artifact, or, if it uses models, files of vectors or operators
/// of libraries, a digest of the artifact's digest and theirs.
auto plan_identity(const std::string& artifact_digest, const std::vector<model_digest>& used,
                   const std::vector<operator_digest>& operators = {}) -> std::string;

}  // namespace rankd
