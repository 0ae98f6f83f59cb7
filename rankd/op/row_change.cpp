// rankd/op/row_change.cpp: checks whether the output rows of an operator are in the declared relation to its input
// rows.
#include <rankd/op/row_change.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rankd {
namespace {

auto find_rows(const row_set& set) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> rows;
  rows.reserve(set.size());
  set.for_each_row([&rows](std::uint32_t row) { rows.push_back(row); });
  return rows;
}

auto list_ids(const row_set& set) -> std::vector<row_id> {
  std::vector<row_id> ids;
  ids.reserve(set.size());
  for (std::size_t at = 0; at < set.size(); ++at) ids.push_back(set.table().id(set.row(at)));
  return ids;
}

auto is_dense(const row_set& set) -> bool { return set.is_prefix() && set.size() == set.table().size(); }

auto same_batch(const row_set& a, const row_set& b) -> bool {
  const auto texts = a.table().text_ids();
  const auto others = b.table().text_ids();
  if (texts.has_value() != others.has_value()) return false;
  const bool same_ids =
      texts ? texts->codes.data() == others->codes.data() : a.table().ids().data() == b.table().ids().data();
  return same_ids && a.table().size() == b.table().size();
}

auto is_subsequence(const std::vector<std::uint32_t>& part, const std::vector<std::uint32_t>& whole) -> bool {
  auto at = whole.begin();
  for (const std::uint32_t row : part) {
    at = std::find(at, whole.end(), row);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

auto is_permutation_of(std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) -> bool {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

auto is_selection(std::vector<std::uint32_t> part, std::vector<std::uint32_t> whole) -> bool {
  std::ranges::sort(part);
  std::ranges::sort(whole);
  return std::ranges::includes(whole, part);
}

auto is_concatenation(std::span<const row_set> inputs, const row_set& output) -> bool {
  std::vector<row_id> expected = list_ids(inputs[0]);
  const std::vector<row_id> second = list_ids(inputs[1]);
  expected.insert(expected.end(), second.begin(), second.end());
  return is_dense(output) && list_ids(output) == expected;
}

}  // namespace

auto keeps_promise(row_change promise, std::span<const row_set> inputs, const row_set& output) -> bool {
  if (promise == row_change::dense_source) return is_dense(output);
  if (promise == row_change::concatenation) return is_concatenation(inputs, output);
  if (promise == row_change::merged) return is_permutation_of(find_rows(output), find_rows(row_set(output.table())));

  const row_set& input = inputs[0];
  if (!same_batch(input, output)) return false;
  const auto before = find_rows(input);
  const auto after = find_rows(output);
  switch (promise) {
    case row_change::preserves_view: return before == after;
    case row_change::stable_filter:
    case row_change::distinct:
    case row_change::matched: return is_subsequence(after, before);
    case row_change::prefix:
      return after.size() <= before.size() && std::equal(after.begin(), after.end(), before.begin());
    case row_change::permutation: return is_permutation_of(before, after);
    case row_change::diversified:
    case row_change::selection: return is_selection(after, before);
    default: return false;
  }
}

}  // namespace rankd
