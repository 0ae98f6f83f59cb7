// rankd/registry/registries.cpp: looks up entries of registries.
#include <rankd/registry/registries.hpp>

#include <algorithm>
#include <functional>

namespace rankd {
namespace {

/// Returns the entry whose `member` equals `value`. Requires that the vector is sorted by this member.
template <typename Entry, typename Member, typename Value>
auto find_sorted(const std::vector<Entry>& entries, Member member, const Value& value) -> const Entry* {
  const auto at = std::ranges::lower_bound(entries, value, std::ranges::less{}, member);
  return at != entries.end() && std::invoke(member, *at) == value ? &*at : nullptr;
}

template <typename Entry>
auto find_named(const std::vector<Entry>& entries, const std::vector<std::uint32_t>& by_name, std::string_view name)
    -> const Entry* {
  const auto name_of = [&](std::uint32_t i) -> std::string_view { return entries[i].name; };
  const auto at = std::ranges::lower_bound(by_name, name, {}, name_of);
  return at != by_name.end() && name_of(*at) == name ? &entries[*at] : nullptr;
}

template <typename Entry>
auto list_names(const std::vector<Entry>& entries) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  for (const Entry& entry : entries) out.emplace_back(entry.name);
  return out;
}

template <typename Entry>
auto use_instead(std::string_view sort, std::uint32_t id, const Entry* successor) -> std::string {
  std::string out = "use " + std::string(sort) + " " + std::to_string(id);
  if (successor != nullptr) out += " (" + successor->name + ")";
  return out + " instead";
}

}  // namespace

void registries::keep_places(const registries& other) {
  for (std::size_t at = 0; at < endpoints_.size(); ++at) {
    endpoints_[at].resolver = other.endpoints_[at].resolver;
    endpoints_[at].policy = other.endpoints_[at].policy;
  }
}

auto registries::find_key(std::uint32_t key_id) const -> const key_entry* {
  return find_sorted(keys_, &key_entry::key_id, key_id);
}

auto registries::find_key(std::string_view name) const -> const key_entry* {
  return find_named(keys_, keys_by_name_, name);
}

auto registries::find_param(std::uint32_t param_id) const -> const param_entry* {
  return find_sorted(params_, &param_entry::param_id, param_id);
}

auto registries::find_param(std::string_view name) const -> const param_entry* {
  return find_named(params_, params_by_name_, name);
}

auto registries::find_endpoint(std::string_view endpoint_id) const -> const endpoint_entry* {
  return find_sorted(endpoints_, &endpoint_entry::endpoint_id, endpoint_id);
}

auto registries::find_capability(std::string_view id) const -> const capability_entry* {
  return find_sorted(capabilities_, &capability_entry::id, id);
}

auto registries::successor_hint(const key_entry& key) const -> std::string {
  return key.replaced_by ? use_instead("key", *key.replaced_by, find_key(*key.replaced_by)) : std::string();
}

auto registries::successor_hint(const param_entry& param) const -> std::string {
  return param.replaced_by ? use_instead("param", *param.replaced_by, find_param(*param.replaced_by)) : std::string();
}

auto registries::key_names() const -> std::vector<std::string_view> { return list_names(keys_); }

auto registries::param_names() const -> std::vector<std::string_view> { return list_names(params_); }

}  // namespace rankd
