// rankd/op/detail/stored_fields.hpp: reads columns from fields of hashes, or from strings, under keys that a template
// produces.
#pragma once

#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/stored_columns.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

/// The columns to read from fields of hashes, or the single column to read from strings.
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
