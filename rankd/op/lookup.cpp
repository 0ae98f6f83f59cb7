// rankd/op/lookup.cpp: looks up in the registries the names that params of nodes contain.
#include <rankd/op/detail/lookup.hpp>

#include <rankd/op/models.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace rankd::detail {
namespace {

auto named(const key_entry& key) -> std::string { return std::to_string(key.key_id) + " (" + key.name + ")"; }

auto find_key_at(std::uint32_t key_id, const std::string& pointer, key_use use, const bind_context& context,
                 braid::diagnostics& problems) -> const key_entry* {
  const key_entry* key = context.declared.find_key(key_id);
  if (key == nullptr) {
    problems.add(problem_at("unknown_key", pointer, "no key has the number " + std::to_string(key_id),
                            "the keys are declared in keys.toml"));
    return nullptr;
  }
  if (key->status == lifecycle::blocked) {
    problems.add(problem_at("blocked_key", pointer, "key " + named(*key) + " is blocked",
                            context.declared.successor_hint(*key)));
    return nullptr;
  }
  if (use == key_use::read ? !key->allow_read : !key->allow_write) {
    const bool reads = use == key_use::read;
    problems.add(problem_at(reads ? "unreadable_key" : "unwritable_key", pointer,
                            "key " + named(*key) + " must not be " + (reads ? "read" : "written") + " by plans"));
    return nullptr;
  }
  return key;
}

/// Finds a key like `find_key`, and also checks that the shape of the param allows the type of the key.
auto find_typed_key_at(std::uint32_t key_id, const std::string& pointer, const param_shape& shape,
                       const bind_context& context, braid::diagnostics& problems) -> const key_entry* {
  const key_entry* key = find_key_at(key_id, pointer, shape.use, context, problems);
  if (key == nullptr || std::ranges::find(shape.choices, to_string(key->type)) != shape.choices.end()) return key;
  std::string wanted;
  for (const std::string_view type : shape.choices) wanted.append(wanted.empty() ? "" : ", ").append(type);
  problems.add(problem_at(
      "wrong_key_type", pointer,
      "key " + named(*key) + " is of type " + std::string(to_string(key->type)) + "; it must be one of: " + wanted));
  return nullptr;
}

}  // namespace

auto find_choice(const plan_node& node, const param_shape& shape) -> std::size_t {
  const plan_param* given = node.find_param(shape.name);
  if (given == nullptr) return 0;
  const auto at = std::ranges::find(shape.choices, std::get<std::string>(given->value));
  return static_cast<std::size_t>(at - shape.choices.begin());
}

