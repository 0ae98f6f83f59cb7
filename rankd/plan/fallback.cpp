// rankd/plan/fallback.cpp: reads fallbacks, and adds their edges to the graph of a plan.
#include <rankd/plan/fallback.hpp>

#include <rankd/plan/detail/artifact.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 29> of_nodes{
    "bad_regex",        "duplicate_join_key", "missing_join_partner", "model_bad_answer",  "model_overloaded",
    "model_refused",    "model_timeout",      "model_unreachable",    "model_untrusted",   "node_timeout",
    "non_finite_value", "not_one_row",        "null_value",           "operator_failed",   "regex_pattern_null",
    "store_bad_reply",  "store_corrupt",      "store_error",          "store_not_open",    "store_not_ready",
    "store_overloaded", "store_timeout",      "store_unauthorized",   "store_unreachable", "store_untrusted",
    "store_wrong_type", "test_failure",       "too_few_rows",         "too_many_rows"};
static_assert(std::ranges::is_sorted(of_nodes));

constexpr std::array<std::string_view, 4> of_whole_plans{"deadline_exceeded", "memory_budget_exceeded",
                                                         "row_budget_exceeded", "time_budget_exceeded"};

constexpr std::array<std::string_view, 5> of_time{"deadline_exceeded", "model_timeout", "node_timeout", "store_timeout",
                                                  "time_budget_exceeded"};

constexpr auto make_all() {
  std::array<std::string_view, of_nodes.size() + of_whole_plans.size()> all{};
  std::ranges::merge(of_nodes, of_whole_plans, all.begin());
  return all;
}
constexpr auto of_plans = make_all();

}  // namespace

auto node_failure_codes() noexcept -> std::span<const std::string_view> { return of_nodes; }
auto plan_failure_codes() noexcept -> std::span<const std::string_view> { return of_plans; }

auto stands_for(std::string_view pattern, std::string_view code) noexcept -> bool {
  if (!pattern.ends_with('*')) return pattern == code;
  return code.starts_with(pattern.substr(0, pattern.size() - 1));
}

auto find_failure(const failure_patterns& patterns, std::string_view code,
                  std::span<const std::string_view> known) noexcept -> std::optional<std::string_view> {
  const auto found = std::ranges::lower_bound(known, code);
  if (found == known.end() || *found != code) return std::nullopt;
  const bool is_meant = std::ranges::any_of(patterns, [&](const auto& pattern) { return stands_for(pattern, code); });
  return is_meant ? std::optional(*found) : std::nullopt;
}

auto names_time(const failure_patterns& patterns) noexcept -> bool {
  return std::ranges::any_of(patterns, [](const std::string& pattern) {
    return std::ranges::any_of(of_time, [&](std::string_view code) { return stands_for(pattern, code); });
  });
}

