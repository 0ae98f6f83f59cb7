// rankd/plan/registry_digests.cpp: reads the digests of registries, and the digests of single entries that an artifact
// uses.
#include <rankd/plan/registry_digests.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

constexpr std::string_view code = "registry_changed";

/// For each registry, the word that messages use for one of its entries.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> entry_words{
    {{"keys", "key"}, {"params", "param"}, {"capabilities", "capability"}, {"endpoints", "endpoint"}}};

auto word_for(std::string_view registry) -> std::string {
  const auto found = std::ranges::find(entry_words, registry, &std::pair<std::string_view, std::string_view>::first);
  return std::string(found->second);
}

/// Reads a digest. Returns nothing if the field is absent. If the field is wrong, reports that and returns nothing.
auto read_digest(object_reader& reader, std::string_view field) -> std::optional<std::string> {
  const std::string* text = reader.text(field, presence::optional);
  if (text == nullptr) return std::nullopt;
  if (text->size() == 64 && text->find_first_not_of("0123456789abcdef") == std::string::npos) return *text;
  reader.report(field, "bad_value", "a digest must be 64 lower-case hexadecimal digits");
  return std::nullopt;
}

auto read_entry(object_reader& reader, const std::string& id, std::string_view artifact, const registry_digest& ours)
    -> entry_digest {
  const std::optional<std::string> theirs = read_digest(reader, id);
  if (!theirs) return {.id = id, .name = {}, .sha256 = {}};
  const std::string named = word_for(ours.name) + " " + quote_name(id);
  auto found = std::ranges::lower_bound(ours.entries, id, {}, &entry_digest::id);
  if (found != ours.entries.end() && found->id != id) found = ours.entries.end();
  if (found == ours.entries.end())
    reader.report(id, code, named + ", with which " + std::string(artifact) + " built, is no longer declared",
                  "declare it again, or build the plan without it");
  else if (found->sha256 != *theirs)
    reader.report(id, code,
                  "the declaration of " + named + (found->name.empty() ? "" : " (" + found->name + ")") +
                      " has changed since " + std::string(artifact) + " built",
                  "build again with `dslc build`, or restore the declaration");
  return {.id = id, .name = found == ours.entries.end() ? std::string() : found->name, .sha256 = *theirs};
}

auto read_registry(object_reader& reader, std::string_view artifact, const registry_digest& ours,
                   braid::diagnostics& problems) -> registry_digest {
  registry_digest out{.name = ours.name, .sha256 = {}};
  const nlohmann::json* value = reader.value(ours.name, presence::optional);
  if (value != nullptr && value->is_object()) {
    object_reader entries(*value, reader.pointer_of(ours.name), problems);
    for (const auto& each : value->items()) out.entries.push_back(read_entry(entries, each.key(), artifact, ours));
    return out;
  }
  const std::optional<std::string> theirs = read_digest(reader, ours.name);
  if (!theirs) return out;
  out.sha256 = *theirs;
  if (*theirs != ours.sha256)
    reader.report(ours.name, code, std::string(artifact) + " built against another registry of " + ours.name,
                  "build again with `dslc build`");
  return out;
}

}  // namespace

auto read_registry_digests(object_reader& top, std::string_view artifact, const registries& declared,
                           braid::diagnostics& problems) -> std::vector<registry_digest> {
  std::vector<registry_digest> out;
  const nlohmann::json* value = top.object("registry_digests", presence::optional);
  if (value == nullptr) return out;
  object_reader in(*value, top.pointer_of("registry_digests"), problems);
  for (const registry_digest& ours : declared.digests()) {
    registry_digest theirs = read_registry(in, artifact, ours, problems);
    if (!theirs.sha256.empty() || !theirs.entries.empty()) out.push_back(std::move(theirs));
  }
  in.refuse_unknown_fields();
  return out;
}

}  // namespace rankd
