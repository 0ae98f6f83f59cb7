// rankd/engine/explain/moved_ids.cpp: finds the ids that moved between two answers, and the first node at which the two
// plans treated each id differently.
#include <rankd/engine/explain/moved_ids.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/detail/explain.hpp>
#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/plan/node_fields.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace rankd {
namespace {

constexpr std::size_t max_values = 3;  // of a row in one sentence
constexpr std::string_view in_first = "first";
constexpr std::string_view in_second = "second";

auto first_positions(const ranking& answer) -> std::unordered_map<row_id, std::size_t> {
  std::unordered_map<row_id, std::size_t> out;
  std::size_t position = 0;
  for (row_id& id : candidate_ids(answer)) out.try_emplace(std::move(id), ++position);
  return out;
}

/// Finds a longest ascending subsequence of distinct numbers, and marks all numbers outside of this subsequence.
auto out_of_order(const std::vector<std::size_t>& numbers) -> std::vector<bool> {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> ends;  // for each length, the sequence with the lowest end, as places in `numbers`
  std::vector<std::size_t> before(numbers.size(), none);
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const auto length = std::ranges::lower_bound(ends, numbers[at], {}, [&](std::size_t end) { return numbers[end]; });
    if (length != ends.begin()) before[at] = *(length - 1);
    if (length == ends.end())
      ends.push_back(at);
    else
      *length = at;
  }
  std::vector<bool> out(numbers.size(), true);
  for (std::size_t at = ends.empty() ? none : ends.back(); at != none; at = before[at]) out[at] = false;
  return out;
}

auto find_top(const moved_id& id) -> std::size_t {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  return std::min(id.was.value_or(none), id.is.value_or(none));
}

auto value_text(const batch& table, std::uint32_t row, std::uint32_t key_id) -> std::string {
  const auto values = table.find(key_id);
  std::string out;
  if (!values || values->is_null(row)) return "null";
  detail::append_value(out, *values, row);
  return out;
}

/// Returns the row of the first candidate that has this id.
auto find_row(const ranking& answer, const row_id& id) -> std::optional<std::uint32_t> {
  std::optional<std::uint32_t> out;
  if (answer.error) return out;
  answer.rows.for_each_row([&](std::uint32_t row) {
    if (!out && answer.rows.table().id(row) == id) out = row;
  });
  return out;
}

/// Returns whether a formula contains the name of a key as a whole word.
auto names_key(std::string_view formula, const std::string& key) -> bool {
  const std::string name = "Key." + key;
  for (std::size_t at = formula.find(name); at != std::string_view::npos; at = formula.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end == formula.size() || (std::isalnum(static_cast<unsigned char>(formula[end])) == 0 && formula[end] != '_'))
      return true;
  }
  return false;
}

auto find_fate(const ranking& answer, const row_id& id) -> const id_fate* {
  if (answer.explained == nullptr) return nullptr;
  const auto found = std::ranges::find(answer.explained->ids, id, &id_fate::id);
  return found == answer.explained->ids.end() ? nullptr : &*found;
}

auto in_ticks(std::string_view name) -> std::string { return "`" + std::string(name) + "`"; }

auto describe_drop(const id_drop& drop) -> std::string {
  switch (drop.reason) {
    case drop_reason::count:
      return drop.position == 0 ? ", because enough rows precede it" : ", at position " + std::to_string(drop.position);
    case drop_reason::duplicate: return ", because another row has the same value";
    case drop_reason::match: return ", because of the matching rows of the other input";
    case drop_reason::diversity: return ", because of the rows ranked above it";
    case drop_reason::merged: return ", which keeps other input rows";
    case drop_reason::replaced: return ", which returns rows of its own";
    case drop_reason::not_done: return ", which had not finished";
    case drop_reason::predicate:
    case drop_reason::other: break;
  }
  return "";
}

}  // namespace

auto moves_between(const ranking& before, const ranking& after, std::size_t& all) -> std::vector<moved_id> {
  const auto was = first_positions(before);
  const auto is = first_positions(after);
  std::vector<moved_id> alone;
  std::vector<moved_id> both;
  for (const auto& [id, position] : was) {
    const auto other = is.find(id);
    if (other == is.end())
      alone.push_back({.id = id, .was = position, .is = {}, .node = {}, .why = {}});
    else
      both.push_back({.id = id, .was = position, .is = other->second, .node = {}, .why = {}});
  }
  for (const auto& [id, position] : is)
    if (!was.contains(id)) alone.push_back({.id = id, .was = {}, .is = position, .node = {}, .why = {}});
  std::ranges::sort(alone, {}, [](const moved_id& each) { return std::tuple(find_top(each), each.is.has_value()); });
  std::ranges::sort(both, {}, [](const moved_id& each) { return *each.was; });
  std::vector<std::size_t> numbers;
  for (const moved_id& each : both) numbers.push_back(*each.is);
  const std::vector<bool> moved = out_of_order(numbers);
  std::vector<moved_id> out = std::move(alone);
  const auto others = static_cast<std::ptrdiff_t>(out.size());
  for (std::size_t at = 0; at < both.size(); ++at)
    if (moved[at]) out.push_back(std::move(both[at]));
  std::ranges::sort(out.begin() + others, out.end(), {}, [](const moved_id& each) { return find_top(each); });
  all = out.size();
  if (out.size() > max_explained_ids) out.resize(max_explained_ids);
  return out;
}

