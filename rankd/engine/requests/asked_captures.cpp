// rankd/engine/requests/asked_captures.cpp: parses the captures in requests and plans, and checks them against the
// plan.
#include <rankd/engine/captured_rows.hpp>

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/detail/read_captures.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/op/columns.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using detail::diagnostic_list;

constexpr int_range rows_range{.min = 1, .max = max_captured_rows};

/// Parses one item of the field `capture`.
void read_capture(const nlohmann::json& value, std::string pointer, const registries& declared, rank_request& request,
                  diagnostic_list problems) {
  asked_capture made{.node = {}, .what = {}, .pointer = pointer, .is_object = value.is_object()};
  if (value.is_string()) {
    made.node = value.get<std::string>();
  } else if (!value.is_object()) {
    return problems.add("wrong_type", pointer,
                        "a capture must be the name of a node, or an object with `node`, not " + described(value));
  } else {
    object_reader in(value, pointer, problems.out);
    if (const std::string* node = in.text("node", presence::required)) made.node = *node;
    if (const nlohmann::json* keys = in.array("keys", presence::optional)) {
      std::vector<std::uint32_t> ids;
      const std::string parent = in.pointer_of("keys");
      for (std::size_t at = 0; at < std::min<std::size_t>(keys->size(), declared.keys().size() + 1); ++at)
        detail::read_key_name((*keys)[at], braid::json_pointer(parent, at), declared, ids, problems);
      made.what.key_ids = std::move(ids);
    }
    if (const auto rows = in.integer("max_rows", presence::optional, rows_range))
      made.what.max_rows = static_cast<std::size_t>(*rows);
    if (const auto side = in.choice("side", presence::optional, capture_side_names))
      made.what.side = static_cast<capture_side>(*side);
    in.refuse_unknown_fields();
  }
  if (std::ranges::find(request.captures, made.node, &asked_capture::node) != request.captures.end())
    return problems.add("duplicate_value", pointer, "node " + quote_name(made.node) + " is named twice");
  request.captures.push_back(std::move(made));
}

/// Returns the JSON pointer to a field of a capture in the request. Returns an empty text if the plan, not the request,
/// defines the capture.
auto place_in(const asked_capture& asked, std::string_view field, std::optional<std::size_t> index = std::nullopt)
    -> std::string {
  if (asked.pointer.empty() || !asked.is_object) return asked.pointer;
  std::string place = braid::json_pointer(asked.pointer, field);
  return index ? braid::json_pointer(place, *index) : place;
}

/// Returns whether the captured input or output rows of a node may have a column for a key.
auto may_have(const plan_node& node, node_index index, capture_side side, const std::vector<node_columns>& columns,
              std::uint32_t key) -> bool {
  const auto has = [&](node_index node_number) { return std::ranges::binary_search(columns[node_number].has, key); };
  if (key == registries::id_key) return true;
  return (side != capture_side::in && has(index)) ||
         (side != capture_side::out && std::ranges::any_of(node.sources, has));
}

auto no_column(const key_entry& key, const std::string& node) -> std::string {
  return "the captured rows of node " + quote_name(node) + " cannot have `" + key.name + "`";
}

}  // namespace

namespace detail {

void read_key_name(const nlohmann::json& name, const std::string& pointer, const registries& declared,
                   std::vector<std::uint32_t>& into, diagnostic_list problems) {
  if (!name.is_string())
    return problems.add("wrong_type", pointer, "the name of a key must be a string, not " + described(name));
  const auto& text = name.get_ref<const std::string&>();
  const key_entry* key = declared.find_key(text);
  if (key == nullptr)
    return problems.add("unknown_key", pointer, "no key is called " + quote_name(text),
                        braid::did_you_mean(text, declared.key_names()));
  if (key->status == lifecycle::blocked)
    return problems.add("blocked_key", pointer, "key `" + text + "` is blocked", declared.successor_hint(*key));
  if (!key->allow_read) return problems.add("unreadable_key", pointer, "key `" + text + "` must not be read");
  if (std::ranges::find(into, key->key_id) != into.end())
    return problems.add("duplicate_value", pointer, "key `" + text + "` is named twice");
  into.push_back(key->key_id);
}

void read_captures(object_reader& reader, const registries& declared, rank_request& request, std::size_t max_problems,
                   braid::diagnostics& problems) {
  const nlohmann::json* asked = reader.array("capture", presence::optional);
  if (asked == nullptr) return;
  const std::string pointer = reader.pointer_of("capture");
  if (asked->size() > max_captured_nodes)
    diagnostic_list{problems}.add("too_many_captures", pointer,
                                  "the rows of at most " + std::to_string(max_captured_nodes) +
                                      " nodes can be captured, not of " + std::to_string(asked->size()));
  for (std::size_t at = 0; at < std::min(asked->size(), max_captured_nodes) && problems.size() < max_problems; ++at)
    read_capture((*asked)[at], braid::json_pointer(pointer, at), declared, request, {problems});
}

}  // namespace detail

