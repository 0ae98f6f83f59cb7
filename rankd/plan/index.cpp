// rankd/plan/index.cpp: checks the rows of an index, one by one and as a whole.
#include <rankd/plan/detail/index.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

auto not_indexed(const artifact& missed) -> braid::diagnostic {
  return {.code = "not_indexed",
          .pointer = "/plans",
          .message = "the artifact " + quote_name(missed.name) + " is not in the index",
          .hint = {},
          .node = {},
          .source = {}};
}

/// Returns the artifact name in a row of an index, or an empty text if the row has no name.
auto name_in(const nlohmann::json& row) -> std::string {
  if (!row.is_object()) return {};
  const auto name = row.find("name");
  return name != row.end() && name->is_string() ? name->get<std::string>() : std::string();
}

/// Returns the artifact name in a row of an index. `pointer` is the JSON pointer of that row or of a part of it.
/// Returns an empty text if the index has no such row.
auto name_at(const nlohmann::json& document, std::string_view pointer) -> std::string {
  constexpr std::string_view rows = "/plans/";
  if (!pointer.starts_with(rows)) return {};
  pointer.remove_prefix(rows.size());
  std::size_t row = 0;
  const auto [end, error] = std::from_chars(pointer.data(), pointer.data() + pointer.size(), row);
  return error == std::errc() ? name_in(document.at("plans").at(row)) : std::string();
}

}  // namespace

void check_index_row(object_reader& row, const std::vector<artifact>& artifacts, const digest_source& make_digest,
                     std::set<std::string, std::less<>>& indexed) {
  const std::string* name = row.text("name", presence::required);
  const std::string* path = row.text("path", presence::required);
  const std::string* digest = row.text("digest", presence::required);
  row.refuse_unknown_fields();
  if (name == nullptr || path == nullptr || digest == nullptr) return;
  const auto found = std::ranges::find(artifacts, *name, &artifact::name);
  if (found == artifacts.end())
    return row.report("name", "unknown_artifact", "there is no artifact " + quote_name(*name));
  if (!indexed.insert(*name).second) row.report("name", "duplicate_value", quote_name(*name) + " is listed twice");
  if (*path != found->file.filename())
    row.report("path", "bad_value", "the artifact is in another file: " + quote_name(found->file.filename().string()));
  const auto has = make_digest(*found);
  if (!has)
    row.report("path", has.error().front().code, has.error().front().message);
  else if (*has != *digest)
    row.report("digest", "digest_mismatch",
               "the bytes of " + quote_name(*name) + " have changed since they were indexed", "build the plan again");
}

void check_index(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                 const digest_source& make_digest, braid::diagnostics& problems) {
  object_reader in(document, "", problems);
  in.integer("schema_version", presence::required, {.min = 1, .max = 1});
  std::set<std::string, std::less<>> indexed;
  if (const nlohmann::json* rows = in.array("plans", presence::required)) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      object_reader row((*rows)[i], braid::json_pointer("/plans", i), problems);
      check_index_row(row, artifacts, make_digest, indexed);
    }
    for (const artifact& each : artifacts)
      if (!indexed.contains(each.name)) problems.add(not_indexed(each));
  }
  in.refuse_unknown_fields();
}

auto index_faults(const nlohmann::json& document, const std::vector<artifact>& artifacts,
                  const digest_source& make_digest) -> std::map<std::string, braid::diagnostics, std::less<>> {
  braid::diagnostics all;
  check_index(document, artifacts, make_digest, all);
  std::map<std::string, braid::diagnostics, std::less<>> faults;
  for (const braid::diagnostic& each : all)
    if (each.code != "not_indexed") faults[name_at(document, each.pointer)].add(each);
  const auto rows = document.is_object() ? document.find("plans") : document.end();
  if (rows == document.end() || !rows->is_array()) return faults;
  for (const artifact& each : artifacts)
    if (std::ranges::find(*rows, each.name, name_in) == rows->end()) faults[each.name].add(not_indexed(each));
  return faults;
}

}  // namespace rankd::detail
