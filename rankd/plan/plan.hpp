// rankd/plan/plan.hpp: a loaded plan. Names are resolved to numbers if that needs neither operators nor registries.
#pragma once

#include <rankd/expr/tree.hpp>
#include <rankd/plan/capture.hpp>
#include <rankd/plan/fallback.hpp>
#include <rankd/plan/fragments.hpp>
#include <rankd/plan/node_cache.hpp>
#include <rankd/plan/op_shape.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// An index of `plan::nodes`.
using node_index = std::uint32_t;

/// A location in the author's source files. Lines and columns count from 1.
struct source_span {
  std::uint32_t file = 0;  ///< a position in `plan::source_files`
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;
};

/// The binding of an option to a param of the request, with the range of values that the param may have. Both ends of
/// the range have the type of the option, int64 or double, and are in the range of the option.
struct param_binding {
  std::uint32_t param_id = 0;
  scalar min;
  scalar max;
};

/// One param that a node sets. The operator's shape determines its kind.
struct plan_param {
  std::string name;
  param_kind kind = param_kind::int64;
  /// The value, as an int64, double, bool or string. A key_id is an int64; an enumeration, a name, a key_template and
  /// an endpoint_ref are strings. An expr_id, pred_id or node_ref is an index of expr_table, pred_table or nodes, as
  /// int64. The value is null for lists.
  scalar value;
  std::vector<std::uint32_t> key_ids;
  std::string pointer;
  std::vector<std::string> names = {};  ///< for names and texts
  std::vector<scalar> items = {};       ///< doubles of an ascending list, or literals that are all int64 or all strings
  std::vector<std::uint32_t> trees = {};    ///< for pred_ids: positions in pred_table
  std::optional<param_binding> bound = {};  ///< set if the request sets the value, and then `value` is null

  /// These functions return the smallest and the largest value of an int64 or float64 param that any request can set.
  [[nodiscard]] auto least() const noexcept -> const scalar& { return bound ? bound->min : value; }
  [[nodiscard]] auto most() const noexcept -> const scalar& { return bound ? bound->max : value; }

  /// Returns the value of a key_id, expr_id, pred_id or node_ref.
  [[nodiscard]] auto index() const -> std::uint32_t {
    return static_cast<std::uint32_t>(std::get<std::int64_t>(value));
  }
};

/// The content that an artifact contains for a capability.
struct plan_extension {
  std::string capability;
  std::string payload;  ///< canonical JSON
};

struct plan_node {
  std::string node_id;
  std::string op;
  std::vector<node_index> inputs;   ///< the inputs of the operator
  std::vector<node_index> sources;  ///< the inputs, then the node_refs: every edge into this node
  std::vector<plan_param> params;   ///< the params that the node sets, in the order of the operator's shape
  std::optional<std::string> trace;
  std::vector<plan_extension> extensions;
  std::optional<source_span> span;
  std::string pointer;
  std::optional<node_fallback> fallback = {};
  /// The nodes that this node waits for because of fallbacks, without reading their rows.
  std::vector<node_index> after = {};
  /// The nodes whose failure starts this node, if it is needed only as a fallback. If the plan has branches, a request
  /// may take a route in which further nodes can start this node.
  std::vector<node_index> wakers = {};
  std::optional<std::int64_t> timeout_ms = {};  ///< the node fails if it has not ended by then
  std::int64_t retries = 0;                     ///< how often it is retried if the store fails temporarily
  std::int64_t hedge_ms = 0;  ///< the delay after which the node's reads are sent a second time; 0: never
  std::optional<node_capture> capture = {};
  std::optional<node_cache> cache = {};

  /// Returns the param with this name, or null if the node does not set it.
  [[nodiscard]] auto find_param(std::string_view name) const noexcept -> const plan_param* {
    for (const plan_param& param : params)
      if (param.name == name) return &param;
    return nullptr;
  }
};

/// A tree of expr_table or pred_table.
template <typename Tree>
struct named_tree {
  std::string id;
  Tree tree;
};

/// The source location of a tree in expr_table or pred_table, or of a part of such a tree.
struct tree_span {
  std::string pointer;  ///< into the artifact
  source_span span;
};

/// A plan that is valid by itself. Its keys, params and endpoints have not been looked up in the registries yet.
/// Threads: any, once loaded.
struct plan {
  std::string plan_name;
  std::string digest;  ///< SHA-256 of the artifact's bytes
  std::string built_by;
  std::vector<plan_node> nodes;  ///< in the order of the artifact
  std::vector<node_index> outputs;
  /// All nodes in topological order: each node follows the nodes whose rows it reads. If several nodes could be next,
  /// the node with the smallest index is next.
  std::vector<node_index> order;
  std::vector<named_tree<expr_tree>> expr_table;  ///< in the order of their ids
  std::vector<named_tree<pred_tree>> pred_table;  ///< in the order of their ids
  std::vector<std::string> capabilities_required;
  std::vector<plan_extension> extensions;
  /// The digests in the artifact, of single entries or of whole registries.
  std::vector<registry_digest> registry_digests;
  std::vector<std::string> source_files;  ///< each a path, perhaps followed by `#` and the digest of the file
  std::vector<tree_span> tree_spans;      ///< of both tables, in the order of their pointers
  std::optional<plan_fallback> fallback = {};
  std::vector<fragment_use> fragments = {};  ///< each use precedes the uses inside it
};

}  // namespace rankd
