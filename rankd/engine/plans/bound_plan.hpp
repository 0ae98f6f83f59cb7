// rankd/engine/plans/bound_plan.hpp: a plan that is ready to run: a graph of checked operators, with all names
// resolved.
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

/// An option of a node whose value comes from a param of the request.
struct bound_option {
  std::string name;
  std::size_t param = 0;  ///< a position in registries::params
};

struct bound_node {
  std::string node_id;
  std::string op_name;
  std::string place;  ///< the location in the author's files, as path:line:column, or empty
  std::shared_ptr<const bound_op> op;
  std::vector<node_index> sources;  ///< nodes whose rows it takes, in order
  row_change change = row_change::dense_source;
  std::optional<node_index> fused_with;  ///< the node that this node is fused with
  std::vector<bound_option> options = {};
  std::optional<node_fallback> fallback = {};
  braid::duration timeout = braid::duration::max();  ///< the node fails if it has not ended by then; max: no limit
  std::int64_t retries = 0;                          ///< how often the node is retried if the store fails temporarily
  braid::duration hedge{};             ///< the delay after which the node's reads are sent a second time; zero: never
  extra_use extras = extra_use::read;  ///< the use of the column that the operator adds although no option names it
  std::uint32_t extra_key = 0;         ///< the key of this column
};

/// A plan with bound operators. It is immutable after publication, and shared by all requests. Copies share the
/// operators and the contents of the artifact. Threads: any.
struct bound_plan {
  std::string name;
  std::string digest;                      ///< digest of everything from which the plan was made: see `plan_identity`
  std::string artifact_digest;             ///< digest of the artifact only
  std::vector<model_digest> models;        ///< the models that the plan calls, by name
  std::vector<model_digest> vectors = {};  ///< the files that the plan searches, by the ids of their endpoints
  std::vector<operator_digest> operators = {};  ///< libraries whose operators its nodes use, by name
  plan_budget budget;
  /// Warnings from `missing_columns`. Each warning most likely indicates a mistake in the plan.
  braid::diagnostics warnings;
  std::vector<bound_node> nodes;
  std::vector<node_index> outputs;
  std::optional<node_index> page_node = {};       ///< the node that returns one page of its rows, if any
  plan_route whole;                               ///< the route of every request, unless conditions choose among inputs
  std::shared_ptr<const plan_branches> branches;  ///< null if every request runs all nodes
  std::shared_ptr<const plan> stated;             ///< the contents of the artifact, for explanations and for the page
  /// The experiments that run for the plan, or null if there are none.
  std::shared_ptr<const plan_experiments> experiments = {};
  bool has_fallbacks = false;                      ///< whether any node has a fallback
  std::vector<node_index> captures = {};           ///< nodes that capture rows
  std::shared_ptr<const plan_caches> caches = {};  ///< null if no node has a cache
  /// The fallback plan, which runs a request if this plan has failed.
  std::shared_ptr<const bound_plan> substitute = {};
  /// The registries that the plan is bound to. Requests to the plan are also parsed with them.
  std::shared_ptr<const registries> declared = {};
};

/// Returns the nodes that run for a request with these values of params. Lifetime: the plan must outlive the result.
/// Cost: if the plan has branches, that of plan_branches::find_route.
[[nodiscard]] auto find_route(const bound_plan& plan, std::span<const scalar> params)
    -> std::shared_ptr<const plan_route>;

/// Returns the fallback of a node as a text: the id of another node, `input` or `empty`. Requires a node with a
/// fallback.
[[nodiscard]] auto find_substitute(const bound_plan& plan, node_index node) -> std::string;

/// Binds a plan: looks up all names in it and checks it once. `budget` limits the requests to the plan. `models` and
/// `vectors` provide the files that the plan uses. Lifetime: `declared` must outlive the plan, unless
/// `bound_plan::declared` owns the registries.
/// Errors: all diagnostics at once: those of the operators' `bind`, of `compile_expr` and of `compile_pred`. The source
/// of a diagnostic about a model is the model's file.
auto bind_plan(plan loaded, const registries& declared, const plan_budget& budget = {}, model_folder* models = nullptr,
               vector_folder* vectors = nullptr) -> braid::checked<bound_plan>;

/// Returns the name of the plan's fallback plan. Returns an empty text if the plan has no fallback plan.
[[nodiscard]] auto substitute_name(const bound_plan& plan) -> std::string_view;

/// Sets the fallback plan of a plan, and replaces a fallback plan that was set before. `found` is null if there is no
/// plan of this name. Afterwards, the digest of the plan covers both plans. Requires a plan whose artifact names a
/// fallback plan.
/// Errors: unknown_plan; nested_fallback if the fallback plan has a fallback plan itself; fallback_with_pages;
/// fallback_of_other_registries. An error changes nothing.
auto add_substitute(bound_plan& plan, std::shared_ptr<const bound_plan> found) -> braid::diagnostics;

/// Returns whether the plan or its fallback plan contains a fallback that replaces late results. If so, equal requests
/// may get different answers.
[[nodiscard]] auto depends_on_time(const bound_plan& plan) noexcept -> bool;

/// Returns a digest that identifies a version of a plan. Usually, it is the digest of the artifact. If the plan uses
/// models, files of vectors or operator libraries, it is a digest of their digests together with the digest of the
/// artifact.
auto plan_identity(const std::string& artifact_digest, const std::vector<model_digest>& used,
                   const std::vector<operator_digest>& operators = {}) -> std::string;

}  // namespace rankd
