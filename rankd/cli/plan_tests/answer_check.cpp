// rankd/cli/plan_tests/answer_check.cpp: checks an answer against each kind of expectation.
#include <rankd/cli/plan_tests/answer_check.hpp>

#include <rankd/cli/output/report.hpp>
#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/arena.hpp>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace rankd {
namespace {

using ids_type = std::vector<row_id>;

auto list_ids(const ranking& answer) -> ids_type {
  ids_type out;
  for (std::size_t at = 0; at < answer.rows.size(); ++at) out.push_back(answer.rows.table().id(answer.rows.row(at)));
  return out;
}

/// Returns each id that occurs less often in `there` than in `wanted`, without repetitions.
auto lacking(const ids_type& wanted, const ids_type& there) -> ids_type {
  ids_type out;
  for (const row_id& id : wanted)
    if (std::ranges::count(wanted, id) > std::ranges::count(there, id) && std::ranges::find(out, id) == out.end())
      out.push_back(id);
  return out;
}

auto listed(const ids_type& ids) -> std::string {
  std::string out;
  for (const row_id& id : ids) out += (out.empty() ? "" : ", ") + to_text(id);
  return out;
}

class answer_checker {
 public:
  answer_checker(const plan_test& test, const ranking& answer) : test_(test), answer_(answer), ids_(list_ids(answer)) {}

  auto operator()(const id_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const count_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const spread_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const row_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const order_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const error_expectation& expectation) const -> std::optional<mismatch>;
  auto operator()(const degraded_expectation& expectation) const -> std::optional<mismatch>;

 private:
  [[nodiscard]] auto sequence_difference(const id_expectation& expectation) const -> std::optional<mismatch>;
  [[nodiscard]] auto ordered(const id_expectation& expectation) const -> std::optional<mismatch>;
  [[nodiscard]] auto counted_rows() const -> std::string { return counted(ids_.size(), "row"); }
  [[nodiscard]] auto find_column(std::uint32_t key_id) const -> std::optional<column>;
  [[nodiscard]] auto value_text(std::uint32_t key_id, std::size_t position) const -> std::string;
  [[nodiscard]] auto row_text(std::size_t position) const -> std::string {
    return "row " + std::to_string(position + 1) + " (id " + to_text(ids_[position]) + ")";
  }
  [[nodiscard]] auto failure(std::string message, std::optional<std::size_t> position = {}) const -> mismatch {
    return {.kind = {},
            .place = {},
            .message = std::move(message),
            .expected = {},
            .got = {},
            .position = position,
            .missing = {},
            .fates = {}};
  }
  [[nodiscard]] auto id_failure(const id_expectation& expectation, std::string message,
                                std::optional<std::size_t> position = {}) const -> mismatch {
    mismatch out = failure(std::move(message), position);
    out.expected = expectation.ids;
    out.got = ids_;
    return out;
  }

