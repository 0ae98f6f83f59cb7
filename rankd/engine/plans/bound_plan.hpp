// rankd/engine/plans/bound_plan.hpp: a plan that is ready to run: a graph of checked operators, nothing left to look
// up.
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

/// An option of a node that a param of the request gives.
struct bound_option {
  std::string name;
  std::size_t param = 0;  ///< a position in registries::params
};

struct bound_node {
  std::string node_id;
  std::string op_name;
  std::string place;  ///< where its author wrote it, as path:line:column, or empty
  std::shared_ptr<const bound_op> op;
  std::vector<node_index> sources;  ///< whose rows it takes, in order
  row_change change = row_change::dense_source;
  std::optional<node_index> fused_with;  ///< the other one of two nodes that do their work together
  std::vector<bound_option> options = {};
  std::optional<node_fallback> fallback = {};
  braid::duration timeout = braid::duration::max();  ///< it has failed when it has not ended by then; max: none
  std::int64_t retries = 0;                          ///< so often it is run again where the store fails it for a moment
  braid::duration hedge{};                           ///< so late its reads are asked a second time; zero: they are not
  extra_use extras = extra_use::read;                ///< what uses the column that the operator adds of its own accord
  std::uint32_t extra_key = 0;                       ///< that of this column
};

/// Immutable once published; shared by all requests. Copies share operators and what the artifact states. Threads: any.
struct bound_plan {
  std::string name;
  std::string digest;                           ///< of all that it was made from: see `plan_identity`
  std::string artifact_digest;                  ///< of the artifact alone
  std::vector<model_digest> models;             ///< that it calls, in the order of their names
  std::vector<model_digest> vectors = {};       ///< files that it looks through, by the ids of their endpoints
  std::vector<operator_digest> operators = {};  ///< libraries whose operators its nodes use, by name
  plan_budget budget;
  braid::diagnostics warnings;  ///< what is allowed, and most likely a mistake: those of `missing_columns`
  std::vector<bound_node> nodes;
  std::vector<node_index> outputs;
  std::optional<node_index> page_node = {};       ///< that gives one page of its rows
  plan_route whole;                               ///< that of every request, unless some of it is chosen by request
  std::shared_ptr<const plan_branches> branches;  ///< null where every request runs all nodes
  std::shared_ptr<const plan> stated;             ///< what its artifact states, for those that show it
  std::shared_ptr<const plan_experiments> experiments = {};  ///< that run for it; null where there are none
  bool has_fallbacks = false;                                ///< of nodes
  std::vector<node_index> captures = {};                     ///< nodes that capture rows
  std::shared_ptr<const plan_caches> caches = {};            ///< null where no node has one
  std::shared_ptr<const bound_plan> substitute = {};         ///< that requests are given to when this one fails
  std::shared_ptr<const registries> declared = {};           ///< that it is bound to, and requests to it are read by
};

/// The nodes that run for a request with these values of params. Lifetime: the plan outlives it.
/// Cost: nothing without branches, otherwise that of plan_branches::route_of.
[[nodiscard]] auto route_of(const bound_plan& plan, std::span<const scalar> params)
    -> std::shared_ptr<const plan_route>;

/// What stands in for a node with a fallback: the id of another one, `input` or `empty`.
[[nodiscard]] auto substitute_of(const bound_plan& plan, node_index node) -> std::string;

/// Looks up all that the plan names and checks it, once; requests to it have that budget. The models that it calls come
/// from `models`, and its files of vectors from `vectors`, if there are any. Lifetime: `declared` outlives the plan,
/// unless `bound_plan::declared` is made to own it.
/// Errors: every diagnostic at once: those of the operators' binders and of `compile_expr` and `compile_pred`; about a
/// model, with its file as their source.
auto bind_plan(plan loaded, const registries& declared, const plan_budget& budget = {}, model_folder* models = nullptr,
               vector_folder* vectors = nullptr) -> braid::checked<bound_plan>;

/// The name of the plan that stands in for one, if any.
[[nodiscard]] auto substitute_name(const bound_plan& plan) -> std::string_view;

/// Gives a plan the one that it names as its substitute, in place of another that it may have: `found`, which is null
/// where there is none. Its digest becomes one of both. Requires a plan that names one.
/// Errors: unknown_plan, nested_fallback where that one names another, fallback_with_pages,
/// fallback_of_other_registries. Then nothing has changed.
auto add_substitute(bound_plan& plan, std::shared_ptr<const bound_plan> found) -> braid::diagnostics;

/// Whether something stands in for what is late, in the plan or in that which stands in for it: then the answers to the
/// same request may differ.
[[nodiscard]] auto depends_on_time(const bound_plan& plan) noexcept -> bool;

/// What distinguishes versions of a plan: the digest of its artifact, or, where it uses models, files of vectors or
/// operators of libraries, one of that and theirs.
auto plan_identity(const std::string& artifact_digest, const std::vector<model_digest>& used,
                   const std::vector<operator_digest>& operators = {}) -> std::string;

}  // namespace rankd
