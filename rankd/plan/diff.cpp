// rankd/plan/diff.cpp: matches nodes of two plans by id, by content hash and by neighbours, and compares matched nodes.
#include <rankd/plan/diff.hpp>

#include <rankd/plan/node_fields.hpp>
#include <rankd/registry/digest.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rankd {
namespace {

using maybe_node = std::optional<node_index>;

/// Returns the extensions as text, sorted by capability.
auto extensions_text(std::span<const plan_extension> all) -> std::string {
  std::string out;
  for (const plan_extension& each : all) out += each.capability + " " + each.payload + "\n";
  return out;
}

auto fallback_text(const std::optional<plan_fallback>& fallback) -> std::optional<std::string> {
  if (!fallback) return std::nullopt;
  std::string out = fallback->plan;
  std::string_view before = " on ";
  for (const std::string& pattern : fallback->on) out.append(std::exchange(before, ", ")).append(pattern);
  return out + ", reserve_ms " + std::to_string(fallback->reserve_ms);
}

/// An index of one of the two plans, used to match nodes.
struct side_index {
  explicit side_index(plan_side from) : side(from) {
    const std::size_t count = from.of.nodes.size();
    users.resize(count);
    own.resize(count);
    content.resize(count);
    for (node_index at = 0; at < count; ++at) {
      const plan_node& node = from.of.nodes[at];
      by_id.emplace(node.node_id, at);
      for (const node_index source : node.sources) users[source].push_back(at);
      own[at] = own_text(node);
    }
    for (const node_index at : from.of.order) {
      std::string text = own[at];
      for (const node_index source : from.of.nodes[at].sources) text += content[source];
      content[at] = sha256_hex(text);
    }
  }

  /// Returns the operator and the params of a node as text, each on its own line. References to other nodes are left
  /// out.
  [[nodiscard]] auto own_text(const plan_node& node) const -> std::string {
    std::string text = node.op + "\n";
    for (const node_field& field : list_fields(node, side.of, side.declared))
      if (field.kind != param_kind::node_ref) text += field.name + " " + field.text + "\n";
    return text + extensions_text(node.extensions);
  }

  plan_side side;
  std::unordered_map<std::string_view, node_index> by_id;
  std::vector<std::vector<node_index>> users;
  std::vector<std::string> own;
  std::vector<std::string> content;  ///< hashes of `own` and of the content of all sources
};

/// Pairs the nodes of two plans step by step. Once two nodes are paired, they stay paired.
class matcher {
 public:
  matcher(const side_index& before, const side_index& after)
      : before_(&before), after_(&after), later_(before.own.size()), earlier_(after.own.size()) {}

  auto run() && -> std::vector<maybe_node> {
    by_id();
    by_content();
    while (by_neighbours()) {}
    return std::move(later_);
  }

 private:
  void pair(node_index before, node_index after) {
    later_[before] = after;
    earlier_[after] = before;
  }

  [[nodiscard]] auto find_op_name(const side_index& side, node_index node) const -> const std::string& {
    return side.side.of.nodes[node].op;
  }

  void by_id() {
    for (node_index at = 0; at < later_.size(); ++at) {
      const auto same = after_->by_id.find(before_->side.of.nodes[at].node_id);
      if (same != after_->by_id.end() && find_op_name(*before_, at) == find_op_name(*after_, same->second))
        pair(at, same->second);
    }
  }

  void by_content() {
    std::unordered_map<std::string_view, std::vector<node_index>> open;
    for (auto at = static_cast<node_index>(earlier_.size()); at-- > 0;)
      if (!earlier_[at]) open[after_->content[at]].push_back(at);
    for (node_index at = 0; at < later_.size(); ++at) {
      if (later_[at]) continue;
      const auto same = open.find(before_->content[at]);
      if (same == open.end() || same->second.empty()) continue;
      pair(at, same->second.back());
      same->second.pop_back();
    }
  }

  /// A node of the second plan that may correspond to a node of the first.
  struct candidate {
    bool equal_params = false;
    std::size_t common = 0;  ///< matched neighbours
    node_index at = 0;
  };

  /// Pairs nodes by their neighbours. The nodes with the most common neighbours are paired first, so that a pair with
  /// few common neighbours never prevents a pair with many.
  auto by_neighbours() -> bool {
    constexpr std::size_t many = 4;
    bool found = false;
    for (const bool equal_params : {true, false})
      for (std::size_t least = many; least > 0; --least)
        for (node_index at = 0; at < later_.size(); ++at) {
          if (later_[at]) continue;
          const auto best = best_for(at, equal_params);
          if (!best || best->common < least) continue;
          pair(at, best->at);
          found = true;
        }
    return found;
  }

