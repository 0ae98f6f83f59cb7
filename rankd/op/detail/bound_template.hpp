// rankd/op/detail/bound_template.hpp: a key template with resolved names, and the keys that it produces for rows.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/key_template.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// The option `key` of every operator that reads values under keys of the project.
inline constexpr param_shape key_shape{.name = "key", .kind = param_kind::key_template};

/// The distinct keys of the rows, and the position of each row's key among them.
struct row_keys {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::span<const std::string_view> asked;  ///< the distinct keys, in the order in which the rows first need them
  /// The index of each row's key in `asked`, or the constant `none` for a row without a key.
  std::span<const std::uint32_t> places;
};

/// A template whose holes are columns and params that plans may read. Immutable.
/// Threads: any.
class bound_template {
 public:
  /// Returns the template of a param of kind key_template. For a hole that names a key, reports unknown_key,
  /// blocked_key, unreadable_key and wrong_key_type at the param. Reports the corresponding errors for a hole that
  /// names a param.
  static auto bind(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
      -> bound_template;

  /// Returns the keys of the rows of the node's first source. If the node has no source, there is one row without
  /// columns. A row has no key if the value for a hole is null, or if the key would be empty or longer than
  /// `named_read::max_key`. No store contains such keys. Cost: about 50 ns per row, and the memory of the keys.
  [[nodiscard]] auto list_keys(const node_context& context) const -> row_keys;

 private:
  struct hole {
    template_hole::source_kind from = template_hole::source_kind::column;
    std::uint32_t key_id = 0;  ///< the key of a column
    std::uint32_t param = 0;   ///< a position in registries::params
  };

  class speller;

  std::vector<std::string> literals_;
  std::vector<hole> holes_;
};

}  // namespace rankd::detail