  const plan_test& test_;
  const ranking& answer_;
  ids_type ids_;
};

auto answer_checker::find_column(std::uint32_t key_id) const -> std::optional<column> {
  return answer_.rows.table().find(key_id);
}

/// Returns a value of a row in the form in which answers show it. The id is handled separately, because it is not
/// stored in a column.
auto answer_checker::value_text(std::uint32_t key_id, std::size_t position) const -> std::string {
  if (key_id == registries::id_key) return to_text(ids_[position]);
  const auto values = find_column(key_id);
  const std::uint32_t row = answer_.rows.row(position);
  if (!values || values->is_null(row)) return "null";
  std::string out;
  detail::append_value(out, *values, row);
  return out;
}

/// Returns the first position at which the ids differ from the expected ids.
auto answer_checker::sequence_difference(const id_expectation& expectation) const -> std::optional<mismatch> {
  const bool whole = expectation.rule == id_rule::exactly;
  for (std::size_t at = 0; at < expectation.ids.size() || (whole && at < ids_.size()); ++at) {
    if (at < expectation.ids.size() && at < ids_.size() && expectation.ids[at] == ids_[at]) continue;
    std::string message = "position " + std::to_string(at + 1) + ": ";
    if (at >= expectation.ids.size())
      message += "the answer continues with " + to_text(ids_[at]) + ", but no further id is expected";
    else if (at >= ids_.size())
      message += to_text(expectation.ids[at]) + " is expected, but the answer ends after " + counted_rows();
    else
      message += to_text(expectation.ids[at]) + " is expected, but the answer has " + to_text(ids_[at]);
    return id_failure(expectation, std::move(message), at + 1);
  }
  return std::nullopt;
}

auto answer_checker::ordered(const id_expectation& expectation) const -> std::optional<mismatch> {
  auto from = ids_.begin();
  for (std::size_t at = 0; at < expectation.ids.size(); ++at) {
    const auto found = std::find(from, ids_.end(), expectation.ids[at]);
    if (found == ids_.end()) {
      const bool is_there = std::ranges::find(ids_, expectation.ids[at]) != ids_.end();
      const std::string before = at == 0 ? "" : " after " + to_text(expectation.ids[at - 1]);
      return id_failure(expectation, is_there ? to_text(expectation.ids[at]) + " does not occur" + before
                                              : to_text(expectation.ids[at]) + " is not in the answer");
    }
    from = found + 1;
  }
  return std::nullopt;
}

auto answer_checker::operator()(const id_expectation& expectation) const -> std::optional<mismatch> {
  std::optional<mismatch> out;
  const ids_type missing = expectation.rule == id_rule::excludes ? ids_type() : lacking(expectation.ids, ids_);
  switch (expectation.rule) {
    case id_rule::exactly:
    case id_rule::first: out = sequence_difference(expectation); break;
    case id_rule::in_order: out = ordered(expectation); break;
    case id_rule::any_order:
      if (const ids_type extra = lacking(ids_, expectation.ids); !missing.empty() || !extra.empty())
        out = id_failure(expectation, (missing.empty() ? "" : "expected, but missing: " + listed(missing)) +
                                          (missing.empty() || extra.empty() ? "" : "; ") +
                                          (extra.empty() ? "" : "not expected, but present: " + listed(extra)));
      break;
    case id_rule::contains:
      if (!missing.empty()) out = id_failure(expectation, "expected, but missing: " + listed(missing));
      break;
    case id_rule::excludes:
      for (std::size_t at = 0; at < ids_.size() && !out; ++at)
        if (std::ranges::find(expectation.ids, ids_[at]) != expectation.ids.end())
          out = id_failure(
              expectation,
              to_text(ids_[at]) + " is at position " + std::to_string(at + 1) + ", but must not be in the answer",
              at + 1);
      break;
  }
  if (out) out->missing = missing;
  return out;
}

auto answer_checker::operator()(const count_expectation& expectation) const -> std::optional<mismatch> {
  if (ids_.size() >= expectation.min && ids_.size() <= expectation.max) return std::nullopt;
  const std::string wanted = expectation.min == expectation.max ? std::to_string(expectation.min)
                             : expectation.max == std::numeric_limits<std::int64_t>::max()
                                 ? "at least " + std::to_string(expectation.min)
                                 : std::to_string(expectation.min) + " to " + std::to_string(expectation.max);
  mismatch out = failure("the answer has " + counted_rows() + ", but " + wanted + " are expected");
  out.got = ids_;
  return out;
}

auto answer_checker::operator()(const spread_expectation& expectation) const -> std::optional<mismatch> {
  std::map<std::string, std::deque<std::size_t>, std::less<>> recent;  // the positions of a value, in the window
  for (std::size_t at = 0; at < ids_.size(); ++at) {
    const std::string value = value_text(expectation.key->key_id, at);
    if (value == "null") continue;
    std::deque<std::size_t>& positions = recent[value];
    positions.push_back(at);
    while (expectation.window && at - positions.front() >= *expectation.window) positions.pop_front();
    if (positions.size() <= expectation.count) continue;
    std::string all;
    for (const std::size_t each : positions) all += (all.empty() ? "" : ", ") + row_text(each);
    return failure("at most " + counted(expectation.count, "row") +
                       (expectation.window ? " of " + std::to_string(*expectation.window) + " in sequence" : "") +
                       " may have " + expectation.key->name + " " + value + ", and these have: " + all,
                   at + 1);
  }
  return std::nullopt;
}

auto answer_checker::operator()(const row_expectation& expectation) const -> std::optional<mismatch> {
  braid::arena memory;
  const auto holds = evaluate(expectation.test, answer_.rows, test_.request.params, memory);
  if (!holds) return failure("the predicate `" + expectation.text + "` cannot be evaluated: " + holds.error().message);
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t at = 0; at < ids_.size(); ++at)
    if ((*holds)[at] != expectation.holds && wrong++ == 0) first = at;
  if (wrong == 0) return std::nullopt;
  std::string values;
  for (const std::uint32_t key : expectation.test.reads()) {
    const auto shown = std::ranges::find(answer_.fields, key, [](const key_entry* each) { return each->key_id; });
    if (key == registries::id_key || shown == answer_.fields.end()) continue;
    values += (values.empty() ? ": " : ", ") + (*shown)->name + " is " + value_text(key, first);
  }
  return failure("`" + expectation.text + "` " + (expectation.holds ? "does not hold for " : "holds for ") +
                     std::to_string(wrong) + " of " + counted_rows() + ", first for " + row_text(first) + values,
                 first + 1);
}

