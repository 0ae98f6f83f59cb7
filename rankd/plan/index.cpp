// rankd/plan/index.cpp: the rows of an index, one by one and together.
#include <rankd/plan/detail/index.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace rankd::detail {

void check_index_row(object_reader& row, const std::vector<artifact>& artifacts, const digest_source& digest_of,
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
  if (*path != found->file.filename()) row.report("path", "bad_value", "the artifact lies elsewhere");
  const auto has = digest_of(*found);
  if (!has)
    row.report("path", has.error().front().code, has.error().front().message);
  else if (*has != *digest)
    row.report("digest", "digest_mismatch", "the bytes of " + quote_name(*name) + " are not those that were indexed",
               "build the plan again");
}

void check_index(const nlohmann::json& document, const std::vector<artifact>& artifacts, const digest_source& digest_of,
                 braid::diagnostics& problems) {
  object_reader in(document, "", problems);
  in.integer("schema_version", presence::required, {.min = 1, .max = 1});
  std::set<std::string, std::less<>> indexed;
  if (const nlohmann::json* rows = in.array("plans", presence::required)) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      object_reader row((*rows)[i], braid::json_pointer("/plans", i), problems);
      check_index_row(row, artifacts, digest_of, indexed);
    }
    for (const artifact& each : artifacts)
      if (!indexed.contains(each.name))
        problems.add({.code = "not_indexed",
                      .pointer = "/plans",
                      .message = "the artifact " + quote_name(each.name) + " is not in the index",
                      .hint = {},
                      .node = {},
                      .source = {}});
  }
  in.refuse_unknown_fields();
}

}  // namespace rankd::detail
