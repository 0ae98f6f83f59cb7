// rankd/plan/detail/artifact.hpp: the parts that reading an artifact is made of.
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

/// Numbers of names, and hints for unknown names. A hint compares with every name, so only a limited number is
/// computed, and none if there are very many names.
class name_table {
 public:
  static constexpr std::size_t max_for_hints = 1'000;

  /// Returns false if the name exists already.
  auto add(std::string_view name, std::uint32_t number) -> bool {
    return numbers_.try_emplace(std::string(name), number).second;
  }
  [[nodiscard]] auto find(std::string_view name) const -> std::optional<std::uint32_t>;
  auto hint(std::string_view name) -> std::string;

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  int hints_left_ = 100;
};

/// More time than any request has.
inline constexpr std::int64_t max_reserve_ms = 3'600'000;

/// The names that the nodes of one artifact may use.
struct known_names {
  name_table nodes;
  name_table exprs;
  name_table preds;
  name_table capabilities;  ///< those that the artifact requires
};

/// The plan while it is read.
struct draft {
  const plan_rules& rules;
  plan out;
  known_names known;
  braid::diagnostics problems;
};

/// Reads `nodes`: ids first, so that nodes may name later ones.
void read_nodes(const nlohmann::json& nodes, draft& draft);

/// Reads `outputs`.
void read_outputs(const nlohmann::json& outputs, draft& draft);

/// Reads `extensions`, at the top or in a node: only capabilities that the plan requires.
auto read_extensions(object_reader& reader, draft& draft, braid::diagnostics& problems) -> std::vector<plan_extension>;

/// Reads a float64 in the range of its shape; null if it is absent or wrong.
auto read_number(object_reader& reader, const param_shape& shape) -> scalar;

/// Returns whether an option of that shape is given by a param of the request.
auto is_bound(object_reader& reader, const param_shape& shape) -> bool;

/// Reads what binds an option of that shape to a param. The param itself is not looked at.
auto read_binding(object_reader& reader, const param_shape& shape, const known_names& known,
                  braid::diagnostics& problems) -> std::optional<param_binding>;

/// Reads a span, if there is one.
auto read_span(const nlohmann::json& value, std::string pointer, std::size_t files, braid::diagnostics& problems)
    -> source_span;

/// Reads the ids of keys, each once, if the field is present.
auto read_key_list(object_reader& reader, std::string_view field, braid::diagnostics& problems)
    -> std::optional<std::vector<std::uint32_t>>;

/// Reads `fallback` of a node, whose inputs are known.
auto read_fallback(object_reader& node, const plan_node& of, draft& draft, braid::diagnostics& problems)
    -> std::optional<node_fallback>;

/// Reads `fallback_plan`.
void read_plan_fallback(object_reader& top, draft& draft);

/// Reads the fragments. Requires that all nodes are known.
void read_fragments(object_reader& top, draft& draft);

/// Gives nodes the edges that fallbacks make. Requires that all names have been found.
void link_fallbacks(plan& plan, braid::diagnostics& problems);

/// Reports every cycle, and returns the order of the nodes if there is none.
auto order_nodes(const std::vector<plan_node>& nodes, braid::diagnostics& problems) -> std::vector<node_index>;

/// Complains when the longest way has too many nodes.
void check_depth(const plan& ordered, braid::diagnostics& problems);

/// Complains about every node from which no output can be reached.
void check_reach(const plan& whole, braid::diagnostics& problems);

}  // namespace rankd::detail
