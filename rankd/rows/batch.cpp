// rankd/rows/batch.cpp: finds and adds columns of batches.
#include <braid/base/config.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/rows/batch.hpp>

#include <algorithm>
#include <functional>

namespace rankd {

batch::batch(std::span<const std::int64_t> ids, std::span<const keyed_column> columns)
    : numbers_(ids.data()), size_(ids.size()) {
  BRAID_EXPECTS(ids.size() <= max_rows, "a batch may have at most 2^32 - 1 rows");
  *this = with_only(columns);
}

batch::batch(const string_values& ids, std::span<const keyed_column> columns)
    : codes_(ids.codes.data()), words_(ids.words), size_(ids.codes.size()) {
  BRAID_EXPECTS(ids.codes.size() <= max_rows, "a batch may have at most 2^32 - 1 rows");
  BRAID_EXPECTS(ids.words != nullptr, "string ids need a dictionary");
  *this = with_only(columns);
}

auto batch::with_only(std::span<const keyed_column> columns) const -> batch {
  BRAID_EXPECTS(std::ranges::adjacent_find(columns, std::greater_equal{}, &keyed_column::key_id) == columns.end(),
                "the columns of a batch must be sorted by key, each key once");
  for (const keyed_column& each : columns) {
    BRAID_EXPECTS(each.key_id != registries::id_key, "the columns must not include `id`");
    BRAID_EXPECTS(each.values.size() == size_, "every column of a batch must have the length of the batch");
  }
  batch out = *this;
  out.columns_ = columns;
  return out;
}

auto batch::id(std::uint32_t row) const -> row_id {
  if (const auto texts = text_ids()) return std::string((*texts)[row]);
  return numbers_[row];
}

auto batch::find(std::uint32_t key_id) const noexcept -> std::optional<column> {
  if (key_id == registries::id_key) {
    if (const auto texts = text_ids()) return column{.values = *texts, .validity = {}};
    return column{.values = ids(), .validity = {}};
  }
  const auto found = std::ranges::lower_bound(columns_, key_id, {}, &keyed_column::key_id);
  if (found == columns_.end() || found->key_id != key_id) return std::nullopt;
  return found->values;
}

auto batch::with_column(std::uint32_t key_id, const column& values, braid::arena& memory) const -> batch {
  const auto place = std::ranges::lower_bound(columns_, key_id, {}, &keyed_column::key_id);
  const bool replaces = place != columns_.end() && place->key_id == key_id;
  const std::span<keyed_column> all = memory.uninitialized<keyed_column>(columns_.size() + (replaces ? 0 : 1));
  const auto next = std::uninitialized_copy(columns_.begin(), place, all.begin());
  std::construct_at(&*next, keyed_column{key_id, values});
  std::uninitialized_copy(replaces ? place + 1 : place, columns_.end(), next + 1);
  return with_only(all);
}

}  // namespace rankd