/// Returns whether row `after` may follow row `before` in rows sorted by this column.
auto in_order(const column& values, std::uint32_t before, std::uint32_t after, sort_direction direction) -> bool {
  if (values.is_null(after)) return true;
  if (values.is_null(before)) return false;
  const std::uint32_t low = direction == sort_direction::ascending ? before : after;
  const std::uint32_t high = direction == sort_direction::ascending ? after : before;
  if (const auto* text = values.strings()) return (*text)[low] <= (*text)[high];
  if (const auto* flags = values.booleans()) return static_cast<int>((*flags)[low]) <= static_cast<int>((*flags)[high]);
  if (const auto* whole = values.integers()) return (*whole)[low] <= (*whole)[high];
  return (*values.floats())[low] <= (*values.floats())[high];
}

auto answer_checker::operator()(const order_expectation& expectation) const -> std::optional<mismatch> {
  const bool by_id = expectation.key->key_id == registries::id_key;
  const auto values = find_column(expectation.key->key_id);
  for (std::size_t at = 1; at < ids_.size() && (by_id || values); ++at) {
    const bool ascends = expectation.direction == sort_direction::ascending;
    const bool fine = by_id ? (ascends ? ids_[at - 1] <= ids_[at] : ids_[at - 1] >= ids_[at])
                            : in_order(*values, answer_.rows.row(at - 1), answer_.rows.row(at), expectation.direction);
    if (fine) continue;
    return failure("the rows are not in " + std::string(ascends ? "ascending" : "descending") + " order of " +
                       expectation.key->name + ": " + row_text(at) + " with " +
                       value_text(expectation.key->key_id, at) + " comes after " + row_text(at - 1) + " with " +
                       value_text(expectation.key->key_id, at - 1),
                   at + 1);
  }
  return std::nullopt;
}

/// Returns the code and the message of an error. The message contains the name of the node.
auto error_text(const rank_error& error) -> std::string { return error.code + ": " + error.message; }

auto answer_checker::operator()(const error_expectation& expectation) const -> std::optional<mismatch> {
  const std::string wanted = expectation.code + (expectation.node.empty() ? "" : " at " + quote_name(expectation.node));
  if (!answer_.error) return failure(wanted + " is expected, but the request returns " + counted_rows());
  if (answer_.error->code == expectation.code && (expectation.node.empty() || answer_.error->node == expectation.node))
    return std::nullopt;
  return failure(wanted + " is expected, but the request fails with " + error_text(*answer_.error));
}

auto answer_checker::operator()(const degraded_expectation& expectation) const -> std::optional<mismatch> {
  std::vector<std::string> names;
  std::string got;
  for (const degradation& each : answer_.degraded) {
    names.push_back(each.node.empty() ? each.plan : each.node);
    got.append(got.empty() ? "" : ", ").append(names.back()).append(" by " + each.code);
  }
  if (names == expectation.names) return std::nullopt;
  std::string wanted;
  for (const std::string& name : expectation.names) wanted.append(wanted.empty() ? "" : ", ").append(name);
  return failure("a fallback is expected for " + (wanted.empty() ? "nothing" : wanted) + ", but was used for " +
                 (got.empty() ? "nothing" : got));
}

}  // namespace

auto find_mismatches(const plan_test& test, const ranking& answer) -> std::vector<mismatch> {
  std::vector<mismatch> out;
  const answer_checker check(test, answer);
  for (const expectation& each : test.expected) {
    std::optional<mismatch> found;
    if (answer.error && !std::holds_alternative<error_expectation>(each.what)) {
      found.emplace().message = "the request fails with " + error_text(*answer.error);
    } else {
      found = std::visit(check, each.what);
    }
    if (!found) continue;
    found->kind = each.kind;
    found->place = each.place;
    out.push_back(std::move(*found));
    if (answer.error) break;  // once is enough
  }
  return out;
}

}  // namespace rankd