  [[nodiscard]] auto best_for(node_index node, bool equal_params) const -> std::optional<candidate> {
    std::map<node_index, std::size_t> common;
    for (const node_index source : before_->side.of.nodes[node].sources)
      if (later_[source]) count(after_->users[*later_[source]], node, common);
    for (const node_index user : before_->users[node])
      if (later_[user]) count(after_->side.of.nodes[*later_[user]].sources, node, common);
    for (std::size_t place = 0; place < std::min(before_outputs().size(), after_outputs().size()); ++place)
      if (before_outputs()[place] == node) count(after_outputs().subspan(place, 1), node, common);
    std::optional<candidate> best;
    for (const auto& [other, number] : common) {
      const candidate one{before_->own[node] == after_->own[other], number, other};
      if (equal_params && !one.equal_params) continue;
      if (!best || one.common > best->common) best = one;
    }
    return best;
  }

  [[nodiscard]] auto before_outputs() const -> std::span<const node_index> { return before_->side.of.outputs; }
  [[nodiscard]] auto after_outputs() const -> std::span<const node_index> { return after_->side.of.outputs; }

  void count(std::span<const node_index> others, node_index node, std::map<node_index, std::size_t>& common) const {
    for (const node_index other : others)
      if (!earlier_[other] && find_op_name(*before_, node) == find_op_name(*after_, other)) ++common[other];
  }

  const side_index* before_;
  const side_index* after_;
  std::vector<maybe_node> later_;
  std::vector<maybe_node> earlier_;
};

/// Compares nodes that were matched.
class comparison_of_plans {
 public:
  comparison_of_plans(plan_side before, plan_side after) : before_(before), after_(after) {
    later_ = match_nodes(before, after);
    earlier_.resize(after.of.nodes.size());
    for (node_index at = 0; at < later_.size(); ++at)
      if (later_[at]) earlier_[*later_[at]] = at;
  }

  auto run() && -> std::vector<plan_change> {
    for (node_index at = 0; at < later_.size(); ++at)
      if (!later_[at]) only(change_kind::removed, before_, at);
    for (node_index at = 0; at < earlier_.size(); ++at)
      if (earlier_[at])
        pair(before_.of.nodes[*earlier_[at]], after_.of.nodes[at]);
      else
        only(change_kind::added, after_, at);
    whole_plans();
    return std::move(changes_);
  }

 private:
  using text = std::optional<std::string>;

  void only(change_kind kind, plan_side side, node_index index) {
    const plan_node& node = side.of.nodes[index];
    std::string what = node.op;
    if (!node.inputs.empty()) what += ", inputs: " + list_ids(side, node.inputs);
    if (const std::string fields = to_text(list_fields(node, side.of, side.declared)); !fields.empty())
      what += ", " + fields;
    text before = kind == change_kind::removed ? text(what) : text();
    text after = kind == change_kind::added ? text(std::move(what)) : text();
    changes_.push_back({kind, node.node_id, {}, {}, std::move(before), std::move(after)});
  }

  void pair(const plan_node& was, const plan_node& is) {
    if (was.node_id != is.node_id)
      changes_.push_back({change_kind::renamed, is.node_id, was.node_id, {}, was.node_id, is.node_id});
    if (!are_same(was.inputs, is.inputs))
      add(change_kind::moved, was, is, "inputs", list_ids(before_, was.inputs), list_ids(after_, is.inputs));
    fields(was, is);
    compare(was, is, "trace", was.trace, is.trace);
    extensions(was.extensions, is.extensions, &was, &is);
  }

  /// Returns whether the nodes of two lists correspond to each other, in order.
  [[nodiscard]] auto are_same(std::span<const node_index> was, std::span<const node_index> is) const -> bool {
    return std::ranges::equal(was, is, [this](node_index one, node_index other) { return later_[one] == other; });
  }

  [[nodiscard]] static auto list_ids(plan_side side, std::span<const node_index> nodes) -> std::string {
    std::string out;
    for (const node_index at : nodes) out.append(out.empty() ? "" : ", ").append(side.of.nodes[at].node_id);
    return out;
  }