auto find_key(const plan_param& param, key_use use, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry* {
  return find_key_at(param.index(), param.pointer, use, context, problems);
}

auto find_typed_key(const plan_param& param, const param_shape& shape, const bind_context& context,
                    braid::diagnostics& problems) -> const key_entry* {
  return find_typed_key_at(param.index(), param.pointer, shape, context, problems);
}

auto find_typed_keys(const plan_param& param, const param_shape& shape, const bind_context& context,
                     braid::diagnostics& problems) -> std::vector<const key_entry*> {
  std::vector<const key_entry*> out;
  for (std::size_t at = 0; at < param.key_ids.size(); ++at)
    out.push_back(
        find_typed_key_at(param.key_ids[at], braid::json_pointer(param.pointer, at), shape, context, problems));
  return out;
}

auto find_by(const plan_node& node, const param_shape& shape, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry* {
  const plan_param* by = node.find_param("by");
  return by == nullptr ? context.declared.find_key(registries::id_key) : find_typed_key(*by, shape, context, problems);
}

auto wrong_key_type(const key_entry& key, const plan_param& param, std::string_view wanted) -> braid::diagnostic {
  return problem_at(
      "wrong_key_type", param.pointer,
      "key " + named(key) + " is of type " + std::string(to_string(key.type)) + "; " + std::string(wanted));
}

void check_ends(const plan_param* min, const plan_param* max, braid::diagnostics& problems) {
  if (min == nullptr || max == nullptr || !(max->least() < min->most())) return;
  const bool fixed = !min->bound && !max->bound;
  problems.add(problem_at("out_of_range", max->pointer,
                          fixed ? "`max` must not be less than `min`"
                                : "`max` must not be less than `min`, but a request could set such values; narrow the "
                                  "ranges of the bound params"));
}

void check_same_length(const plan_param& list, std::size_t items, const plan_param& other, std::size_t others,
                       braid::diagnostics& problems) {
  if (items == others) return;
  problems.add(problem_at("wrong_length", list.pointer,
                          "`" + list.name + "` has " + counted(items, "item") + ", but `" + other.name + "` has " +
                              std::to_string(others)));
}

auto find_model(const plan_param& param, std::size_t item, const bind_context& context, braid::diagnostics& problems)
    -> std::shared_ptr<const model> {
  const std::string pointer = braid::json_pointer(param.pointer, item);
  if (context.models == nullptr) {
    problems.add(problem_at("no_models", pointer, "the folder for models is not set"));
    return nullptr;
  }
  auto found = context.models->find(param.names[item]);
  if (found) return std::move(*found);
  const bool is_missing = !context.models->digest(param.names[item]);
  for (braid::diagnostic each : found.error()) {
    if (is_missing) {
      if (!each.source.empty()) each.message += " (" + std::filesystem::path(each.source).filename().string() + ")";
      each.pointer = pointer;
      each.source.clear();
    }
    problems.add(std::move(each));
  }
  return nullptr;
}

auto find_string_key(std::string_view name, const plan_node& node, const bind_context& context,
                     braid::diagnostics& problems) -> const key_entry* {
  const key_entry* key = context.declared.find_key(name);
  if (key != nullptr && key->status == lifecycle::blocked) {
    problems.add({.code = "blocked_key",
                  .pointer = node.pointer,
                  .message = "operator `" + node.op + "` fills the key " + named(*key) + ", which is blocked",
                  .hint = context.declared.successor_hint(*key),
                  .node = {},
                  .source = {}});
    return nullptr;
  }
  if (key != nullptr && key->type == value_type::string) return key;
  problems.add({.code = key == nullptr ? "unknown_key" : "wrong_key_type",
                .pointer = node.pointer,
                .message = "operator `" + node.op + "` fills the key `" + std::string(name) +
                           "`, which must be declared as a string",
                .hint = "add it to keys.toml",
                .node = {},
                .source = {}});
  return nullptr;
}

void need_integer_ids(const plan_node& node, const bind_context& context, std::string_view hint,
                      braid::diagnostics& problems) {
  if (context.declared.id_type() == value_type::integer) return;
  problems.add(problem_at("string_ids", node.pointer,
                          "operator `" + node.op + "` needs integer ids, but the ids of this project are strings",
                          std::string(hint)));
}

namespace {

/// Returns the endpoint that a param names. Returns null after a diagnostic if the endpoint does not exist.
auto find_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> const endpoint_entry* {
  const auto& id = std::get<std::string>(param.value);
  const endpoint_entry* const found = context.declared.find_endpoint(id);
  if (found != nullptr) return found;
  std::vector<std::string_view> known;
  for (const endpoint_entry& endpoint : context.declared.endpoints()) known.push_back(endpoint.endpoint_id);
  problems.add(problem_at("unknown_endpoint", param.pointer, "no endpoint has the id `" + id + "`",
                          braid::did_you_mean(id, known)));
  return nullptr;
}

auto find_place(const endpoint_entry& endpoint, const bind_context& context) -> std::uint32_t {
  return static_cast<std::uint32_t>(&endpoint - context.declared.endpoints().data());
}

}  // namespace

auto find_redis_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t {
  const endpoint_entry* const found = find_endpoint(param, context, problems);
  if (found == nullptr) return 0;
  if (!is_store(*found))
    problems.add(problem_at("wrong_endpoint_kind", param.pointer,
                            "endpoint `" + found->endpoint_id + "` (" + found->name + ") is of kind " +
                                std::string(to_string(found->kind)) + "; this operator reads a store",
                            "name an endpoint of kind redis or embedded"));
  return find_place(*found, context);
}

auto find_http_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t {
  const endpoint_entry* const found = find_endpoint(param, context, problems);
  if (found == nullptr) return 0;
  if (found->kind != endpoint_entry::kind_type::http)
    problems.add(problem_at("wrong_endpoint_kind", param.pointer,
                            "endpoint `" + found->endpoint_id + "` (" + found->name + ") is of kind " +
                                std::string(to_string(found->kind)) +
                                "; this operator sends requests to a model server",
                            "name an endpoint of kind http"));
  return find_place(*found, context);
}

}  // namespace rankd::detail