namespace detail {
namespace {

void require_capability(const draft& draft, const std::string& pointer, braid::diagnostics& problems) {
  if (draft.known.capabilities.find(fallback_capability)) return;
  problems.add({.code = "capability_not_required",
                .pointer = pointer,
                .message = "`fallback` needs a capability that the plan does not list",
                .hint = "add " + quote_name(fallback_capability) + " to `capabilities_required`",
                .node = {},
                .source = {}});
}

/// Reports an error if a pattern does not match any failure code.
void check_pattern(const std::string& pattern, const std::string& pointer, std::span<const std::string_view> known,
                   braid::diagnostics& problems) {
  if (std::ranges::any_of(known, [&](std::string_view code) { return stands_for(pattern, code); })) return;
  problems.add({.code = "unknown_code",
                .pointer = pointer,
                .message = quote_name(pattern) + " matches no failure that can have a fallback",
                .hint = braid::did_you_mean(pattern, {known.begin(), known.end()}),
                .node = {},
                .source = {}});
}

auto read_patterns(object_reader& reader, std::span<const std::string_view> known, braid::diagnostics& problems)
    -> failure_patterns {
  failure_patterns out;
  const json* list = reader.array("on", presence::required);
  if (list == nullptr) return out;
  if (list->empty()) reader.report("on", "too_few_items", "`on` must list at least one item");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string pointer = braid::json_pointer(reader.pointer_of("on"), i);
    const json& item = (*list)[i];
    if (!item.is_string()) {
      problems.add({.code = "wrong_type",
                    .pointer = pointer,
                    .message = "an item must be the code of a failure, not " + described(item),
                    .hint = {},
                    .node = {},
                    .source = {}});
      continue;
    }
    const auto& pattern = item.get_ref<const std::string&>();
    if (std::ranges::find(out, pattern) == out.end())
      check_pattern(pattern, pointer, known, problems);
    else
      problems.add({.code = "duplicate_value",
                    .pointer = pointer,
                    .message = "the item is listed twice",
                    .hint = {},
                    .node = {},
                    .source = {}});
    out.push_back(pattern);
  }
  return out;
}

/// Reads the field `use` of a fallback, which is `"input"`, `"empty"`, or an object that names a node.
void read_use(object_reader& reader, const plan_node& node, draft& draft, node_fallback& out,
              braid::diagnostics& problems) {
  const json* use = reader.value("use", presence::required);
  if (use == nullptr) return;
  if (!use->is_object()) {
    static constexpr std::array<std::string_view, 2> choices{"input", "empty"};
    const auto chosen = reader.choice("use", presence::required, choices);
    if (!chosen) return;
    out.kind = *chosen == 0 ? fallback_kind::input : fallback_kind::empty;
    if (out.kind == fallback_kind::input && node.inputs.empty())
      reader.report("use", "bad_value", "the node has no input, so its fallback cannot use input rows",
                    "use another node, or `empty`");
    return;
  }
  object_reader own(*use, reader.pointer_of("use"), problems);
  out.kind = fallback_kind::node;
  if (const std::string* name = own.text("node", presence::required)) {
    if (const auto number = draft.known.nodes.find(*name))
      out.node = *number;
    else
      own.report("node", "unknown_node", "there is no node " + quote_name(*name), draft.known.nodes.hint(*name));
  }
  own.refuse_unknown_fields();
}

}  // namespace

auto read_fallback(object_reader& node, const plan_node& owner, draft& draft, braid::diagnostics& problems)
    -> std::optional<node_fallback> {
  const json* value = node.object("fallback", presence::optional);
  if (value == nullptr) return std::nullopt;
  node_fallback out;
  out.pointer = node.pointer_of("fallback");
  const std::size_t before = problems.size();
  object_reader in(*value, out.pointer, problems);
  out.on = read_patterns(in, node_failure_codes(), problems);
  read_use(in, owner, draft, out, problems);
  if (auto keys = read_key_list(in, "nulls", problems)) out.nulls = std::move(*keys);
  in.refuse_unknown_fields();
  if (problems.size() != before) return std::nullopt;
  require_capability(draft, out.pointer, problems);
  return out;
}

void read_plan_fallback(object_reader& top, draft& draft) {
  const json* value = top.object("fallback_plan", presence::optional);
  if (value == nullptr) return;
  plan_fallback out;
  out.pointer = top.pointer_of("fallback_plan");
  const std::size_t before = draft.problems.size();
  object_reader in(*value, out.pointer, draft.problems);
  if (const std::string* name = in.text("plan", presence::required)) {
    out.plan = *name;
    if (!is_plan_word(*name))
      in.report("plan", "bad_name", quote_name(*name) + " must consist of letters, digits and `_`");
    else if (*name == draft.out.plan_name)
      in.report("plan", "bad_value", "a plan cannot be its own fallback", "name another plan");
  }
  out.on = read_patterns(in, plan_failure_codes(), draft.problems);
  out.reserve_ms = in.integer("reserve_ms", presence::optional, {.min = 1, .max = max_reserve_ms}).value_or(0);
  in.refuse_unknown_fields();
  if (draft.problems.size() != before) return;
  require_capability(draft, out.pointer, draft.problems);
  draft.out.fallback = std::move(out);
}

namespace {

/// Adds the edges that fallbacks need. A node that reads the rows of another node also waits for that node's fallback
/// node. A node that only fallbacks need waits for the nodes whose failure starts it.
class fallback_edges {
 public:
  fallback_edges(std::vector<plan_node>& nodes, std::span<const node_index> outputs)
      : nodes_(nodes), is_live_(nodes.size(), false) {
    mark_live(outputs);
  }

