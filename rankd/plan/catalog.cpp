// rankd/plan/catalog.cpp: listing, verifying and loading a folder of artifacts.
#include <rankd/plan/catalog.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

/// One row of the index against the file that it names.
void check_row(object_reader& row, const std::vector<artifact>& artifacts,
               std::set<std::string, std::less<>>& indexed) {
  const std::string* name = row.text("name", presence::required);
  const std::string* path = row.text("path", presence::required);
  const std::string* digest = row.text("digest", presence::required);
  row.refuse_unknown_fields();
  if (name == nullptr || path == nullptr || digest == nullptr) return;
  const auto found = std::ranges::find(artifacts, *name, &artifact::name);
  if (found == artifacts.end())
    return row.complain("name", "unknown_artifact", "there is no artifact " + quote_name(*name));
  if (!indexed.insert(*name).second) row.complain("name", "duplicate_value", quote_name(*name) + " is listed twice");
  if (*path != found->file.filename()) row.complain("path", "bad_value", "the artifact lies elsewhere");
  const auto text = read_text_file(found->file);
  if (!text)
    row.complain("path", text.error().front().code, text.error().front().message);
  else if (sha256_hex(*text) != *digest)
    row.complain("digest", "digest_mismatch", "the bytes of " + quote_name(*name) + " are not those that were indexed",
                 "build the plan again");
}

void check_index(const json& document, const std::vector<artifact>& artifacts, braid::diagnostics& problems) {
  object_reader in(document, "", problems);
  in.integer("schema_version", presence::required, {.min = 1, .max = 1});
  std::set<std::string, std::less<>> indexed;
  if (const json* rows = in.array("plans", presence::required)) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      object_reader row((*rows)[i], braid::json_pointer("/plans", i), problems);
      check_row(row, artifacts, indexed);
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

}  // namespace

auto list_artifacts(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>> {
  std::error_code error;
  std::vector<artifact> out;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::filesystem::path& file = entries->path();
    if (file.extension() == ".json" && file.filename() != index_file) out.push_back({file.stem().string(), file});
  }
  if (error)
    return std::unexpected(braid::diagnostics({.code = "unreadable_folder",
                                               .pointer = {},
                                               .message = "the folder of the plans cannot be read: " + error.message(),
                                               .hint = {},
                                               .node = {},
                                               .source = folder.string()}));
  std::ranges::sort(out, {}, &artifact::name);
  return out;
}

auto verify_index(const std::filesystem::path& folder) -> braid::diagnostics {
  const std::filesystem::path file = folder / index_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  const auto artifacts = list_artifacts(folder);
  if (!artifacts) return artifacts.error();
  const auto document = read_json_file(file);
  if (!document) return document.error();
  braid::diagnostics problems;
  check_index(*document, *artifacts, problems);
  problems.set_source(file.string());
  return problems;
}

auto verify_index_of(const artifact& one) -> braid::diagnostics {
  const std::filesystem::path file = one.file.parent_path() / index_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  const auto document = read_json_file(file);
  if (!document) return document.error();
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const json* rows = in.array("plans", presence::required);
  for (std::size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    const json& row = (*rows)[i];
    if (!row.is_object() || row.value("name", json()) != one.name) continue;
    object_reader fields(row, braid::json_pointer("/plans", i), problems);
    std::set<std::string, std::less<>> indexed;
    check_row(fields, {one}, indexed);
  }
  problems.set_source(file.string());
  return problems;
}

}  // namespace rankd
