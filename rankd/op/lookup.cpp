// rankd/op/lookup.cpp: names in params against the registries.
#include <rankd/op/detail/lookup.hpp>

#include <string>
#include <vector>

namespace rankd::detail {
namespace {

auto refused(std::string code, const plan_param& param, std::string message, std::string hint = {})
    -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = param.pointer,
          .message = std::move(message),
          .hint = std::move(hint),
          .node = {},
          .source = {}};
}

auto named(const key_entry& key) -> std::string { return std::to_string(key.key_id) + " (" + key.name + ")"; }

}  // namespace

auto find_key(const plan_param& param, key_use use, const bind_context& with, braid::diagnostics& problems)
    -> const key_entry* {
  const key_entry* key = with.declared.find_key(param.index());
  if (key == nullptr) {
    problems.add(refused("unknown_key", param, "no key has the number " + std::to_string(param.index()),
                         "the keys are declared in keys.toml"));
    return nullptr;
  }
  if (key->status == lifecycle::blocked) {
    problems.add(
        refused("blocked_key", param, "key " + named(*key) + " is blocked", with.declared.successor_hint(*key)));
    return nullptr;
  }
  if (use == key_use::read ? !key->allow_read : !key->allow_write) {
    const bool reads = use == key_use::read;
    problems.add(refused(reads ? "unreadable_key" : "unwritable_key", param,
                         "key " + named(*key) + " must not be " + (reads ? "read" : "written") + " by plans"));
    return nullptr;
  }
  return key;
}

auto find_string_key(std::string_view name, const plan_node& node, const bind_context& with,
                     braid::diagnostics& problems) -> const key_entry* {
  const key_entry* key = with.declared.find_key(name);
  if (key != nullptr && key->status == lifecycle::blocked) {
    problems.add({.code = "blocked_key",
                  .pointer = node.pointer,
                  .message = "operator `" + node.op + "` fills the key " + named(*key) + ", which is blocked",
                  .hint = with.declared.successor_hint(*key),
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

auto find_redis_endpoint(const plan_param& param, const bind_context& with, braid::diagnostics& problems)
    -> std::uint32_t {
  const auto endpoints = with.declared.endpoints();
  const auto& id = std::get<std::string>(param.value);
  const endpoint_entry* found = with.declared.find_endpoint(id);
  if (found == nullptr) {
    std::vector<std::string_view> known;
    for (const endpoint_entry& endpoint : endpoints) known.push_back(endpoint.endpoint_id);
    problems.add(
        refused("unknown_endpoint", param, "no endpoint has the id `" + id + "`", braid::did_you_mean(id, known)));
    return 0;
  }
  if (found->kind == endpoint_entry::kind_type::http) {
    problems.add(refused("wrong_endpoint_kind", param,
                         "endpoint `" + id + "` (" + found->name + ") is of kind http; this operator reads a store",
                         "name an endpoint of kind redis or embedded"));
    return 0;
  }
  return static_cast<std::uint32_t>(found - endpoints.data());
}

}  // namespace rankd::detail