  /// Adds all edges. Returns false if the plan has too many edges after that.
  auto add(std::size_t edges) -> bool {
    edges_ = edges;
    for (node_index at = 0; at < nodes_.size(); ++at)
      if (stands_in(at) && !wake(at)) return false;
    for (node_index at = 0; at < nodes_.size(); ++at)
      if (!wait_for_others(at)) return false;
    return true;
  }

 private:
  [[nodiscard]] auto stands_in(node_index node) const -> bool {
    return nodes_[node].fallback && nodes_[node].fallback->kind == fallback_kind::node;
  }

  void mark_live(std::span<const node_index> outputs) {
    std::vector<node_index> open(outputs.begin(), outputs.end());
    while (!open.empty()) {
      const node_index at = open.back();
      open.pop_back();
      if (is_live_[at]) continue;
      is_live_[at] = true;
      open.insert(open.end(), nodes_[at].sources.begin(), nodes_[at].sources.end());
    }
  }

  auto add_edge(node_index source, node_index to) -> bool {
    std::vector<node_index>& own = nodes_[to].after;
    if (std::ranges::find(own, source) != own.end()) return true;
    own.push_back(source);
    return ++edges_ <= max_plan_edges;
  }

  /// Marks the nodes that run only if `source` fails. These are the fallback node of `source`, and those sources of the
  /// fallback node that nothing else needs. Returns false if the plan has too many edges after that.
  auto wake(node_index source) -> bool {
    std::set<node_index> seen;
    std::vector<node_index> open{nodes_[source].fallback->node};
    while (!open.empty()) {
      const node_index at = open.back();
      open.pop_back();
      if (is_live_[at] || !seen.insert(at).second) continue;
      nodes_[at].wakers.push_back(source);
      const std::vector<node_index>& sources = nodes_[at].sources;
      open.insert(open.end(), sources.begin(), sources.end());
      // Every node that `source` may start gets an edge from `source`, so that the check for cycles covers all of these
      // nodes.
      if (!add_edge(source, at)) return false;
      if (++edges_ > max_plan_edges) return false;
    }
    return true;
  }

  auto wait_for_others(node_index node) -> bool {
    std::set<node_index> seen;  // substitutes that form a cycle are complained about elsewhere
    for (const node_index source : nodes_[node].sources) {
      for (node_index from = source; stands_in(from) && seen.insert(from).second;) {
        from = nodes_[from].fallback->node;
        if (!add_edge(from, node)) return false;
      }
    }
    return true;
  }

  std::vector<plan_node>& nodes_;
  std::vector<bool> is_live_;
  std::size_t edges_ = 0;
};

/// Reports nodes that are their own fallback, directly or through other fallbacks.
void check_chains(const std::vector<plan_node>& nodes, braid::diagnostics& problems) {
  std::vector<node_index> seen_from(nodes.size(), static_cast<node_index>(nodes.size()));
  for (node_index start = 0; start < nodes.size(); ++start) {
    node_index at = start;
    while (seen_from[at] == nodes.size() && nodes[at].fallback && nodes[at].fallback->kind == fallback_kind::node) {
      seen_from[at] = start;
      at = nodes[at].fallback->node;
    }
    if (seen_from[at] != start) continue;
    problems.add({.code = "cycle",
                  .pointer = braid::json_pointer(nodes[at].fallback->pointer, "use"),
                  .message = quote_name(nodes[at].node_id) + " is its own fallback",
                  .hint = {},
                  .node = nodes[at].node_id,
                  .source = {}});
  }
}

}  // namespace

void link_fallbacks(plan& plan, braid::diagnostics& problems) {
  if (std::ranges::none_of(plan.nodes, [](const plan_node& node) { return node.fallback.has_value(); })) return;
  check_chains(plan.nodes, problems);
  std::size_t edges = 0;
  for (const plan_node& node : plan.nodes) edges += node.sources.size();
  if (fallback_edges(plan.nodes, plan.outputs).add(edges)) return;
  problems.add({.code = "too_many_edges",
                .pointer = "/nodes",
                .message = "a plan may have at most " + std::to_string(max_plan_edges) +
                           " edges, including the edges that its fallbacks add",
                .hint = {},
                .node = {},
                .source = {}});
}

}  // namespace detail
}  // namespace rankd
