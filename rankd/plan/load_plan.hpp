// rankd/plan/load_plan.hpp: loads an artifact as a plan, or reports all of its errors.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/plan/folder_image.hpp>
#include <rankd/plan/op_shape.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace rankd {

inline constexpr std::size_t max_plan_nodes = 10'000;
inline constexpr std::size_t max_plan_edges = 100'000;
inline constexpr std::size_t max_plan_depth = 1'000;  ///< nodes on the longest way to an output

/// The capability that a plan requires if it binds options of nodes to params.
inline constexpr std::string_view bound_params_capability = "cap.rfc.0003.bound_params.v1";

/// The capability that a plan requires if the plan or one of its nodes has a fallback.
inline constexpr std::string_view fallback_capability = "cap.rfc.0004.fallback.v1";

/// The capability that a plan requires if it chooses between nodes by params, or compares a param with strings.
inline constexpr std::string_view branch_capability = "cap.rfc.0005.branch.v1";

/// The capability that a plan requires if a node has a time limit.
inline constexpr std::string_view timeout_capability = "cap.rfc.0007.timeouts.v1";

/// The capability that a plan requires if a node is retried after a failure of the store.
inline constexpr std::string_view retry_capability = "cap.rfc.0008.retries.v1";

/// The capability that a plan requires if the reads of a node are hedged.
inline constexpr std::string_view hedge_capability = "cap.rfc.0012.hedge.v1";

/// Returns the capabilities that this engine implements, in ascending order.
[[nodiscard]] auto implemented_capabilities() noexcept -> std::span<const std::string_view>;

/// The rules by which an artifact is checked.
struct plan_rules {
  const op_shapes& ops;
  const registries& declared;  ///< for capabilities and digests
  /// The capabilities that the engine or tool that loads the plan implements. A plan that requires another capability
  /// is refused.
  std::span<const std::string_view> capabilities = implemented_capabilities();
};

/// Loads an artifact from a file. The name of the file must be the name of the plan, followed by `.json`.
/// Blocks: on the disk.
/// Errors: those of `parse_plan`, of `read_text_file`, and name_mismatch.
auto load_plan(const std::filesystem::path& file, const plan_rules& rules) -> braid::checked<plan>;

/// Loads an artifact from a file whose contents have been read already.
/// Errors: those of `parse_plan`, and name_mismatch.
auto load_plan(const artifact_image& image, const plan_rules& rules) -> braid::checked<plan>;

/// Reads an artifact from memory.
/// Errors: those of `parse_json`, `parse_expr` and `object_reader`; unsupported_schema, bad_name, bad_endpoint_id,
/// bad_capability_id, unsupported_capability, capability_not_required, not_sorted, duplicate_value, registry_changed,
/// unknown_op, wrong_input_count, unknown_node, duplicate_node, unknown_expr, unknown_pred, unknown_code, no_outputs,
/// cycle, reaches_no_output, too_many_nodes, too_many_edges, plan_too_deep, too_few_items, fragments_too_deep.
auto parse_plan(std::string_view text, std::string_view source_name, const plan_rules& rules) -> braid::checked<plan>;

}  // namespace rankd
