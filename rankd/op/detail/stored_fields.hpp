// rankd/op/detail/stored_fields.hpp: columns of fields of hashes, or of strings, under keys which a template spells.
#pragma once

#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/stored_columns.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

/// Columns from fields of hashes, or one from strings.
struct stored_fields {
  std::uint32_t endpoint = 0;
  bound_template keys;
  read_kind kind = read_kind::fields;
  std::vector<wanted_feature> wanted;

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>>;

 private:
  [[nodiscard]] auto with_columns(const row_keys& named, const item_batch& found, node_context& context) const
      -> row_set;
};

}  // namespace rankd::detail
