// rankd/plan/node_fields.cpp: formats the params of nodes as text, one case for each kind.
#include <rankd/plan/node_fields.hpp>

#include <rankd/expr/formula_text.hpp>
#include <rankd/registry/json_text.hpp>

#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace rankd {
namespace {

auto scalar_text(const scalar& value) -> std::string {
  return std::visit(
      [](const auto& each) -> std::string {
        using type = std::remove_cvref_t<decltype(each)>;
        std::string out;
        if constexpr (std::is_same_v<type, std::monostate>)
          return "null";
        else if constexpr (std::is_same_v<type, bool>)
          return each ? "true" : "false";
        else if constexpr (std::is_same_v<type, std::string>)
          return quote_json(each);
        else
          append_json_number(out, each);
        return out;
      },
      value);
}

template <typename Item, typename Print>
auto list_text(const std::vector<Item>& items, Print print) -> std::string {
  std::string out = "[";
  for (const Item& item : items) out.append(out.size() > 1 ? ", " : "").append(print(item));
  return out + "]";
}

auto endpoint_text(const std::string& id, const registries& declared) -> std::string {
  const endpoint_entry* const endpoint = declared.find_endpoint(id);
  return endpoint != nullptr ? "EP." + endpoint->name : "EP[" + id + "]";
}

/// Returns a binding as authors of plans write it, such as `P.page_size.within(1, 500)`.
auto binding_text(const param_binding& bound, const registries& declared) -> std::string {
  const param_entry* const param = declared.find_param(bound.param_id);
  const std::string name = param != nullptr ? "P." + param->name : "P[" + std::to_string(bound.param_id) + "]";
  return name + ".within(" + scalar_text(bound.min) + ", " + scalar_text(bound.max) + ")";
}

auto text_of(const plan_param& param, const plan& plan, const registries& declared) -> std::string {
  if (param.bound) return binding_text(*param.bound, declared);
  switch (param.kind) {
    case param_kind::expr_id: return formula_text(plan.expr_table[param.index()].tree, declared);
    case param_kind::pred_id: return formula_text(plan.pred_table[param.index()].tree, declared);
    case param_kind::node_ref: return plan.nodes[param.index()].node_id;
    case param_kind::enumeration: return std::get<std::string>(param.value);
    case param_kind::endpoint_ref: return endpoint_text(std::get<std::string>(param.value), declared);
    case param_kind::key_id: return key_text(param.index(), declared);
    case param_kind::key_ids:
      return list_text(param.key_ids, [&](std::uint32_t key_id) { return key_text(key_id, declared); });
    case param_kind::pred_ids:
      return list_text(param.trees,
                       [&](std::uint32_t tree) { return formula_text(plan.pred_table[tree].tree, declared); });
    case param_kind::names:
    case param_kind::texts: return list_text(param.names, [](const std::string& name) { return quote_json(name); });
    case param_kind::ascending:
    case param_kind::literals: return list_text(param.items, scalar_text);
    default: return scalar_text(param.value);
  }
}

/// Returns a fallback as text, such as `follow_2 on store_*, node_timeout`.
auto fallback_text(const node_fallback& fallback, const plan& plan, const registries& declared) -> std::string {
  std::string out;
  if (fallback.kind == fallback_kind::node) out = plan.nodes[fallback.node].node_id;
  if (fallback.kind == fallback_kind::input) out = "input";
  if (fallback.kind == fallback_kind::empty) out = "empty";
  std::string_view before = " on ";
  for (const std::string& pattern : fallback.on) out.append(std::exchange(before, ", ")).append(pattern);
  if (fallback.nulls.empty()) return out;
  return out + ", nulls " + list_text(fallback.nulls, [&](std::uint32_t key) { return key_text(key, declared); });
}

/// Returns a capture as text, such as `{sample: 0.01, side: both, max_rows: 500, keys: [Key.id]}`.
auto capture_text(const node_capture& capture, const registries& declared) -> std::string {
  std::string out = "{sample: " + scalar_text(capture.sample);
  out.append(", side: ").append(capture_side_names[static_cast<std::size_t>(capture.what.side)]);
  out += ", max_rows: " + std::to_string(capture.what.max_rows);
  if (capture.what.key_ids)
    out += ", keys: " + list_text(*capture.what.key_ids, [&](std::uint32_t key) { return key_text(key, declared); });
  return out + "}";
}

/// Returns a cache as text, such as `{ttl_ms: 30000, stale_ms: 60000, max_rows: 10000}`.
auto cache_text(const node_cache& cache) -> std::string {
  std::string out = "{ttl_ms: " + std::to_string(cache.ttl.count());
  if (cache.stale.count() != 0) out += ", stale_ms: " + std::to_string(cache.stale.count());
  return out + ", max_rows: " + std::to_string(cache.max_rows) + "}";
}

auto name_of_field(const plan_param& param) -> std::string {
  if (param.kind == param_kind::expr_id) return "expr";
  if (param.kind == param_kind::pred_ids) return "preds";
  return param.kind == param_kind::pred_id ? "pred" : param.name;
}

}  // namespace

auto list_fields(const plan_node& node, const plan& plan, const registries& declared) -> std::vector<node_field> {
  std::vector<node_field> fields;
  fields.reserve(node.params.size());
  for (const plan_param& param : node.params)
    fields.push_back({name_of_field(param), text_of(param, plan, declared), param.kind});
  if (node.timeout_ms) fields.push_back({"timeout_ms", std::to_string(*node.timeout_ms), param_kind::int64});
  if (node.retries != 0) fields.push_back({"retries", std::to_string(node.retries), param_kind::int64});
  if (node.hedge_ms != 0) fields.push_back({"hedge_ms", std::to_string(node.hedge_ms), param_kind::int64});
  if (node.fallback) fields.push_back({"fallback", fallback_text(*node.fallback, plan, declared), param_kind::string});
  if (node.capture) fields.push_back({"capture", capture_text(*node.capture, declared), param_kind::string});
  if (node.cache) fields.push_back({"cache", cache_text(*node.cache), param_kind::string});
  return fields;
}

auto to_text(const std::vector<node_field>& fields) -> std::string {
  std::string out;
  for (const node_field& field : fields) {
    if (!out.empty()) out += ", ";
    out.append(field.name).append(": ").append(field.text);
  }
  return out;
}

}  // namespace rankd
