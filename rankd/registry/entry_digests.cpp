// rankd/registry/entry_digests.cpp: computes digests of single registry entries, over the fields that affect plans.
#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/digest.hpp>

#include <algorithm>
#include <array>
#include <span>

namespace rankd::detail {
namespace {

/// A field that affects the meaning of an entry for plans. The value `otherwise` means the same as an absent field.
struct meaning_field {
  const char* name;
  const char* otherwise = nullptr;  ///< as JSON
};

/// Describes the entries of a registry: the table, the id field, and the fields that the digest of an entry covers.
struct entry_shape {
  std::string_view registry;
  const char* table;
  const char* id;
  std::span<const meaning_field> fields;
};

constexpr std::array<meaning_field, 6> key_fields{
    {{"key_id"}, {"name"}, {"type"}, {"nullable"}, {"default"}, {"dimensions"}}};
constexpr std::array<meaning_field, 8> param_fields{{{"param_id"},
                                                     {"name"},
                                                     {"type"},
                                                     {"nullable"},
                                                     {"default"},
                                                     {"source", "\"override\""},
                                                     {"required", "false"},
                                                     {"clock"}}};
constexpr std::array<meaning_field, 2> capability_fields{{{"id"}, {"payload_schema"}}};
constexpr std::array<meaning_field, 3> endpoint_fields{{{"endpoint_id"}, {"name"}, {"kind"}}};

constexpr std::array<entry_shape, 4> shapes{{{"keys", "key", "key_id", key_fields},
                                             {"params", "param", "param_id", param_fields},
                                             {"capabilities", "capability", "id", capability_fields},
                                             {"endpoints", "endpoint", "endpoint_id", endpoint_fields}}};

auto find_meaning(const nlohmann::json& row, std::span<const meaning_field> fields) -> nlohmann::json {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, otherwise] : fields) {
    const auto found = row.find(name);
    if (found == row.end() || (otherwise != nullptr && *found == nlohmann::json::parse(otherwise))) continue;
    out[name] = *found;
  }
  return out;
}

auto text_of(const nlohmann::json& row, const char* field) -> std::string {
  const auto found = row.find(field);
  if (found == row.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

auto name_of(std::string_view registry, const nlohmann::json& row) -> std::string {
  return registry == "capabilities" ? std::string() : text_of(row, "name");
}

}  // namespace

auto digests_of_entries(std::string_view registry, const nlohmann::json& document) -> std::vector<entry_digest> {
  const entry_shape& shape = *std::ranges::find(shapes, registry, &entry_shape::registry);
  std::vector<entry_digest> out;
  const auto rows = document.find(shape.table);
  if (rows == document.end()) return out;
  for (const nlohmann::json& row : *rows)
    out.push_back({.id = text_of(row, shape.id),
                   .name = name_of(registry, row),
                   .sha256 = sha256_hex(canonical_json(find_meaning(row, shape.fields)))});
  std::ranges::sort(out, {}, &entry_digest::id);
  return out;
}

}  // namespace rankd::detail
