// rankd/op/detail/row_draws.hpp: pseudo-random numbers for rows, which depend only on a seed and on the id of the row.
#pragma once

#include <rankd/expr/detail/hash_functions.hpp>
#include <rankd/op/detail/bound_template.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace rankd::detail {

/// Calls `use(position, number)` for each row of the node's first source, in order. The number is a hash of the seed
/// and the id of the row, and is the same on every machine. The seed is a template with holes for columns. If such a
/// column is null in a row, the empty seed is used for this row.
template <typename Use>
void for_each_draw(const bound_template& seed, const node_context& context, const Use& use) {
  const row_set& rows = context.inputs[0];
  const row_keys seeds = seed.list_keys(context);
  const std::span<std::uint64_t> hashes = context.memory.uninitialized<std::uint64_t>(seeds.asked.size());
  std::ranges::transform(seeds.asked, hashes.begin(), hash_of);
  const auto texts = rows.table().text_ids();
  for (std::uint32_t position = 0; position < rows.size(); ++position) {
    const std::uint32_t place = seeds.places[position];
    const std::uint64_t hash = place == row_keys::none ? hash_of({}) : hashes[place];
    use(position, texts ? make_draw(hash, (*texts)[rows.row(position)]) : make_draw(hash, rows.id(position)));
  }
}

}  // namespace rankd::detail
