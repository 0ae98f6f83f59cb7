// rankd/rows/aggregate.cpp: computes aggregates and fused ranks in arrays with one element for each group or id.
#include <rankd/rows/aggregate.hpp>

#include <rankd/registry/registries.hpp>
#include <rankd/rows/equal_rows.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace rankd {
namespace {

/// The running totals of a group.
struct group_sums {
  std::uint64_t rows = 0;
  std::uint64_t values = 0;  // that are not null
  double sum = 0;
  double min = 0;
  double max = 0;

  void add(double value) {
    min = values == 0 || value < min ? value : min;
    max = values == 0 || value > max ? value : max;
    sum += value;
    ++values;
  }

  [[nodiscard]] auto result(aggregate_kind kind) const -> std::optional<double> {
    if (kind == aggregate_kind::count) return static_cast<double>(rows);
    if (values == 0) return std::nullopt;
    switch (kind) {
      case aggregate_kind::sum: return sum;
      case aggregate_kind::min: return min;
      case aggregate_kind::max: return max;
      default: return sum / static_cast<double>(values);
    }
  }
};

/// Returns the group of each position. Each row whose group key is null forms a group of its own.
auto find_groups(const row_set& rows, const std::optional<std::uint32_t>& key, braid::arena& memory)
    -> numbered_values {
  if (!key) return {.numbers = memory.filled(rows.size(), std::uint32_t{0}), .count = 1};
  numbered_values groups = number_values(rows, *key, memory);
  const std::span<std::uint32_t> numbers = memory.copied(groups.numbers);
  for (std::uint32_t& number : numbers)
    if (number == no_value) number = groups.count++;
  groups.numbers = numbers;
  return groups;
}

/// Calls `use(value_of)` with a function `value_of(row)` that returns the value of the column as a float.
template <typename Use>
void with_floats(const column& values, Use&& use) {
  if (const auto* integers = values.integers())
    return use([all = *integers](std::uint32_t row) { return static_cast<double>(all[row]); });
  BRAID_EXPECTS(values.floats() != nullptr, "an aggregate needs a column of numbers");
  use([all = *values.floats()](std::uint32_t row) { return all[row]; });
}

/// A builder of a column of floats over a batch. Rows that are not set are null.
class sparse_floats {
 public:
  sparse_floats(std::size_t size, braid::arena& memory)
      : values_(memory.filled(size, 0.0)), valid_(memory.filled(words_for(size) + 1, std::uint64_t{0})) {}

  void set(std::uint32_t row, double value) {
    values_[row] = value;
    set_bit(valid_.data(), row);
  }

  [[nodiscard]] auto finish() const -> column {
    return {.values = std::span<const double>(values_), .validity = bitmap(valid_.data())};
  }

 private:
  std::span<double> values_;
  std::span<std::uint64_t> valid_;
};

}  // namespace

auto aggregate(const row_set& rows, const aggregate_options& options, braid::arena& memory) -> column {
  const numbered_values groups = find_groups(rows, options.group_key, memory);
  const std::span<group_sums> sums = memory.filled(groups.count, group_sums{});
  for (const std::uint32_t group : groups.numbers) ++sums[group].rows;
  const std::optional<column> values =
      options.kind == aggregate_kind::count ? std::nullopt : rows.table().find(options.key_id);
  if (values) {
    with_floats(*values, [&](auto value_of) {
      for (std::size_t position = 0; position < rows.size(); ++position) {
        const std::uint32_t row = rows.row(position);
        if (!values->is_null(row)) sums[groups.numbers[position]].add(value_of(row));
      }
    });
  }
  sparse_floats out(rows.table().size(), memory);
  for (std::size_t position = 0; position < rows.size(); ++position)
    if (const auto result = sums[groups.numbers[position]].result(options.kind)) out.set(rows.row(position), *result);
  return out.finish();
}

auto fuse_ranks(const row_set& rows, std::uint32_t list_key, double k, braid::arena& memory) -> fused_ranks {
  const numbered_values lists = number_values(rows, list_key, memory);
  const numbered_values ids = number_values(rows, registries::id_key, memory);

  // Sorts the positions of rows by list (a counting sort), so that the rows of a list keep their order.
  const std::span<std::uint32_t> ends = memory.filled(std::size_t{lists.count} + 1, std::uint32_t{0});
  for (const std::uint32_t list : lists.numbers)
    if (list != no_value) ++ends[list];
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::uint32_t{0});
  const std::span<std::uint32_t> positions = memory.uninitialized<std::uint32_t>(rows.size());
  for (std::uint32_t position = 0; position < rows.size(); ++position)
    if (const std::uint32_t list = lists.numbers[position]; list != no_value) positions[ends[list]++] = position;

  const std::span<double> sums = memory.filled(ids.count, 0.0);
  const std::span<std::uint32_t> seen_in = memory.filled(ids.count, no_value);
  for (std::uint32_t list = 0, at = 0; list < lists.count; ++list) {
    for (std::uint32_t rank = 1; at < ends[list]; ++at, ++rank) {
      const std::uint32_t id = ids.numbers[positions[at]];
      if (seen_in[id] == list) continue;
      seen_in[id] = list;
      sums[id] += 1.0 / (k + static_cast<double>(rank));
    }
  }

  const std::span<std::uint64_t> stays = memory.filled(words_for(rows.size()) + 1, std::uint64_t{0});
  sparse_floats scores(rows.table().size(), memory);
  std::uint32_t known = 0;  // ids are numbered in the order in which they first come
  for (std::uint32_t position = 0; position < rows.size(); ++position) {
    if (ids.numbers[position] != known) continue;
    set_bit(stays.data(), position);
    scores.set(rows.row(position), sums[known++]);
  }
  return {.rows = rows.select(bitmap(stays.data()), memory), .scores = scores.finish()};
}

}  // namespace rankd