/// The effect that a node of one plan has on an id.
struct move_explainer::event {
  bool gave = false;
  const id_drop* drop = nullptr;

  [[nodiscard]] auto dropped() const -> std::size_t { return drop == nullptr ? 0 : drop->rows; }
};

/// A node at which two plans treated an id differently.
struct move_explainer::fork {
  stage at;
  event was;
  event is;
};

move_explainer::move_explainer(const bound_plan& before, const bound_plan& after, const registries& declared)
    : before_(before.stated.get()), after_(after.stated.get()), declared_(&declared) {
  const plan_side one{*before_, declared};
  const plan_side other{*after_, declared};
  changes_ = differences(one, other);
  order_stages(match_nodes(one, other));
}

/// Lists the nodes of both plans in the order of the second plan. A node that exists only in the first plan is listed
/// after the last of its sources.
void move_explainer::order_stages(const std::vector<std::optional<node_index>>& matched) {
  using place = std::pair<std::size_t, std::size_t>;
  std::vector<std::pair<place, stage>> all;
  std::vector<std::size_t> in_after(after_->nodes.size());
  for (std::size_t at = 0; at < after_->order.size(); ++at) in_after[after_->order[at]] = at + 1;
  std::vector<bool> is_matched(after_->nodes.size());
  std::vector<std::size_t> in_both(before_->nodes.size());
  for (std::size_t at = 0; at < before_->order.size(); ++at) {
    const node_index node = before_->order[at];
    if (const auto other = matched[node]) {
      is_matched[*other] = true;
      in_both[node] = in_after[*other];
      all.push_back({{in_both[node], 0}, {.before = node, .after = other}});
      continue;
    }
    for (const node_index source : before_->nodes[node].sources)
      in_both[node] = std::max(in_both[node], in_both[source]);
    all.push_back({{in_both[node], at + 1}, {.before = node, .after = {}}});
  }
  for (node_index node = 0; node < after_->nodes.size(); ++node)
    if (!is_matched[node]) all.push_back({{in_after[node], 0}, {.before = {}, .after = node}});
  std::ranges::sort(all, {}, [](const auto& each) { return each.first; });
  for (auto& [where, each] : all) stages_.push_back(each);
}

auto move_explainer::find_fork(const id_fate& was, const id_fate& is) const -> std::optional<fork> {
  const auto find_event = [](const id_fate& fate, const plan& plan, std::optional<node_index> node) {
    event out;
    if (!node) return out;
    const std::string& id = plan.nodes[*node].node_id;
    out.gave = std::ranges::find(fate.produced_by, id) != fate.produced_by.end();
    const auto drop = std::ranges::find(fate.drops, id, &id_drop::node_id);
    if (drop != fate.drops.end()) out.drop = &*drop;
    return out;
  };
  for (const stage& each : stages_) {
    const fork out{
        .at = each, .was = find_event(was, *before_, each.before), .is = find_event(is, *after_, each.after)};
    if (out.was.gave != out.is.gave || out.was.dropped() != out.is.dropped()) return out;
  }
  return std::nullopt;
}

void move_explainer::explain(std::vector<moved_id>& moves, const ranking& before, const ranking& after) const {
  for (moved_id& each : moves) {
    const id_fate* const was = find_fate(before, each.id);
    const id_fate* const is = find_fate(after, each.id);
    if (before.error || after.error) {
      const ranking& failed = after.error ? after : before;
      each.node = failed.error->node;
      each.why = after.error ? "the second plan fails with " : "the first plan fails with ";
      each.why += in_ticks(failed.error->code);
      if (!each.node.empty()) each.why += " at " + in_ticks(each.node);
      continue;
    }
    const auto at = was == nullptr || is == nullptr ? std::nullopt : find_fork(*was, *is);
    if (!at) {
      each.why = other_values(each, before, after);
      continue;
    }
    each.node = at->at.after ? after_->nodes[*at->at.after].node_id : before_->nodes[*at->at.before].node_id;
    each.why = sentence(*at, before, after);
  }
}

