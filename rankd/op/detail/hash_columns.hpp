// rankd/op/detail/hash_columns.hpp: reads columns of rows from fields of hashes whose keys contain an id.
#pragma once

#include <rankd/op/detail/stored_columns.hpp>
#include <rankd/op/operator.hpp>

#include <braid/coro/task.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rankd::detail {

/// The columns that core::fetch_features and sources add to rows. Immutable.
struct hash_columns {
  std::string prefix;                         ///< the prefix of a hash's key, which the id follows
  std::uint32_t by_key = registries::id_key;  ///< the column of integers that contains the id
  std::vector<wanted_feature> wanted;

  /// Returns the rows with the added columns. Reads each hash once, all in one batch. Sends no request if no row has a
  /// hash key. Lifetime: this object, the store and the context must outlive the task.
  [[nodiscard]] auto add_to(row_set rows, store& store, node_context& context) const -> braid::task<op_result<row_set>>;
};

}  // namespace rankd::detail
