// rankd/plan/detail/artifact.hpp: the functions that read the parts of an artifact.
#pragma once

#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/object_reader.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

/// Maps names to numbers, and suggests similar names for unknown ones. Each suggestion requires a comparison with every
/// name, so the number of suggestions is limited. If there are too many names, nothing is suggested.
class name_table {
 public:
  static constexpr std::size_t max_for_hints = 1'000;

  /// Adds a name. Returns false if the name exists already.
  auto add(std::string_view name, std::uint32_t number) -> bool {
    return numbers_.try_emplace(std::string(name), number).second;
  }
  [[nodiscard]] auto find(std::string_view name) const -> std::optional<std::uint32_t>;
  auto hint(std::string_view name) -> std::string;

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  int hints_left_ = 100;
};

/// The largest allowed value of `reserve_ms`. No request has that much time.
inline constexpr std::int64_t max_reserve_ms = 3'600'000;

/// The names that the nodes of one artifact may use.
struct known_names {
  name_table nodes;
  name_table exprs;
  name_table preds;
  name_table capabilities;  ///< those that the artifact requires
};

/// A plan that is being read, and the errors found so far.
struct draft {
  const plan_rules& rules;
  plan out;
  known_names known;
  braid::diagnostics problems;
};

/// Reads `nodes`. Reads all ids first, because a node may refer to a later node.
void read_nodes(const nlohmann::json& nodes, draft& draft);

/// Reads `outputs`, the list of nodes whose rows a plan returns.
void read_outputs(const nlohmann::json& outputs, draft& draft);

/// Reads `extensions` of the plan or of a node. Refuses extensions of capabilities that the plan does not list.
auto read_extensions(object_reader& reader, draft& draft, braid::diagnostics& problems) -> std::vector<plan_extension>;

/// Reads a float64 that must be in the range of `shape`. Returns null if the value is absent or invalid.
auto read_number(object_reader& reader, const param_shape& shape) -> scalar;

/// Returns whether an option is bound to a param of the request.
auto is_bound(object_reader& reader, const param_shape& shape) -> bool;

/// Reads the binding of an option to a param. Does not check that the param exists.
auto read_binding(object_reader& reader, const param_shape& shape, const known_names& known,
                  braid::diagnostics& problems) -> std::optional<param_binding>;

/// Reads the source location of a node or tree, if there is one.
auto read_span(const nlohmann::json& value, std::string pointer, std::size_t files, braid::diagnostics& problems)
    -> source_span;

/// Reads a list of key ids, which must not contain duplicates. Returns nothing if the field is absent.
auto read_key_list(object_reader& reader, std::string_view field, braid::diagnostics& problems)
    -> std::optional<std::vector<std::uint32_t>>;

/// Reads the field `fallback` of a node. Requires that the inputs of the node have been read.
auto read_fallback(object_reader& node, const plan_node& owner, draft& draft, braid::diagnostics& problems)
    -> std::optional<node_fallback>;

/// Reads `fallback_plan`, the plan that runs a request after this plan has failed.
void read_plan_fallback(object_reader& top, draft& draft);

/// Reads the fragments. Requires that all nodes have been read.
void read_fragments(object_reader& top, draft& draft);

/// Adds to the graph the edges that fallbacks require. Requires that all names have been resolved.
void link_fallbacks(plan& plan, braid::diagnostics& problems);

/// Reports every cycle. If there is no cycle, returns the nodes in topological order.
auto order_nodes(const std::vector<plan_node>& nodes, braid::diagnostics& problems) -> std::vector<node_index>;

/// Reports an error if the longest path of the graph contains too many nodes.
void check_depth(const plan& ordered, braid::diagnostics& problems);

/// Reports every node that no output depends on.
void check_reach(const plan& whole, braid::diagnostics& problems);

}  // namespace rankd::detail