auto move_explainer::sentence(const fork& difference, const ranking& before, const ranking& after) const
    -> std::string {
  const std::string name = in_ticks(difference.at.after ? after_->nodes[*difference.at.after].node_id
                                                        : before_->nodes[*difference.at.before].node_id);
  if (difference.is.gave && !difference.was.gave) return name + " now returns it" + changes_at(difference.at);
  if (difference.was.gave && !difference.is.gave) return name + " no longer returns it" + changes_at(difference.at);
  if (difference.is.dropped() > difference.was.dropped())
    return "dropped at " + name + dropped(difference, before, in_first);
  return "no longer dropped at " + name + dropped(difference, after, in_second);
}

/// Explains why a node drops a row. Describes the values of the row in this answer and in the other answer, and how the
/// two plans differ in this node.
auto move_explainer::dropped(const fork& difference, const ranking& other, std::string_view kind) const -> std::string {
  const bool is_now = difference.is.dropped() > difference.was.dropped();
  const id_drop& drop = is_now ? *difference.is.drop : *difference.was.drop;
  const plan& of = is_now ? *after_ : *before_;
  const node_index node = is_now ? *difference.at.after : *difference.at.before;
  const std::vector<std::string> formulas = formulas_at(of, node);
  std::string out = describe_drop(drop);
  const row_id id = drop.input.table().id(drop.row);
  const auto row = find_row(other, id);
  std::size_t shown = 0;
  for (const key_entry* key : drop.fields) {
    const bool is_named = std::ranges::any_of(formulas, [&](const auto& text) { return names_key(text, key->name); });
    const std::string value = value_text(drop.input.table(), drop.row, key->key_id);
    const std::string there = row ? value_text(other.rows.table(), *row, key->key_id) : value;
    if ((!is_named && (!formulas.empty() || there == value)) || shown == max_values) continue;
    ++shown;
    out.append(", ").append(key->name).append(" ").append(value);
    if (there != value) out.append(" (").append(there).append(" in the ").append(kind).append(" answer)");
  }
  const std::string changes = changes_at(difference.at);
  if (!changes.empty()) return out + changes;
  for (const std::string& each : formulas) out += ", " + in_ticks(each);
  return out;
}

/// Returns the second half of a sentence that says how the two plans differ in a node.
auto move_explainer::changes_at(const stage& step) const -> std::string {
  if (!step.after) return ", which is removed";
  if (!step.before) return ", which is added";
  const std::string& id = after_->nodes[*step.after].node_id;
  std::string out;
  for (const plan_change& each : changes_) {
    if (each.node != id || (each.kind != change_kind::changed && each.kind != change_kind::moved)) continue;
    const std::string before = each.before.value_or("nothing");
    const std::string after = each.after.value_or("nothing");
    const bool is_formula = each.field == "pred" || each.field == "expr";
    out += is_formula ? ", " + in_ticks(after) + " was " + in_ticks(before)
                      : ", " + each.field + " " + after + " was " + before;
  }
  return out;
}

auto move_explainer::formulas_at(const plan& plan, node_index node) const -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const node_field& each : list_fields(plan.nodes[node], plan, *declared_))
    if (each.kind == param_kind::pred_id || each.kind == param_kind::expr_id || each.kind == param_kind::key_id)
      out.push_back(each.text);
  return out;
}

/// Describes the differences between the values of a row in two answers, including columns that the request does not
/// output.
auto move_explainer::other_values(const moved_id& id, const ranking& before, const ranking& after) const
    -> std::string {
  const auto was = find_row(before, id.id);
  const auto is = find_row(after, id.id);
  std::string out;
  std::size_t shown = 0;
  if (was && is)
    for (const key_entry* key : shown_fields(after.rows.table(), *declared_)) {
      const std::string old = value_text(before.rows.table(), *was, key->key_id);
      const std::string now = value_text(after.rows.table(), *is, key->key_id);
      if (old == now || shown++ == max_values) continue;
      out.append(out.empty() ? "" : ", ").append(key->name).append(" ").append(now).append(" was ").append(old);
    }
  return out.empty() ? "the values of this id are the same, but other ids moved past it" : out;
}

void append_moves(std::string& out, const std::vector<moved_id>& moves, move_parts parts) {
  append_json_list(out, moves, [parts](std::string& to, const moved_id& each) {
    const auto append_place = [&to](std::string_view name, std::optional<std::size_t> place) {
      append_json_name(to, name);
      to += place ? std::to_string(*place) : "null";
    };
    to += '{';
    append_json_name(to, "id");
    append_json_id(to, each.id);
    append_place("was", each.was);
    append_place("is", each.is);
    if (parts == move_parts::all) {
      append_json_or_null(to, "node", each.node.empty() ? std::nullopt : std::optional(each.node));
      append_json_member(to, "why", each.why);
    }
    to += '}';
  });
}

}  // namespace rankd