  /// Compares the params of two nodes, in the order of the operator's shape.
  void fields(const plan_node& was, const plan_node& is) {
    const auto old = list_fields(was, before_.of, before_.declared);
    const auto now = list_fields(is, after_.of, after_.declared);
    std::vector<std::string> names;
    for (const auto* const list : {&old, &now})
      for (const node_field& field : *list)
        if (std::ranges::find(names, field.name) == names.end()) names.push_back(field.name);
    for (const std::string& name : names) {
      const plan_param* const one = was.find_param(name);
      const plan_param* const other = is.find_param(name);
      const bool edge = one != nullptr && other != nullptr && one->kind == param_kind::node_ref;
      if (edge && later_[one->index()] == other->index()) continue;
      const auto kind = edge ? change_kind::moved : change_kind::changed;
      const text before = find(old, name);
      const text after = find(now, name);
      if (edge || before != after) add(kind, was, is, name, before, after);
    }
  }

  static auto find(const std::vector<node_field>& fields, const std::string& name) -> text {
    const auto at = std::ranges::find(fields, name, &node_field::name);
    return at == fields.end() ? text() : text(at->text);
  }

  void compare(const plan_node& was, const plan_node& is, std::string_view field, const text& before,
               const text& after) {
    if (before != after) add(change_kind::changed, was, is, field, before, after);
  }

  void add(change_kind kind, const plan_node& was, const plan_node& is, std::string_view field, text before,
           text after) {
    changes_.push_back({kind, is.node_id, was.node_id == is.node_id ? "" : was.node_id, std::string(field),
                        std::move(before), std::move(after)});
  }

  /// Compares the extensions of two nodes, or the extensions of the two plans if the nodes are null.
  void extensions(std::span<const plan_extension> was, std::span<const plan_extension> is, const plan_node* old,
                  const plan_node* now) {
    std::map<std::string, std::pair<text, text>> payloads;
    for (const plan_extension& each : was) payloads[each.capability].first = each.payload;
    for (const plan_extension& each : is) payloads[each.capability].second = each.payload;
    for (const auto& [capability, both] : payloads) {
      if (both.first == both.second || (old == nullptr && capability == fragment_capability)) continue;
      if (old != nullptr)
        add(change_kind::changed, *old, *now, capability, both.first, both.second);
      else
        changes_.push_back({change_kind::changed, {}, {}, capability, both.first, both.second});
    }
  }

  void whole_plans() {
    if (!are_same(before_.of.outputs, after_.of.outputs))
      changes_.push_back({change_kind::changed,
                          {},
                          {},
                          "outputs",
                          list_ids(before_, before_.of.outputs),
                          list_ids(after_, after_.of.outputs)});
    const text was = fallback_text(before_.of.fallback);
    const text is = fallback_text(after_.of.fallback);
    if (was != is) changes_.push_back({change_kind::changed, {}, {}, "fallback_plan", was, is});
    fragments();
    extensions(before_.of.extensions, after_.of.extensions, nullptr, nullptr);
  }

  /// Compares the versions of fragments. Other changes of a fragment appear as changes of its nodes.
  void fragments() {
    std::map<std::string, std::pair<text, text>> uses;
    for (const fragment_use& use : before_.of.fragments) uses[use.id].first = make_title(use);
    for (const fragment_use& use : after_.of.fragments) uses[use.id].second = make_title(use);
    for (const auto& [id, both] : uses)
      if (both.first != both.second)
        changes_.push_back({change_kind::changed, {}, {}, "fragment " + id, both.first, both.second});
  }

  plan_side before_;
  plan_side after_;
  std::vector<maybe_node> later_;    // of each node of the first plan
  std::vector<maybe_node> earlier_;  // of each node of the second one
  std::vector<plan_change> changes_;
};

}  // namespace

auto to_string(change_kind kind) noexcept -> std::string_view {
  switch (kind) {
    case change_kind::added: return "added";
    case change_kind::removed: return "removed";
    case change_kind::renamed: return "renamed";
    case change_kind::moved: return "moved";
    case change_kind::changed: return "changed";
  }
  return "";
}

auto match_nodes(plan_side before, plan_side after) -> std::vector<std::optional<node_index>> {
  return matcher(side_index(before), side_index(after)).run();
}

auto differences(plan_side before, plan_side after) -> std::vector<plan_change> {
  return comparison_of_plans(before, after).run();
}

}  // namespace rankd
