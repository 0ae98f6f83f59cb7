// rankd/engine/explain/answer_comparison.cpp: compares two lists of candidates.
#include <rankd/engine/explain/answer_comparison.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace rankd {
namespace {

/// The number of occurrences of an id in each of the two lists, as far as the lists were read.
struct occurrences {
  std::size_t before = 0;
  std::size_t after = 0;
};

/// Counts the ids that two lists have in common. The ids are added one by one.
class common_ids {
 public:
  void add_before(const row_id& id) {
    occurrences& seen = seen_[id];
    if (seen.after > seen.before) ++common_;
    ++seen.before;
  }
  void add_after(const row_id& id) {
    occurrences& seen = seen_[id];
    if (seen.before > seen.after) ++common_;
    ++seen.after;
  }
  [[nodiscard]] auto count() const noexcept -> double { return static_cast<double>(common_); }

 private:
  std::unordered_map<row_id, occurrences> seen_;
  std::size_t common_ = 0;
};

/// Returns the compared part of an answer as text.
auto comparable_text(const ranking& answer) -> std::string {
  ranking copy = answer;
  copy.plan.clear();
  copy.next_cursor = answer.next_cursor.empty() ? "" : "more";
  copy.experiments = nullptr;
  copy.degraded.clear();
  for (const degradation& each : answer.degraded)
    copy.degraded.push_back({.plan = {}, .node = {}, .code = each.code, .used = {}});
  copy.malformed_ids = 0;  // unknown for reads that are assembled key by key
  copy.malformed_values = 0;
  copy.explained = nullptr;
  copy.captured.clear();
  return to_json(copy);
}

auto measure_change(std::span<const row_id> before, std::span<const row_id> after) -> answer_change {
  if (std::ranges::equal(before, after)) return answer_change::values;
  if (before.size() != after.size()) return answer_change::candidates;
  common_ids all;
  for (const row_id& id : before) all.add_before(id);
  for (const row_id& id : after) all.add_after(id);
  return all.count() == static_cast<double>(before.size()) ? answer_change::order : answer_change::candidates;
}

}  // namespace

auto to_string(answer_change change) noexcept -> std::string_view {
  switch (change) {
    case answer_change::equal: return "equal";
    case answer_change::values: return "values";
    case answer_change::order: return "order";
    case answer_change::candidates: return "candidates";
    case answer_change::error: return "error";
  }
  return "";
}

auto candidate_ids(const ranking& answer) -> std::vector<row_id> {
  std::vector<row_id> ids;
  if (answer.error) return ids;
  ids.reserve(answer.rows.size());
  answer.rows.for_each_row([&](std::uint32_t row) { ids.push_back(answer.rows.table().id(row)); });
  return ids;
}

auto compare_answers(const ranking& before, const ranking& after, std::size_t depth) -> answer_verdict {
  if (before.error && after.error)
    return {.change = before.error->code == after.error->code ? answer_change::equal : answer_change::error};
  if (before.error || after.error) return {.change = answer_change::error, .overlap = 0, .rbo = 0};
  if (comparable_text(before) == comparable_text(after)) return {};
  const std::vector<row_id> was = candidate_ids(before);
  const std::vector<row_id> is = candidate_ids(after);
  return {
      .change = measure_change(was, is), .overlap = overlap_at(was, is, depth), .rbo = rank_biased_overlap(was, is)};
}

auto overlap_at(std::span<const row_id> before, std::span<const row_id> after, std::size_t depth) -> double {
  before = before.first(std::min(depth, before.size()));
  after = after.first(std::min(depth, after.size()));
  const std::size_t longer = std::max(before.size(), after.size());
  if (longer == 0) return 1;
  common_ids all;
  for (const row_id& id : before) all.add_before(id);
  for (const row_id& id : after) all.add_after(id);
  return all.count() / static_cast<double>(longer);
}

auto rank_biased_overlap(std::span<const row_id> before, std::span<const row_id> after, double p) -> double {
  const std::size_t longer = std::max(before.size(), after.size());
  if (std::ranges::equal(before, after)) return 1;
  common_ids all;
  double sum = 0;
  double weight = 1;  // p to the power of the depth
  for (std::size_t at = 0; at < longer; ++at) {
    if (at < before.size()) all.add_before(before[at]);
    if (at < after.size()) all.add_after(after[at]);
    weight *= p;
    sum += all.count() / static_cast<double>(at + 1) * weight;
  }
  return std::min(1.0, (1 - p) / p * sum + all.count() / static_cast<double>(longer) * weight);
}

}  // namespace rankd