auto parse_capture(std::string_view text, const registries& declared) -> braid::checked<asked_capture> {
  braid::diagnostics all;
  const diagnostic_list problems{all};
  const std::size_t colon = text.find(':');
  asked_capture made{.node = std::string(text.substr(0, colon)), .what = {}};
  if (made.node.empty()) diagnostic_list{all}.add("bad_value", "", "--capture needs a node: NODE or NODE:key,key");
  if (colon != std::string_view::npos) {
    made.what.key_ids.emplace();
    for (std::string_view rest = text.substr(colon + 1);;) {
      const std::size_t comma = rest.find(',');
      detail::read_key_name(std::string(rest.substr(0, comma)), "", declared, *made.what.key_ids, problems);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (!all.empty()) return std::unexpected(std::move(all));
  return made;
}

auto check_captures(const rank_request& request, const bound_plan& plan, const registries& declared)
    -> braid::diagnostics {
  braid::diagnostics all;
  diagnostic_list problems{all};
  std::vector<node_columns> columns;
  for (const asked_capture& asked : request.captures) {
    const auto node = std::ranges::find(plan.nodes, asked.node, &bound_node::node_id);
    if (node == plan.nodes.end()) {
      std::vector<std::string_view> known;
      for (const bound_node& each : plan.nodes) known.emplace_back(each.node_id);
      problems.add("unknown_node", place_in(asked, "node"),
                   "plan `" + plan.name + "` has no node " + quote_name(asked.node),
                   braid::did_you_mean(asked.node, known));
      continue;
    }
    if (!asked.what.key_ids) continue;
    if (columns.empty()) columns = find_columns(*plan.stated, declared);
    const auto at = static_cast<node_index>(node - plan.nodes.begin());
    for (std::size_t key = 0; key < asked.what.key_ids->size(); ++key)
      if (const std::uint32_t id = (*asked.what.key_ids)[key];
          !may_have(plan.stated->nodes[at], at, asked.what.side, columns, id))
        problems.add("unknown_column", place_in(asked, "keys", key), no_column(*declared.find_key(id), asked.node));
  }
  all.set_source("request");
  return all;
}

auto check_captures(const plan& loaded, const registries& declared) -> braid::diagnostics {
  braid::diagnostics problems;
  std::vector<node_columns> columns;
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    if (!node.capture || !node.capture->what.key_ids) continue;
    if (columns.empty()) columns = find_columns(loaded, declared);
    const auto& keys = *node.capture->what.key_ids;
    for (std::size_t index = 0; index < keys.size(); ++index) {
      braid::diagnostic wrong{
          .code = {},
          .pointer = braid::json_pointer(braid::json_pointer(node.capture->pointer, "key_ids"), index),
          .message = {},
          .hint = {},
          .node = node.node_id,
          .source = {}};
      const key_entry* key = declared.find_key(keys[index]);
      if (key == nullptr) {
        wrong.code = "unknown_key";
        wrong.message = "no key has the number " + std::to_string(keys[index]);
        wrong.hint = "the keys are declared in keys.toml";
      } else if (key->status == lifecycle::blocked) {
        wrong.code = "blocked_key";
        wrong.message = "key `" + key->name + "` is blocked";
        wrong.hint = declared.successor_hint(*key);
      } else if (!key->allow_read) {
        wrong.code = "unreadable_key";
        wrong.message = "key `" + key->name + "` must not be read";
      } else if (!may_have(node, at, node.capture->what.side, columns, key->key_id)) {
        wrong.code = "unknown_column";
        wrong.message = no_column(*key, node.node_id);
      }
      if (!wrong.code.empty()) problems.add(std::move(wrong));
    }
  }
  return problems;
}

}  // namespace rankd
