// rankd/plan/artifact_folder.cpp: lists the artifacts of a folder, and checks them against its index.
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/detail/index.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/folder_names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <set>
#include <system_error>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

auto digest_of_file(const artifact& artifact) -> braid::checked<std::string> {
  const auto text = read_text_file(artifact.file);
  if (!text) return std::unexpected(text.error());
  return sha256_hex(*text);
}

/// Calls `add(file, out)` for each file in a folder. Errors: unreadable_folder.
template <typename Add>
auto walk_folder(const std::filesystem::path& folder, Add add) -> braid::checked<std::vector<artifact>> {
  std::vector<artifact> out;
  const auto names = folder_names(folder);
  if (!names)
    return std::unexpected(
        braid::diagnostics({.code = "unreadable_folder",
                            .pointer = {},
                            .message = "the folder with the plans cannot be read: " + names.error().message(),
                            .hint = {},
                            .node = {},
                            .source = folder.string()}));
  for (const std::string& each : *names) add(folder / each, out);
  std::ranges::sort(out, {}, &artifact::name);
  return out;
}

auto holds_tests(const std::filesystem::path& file) -> bool { return file.filename().string().ends_with(test_suffix); }

}  // namespace

auto list_artifacts(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>> {
  return walk_folder(folder, [](const std::filesystem::path& file, std::vector<artifact>& out) {
    const bool is_list = file.filename() == index_file || file.filename() == manifest_file;
    if (file.extension() == ".json" && !is_list && !holds_tests(file)) out.push_back({file.stem().string(), file});
  });
}

auto list_plan_tests(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>> {
  return walk_folder(folder, [](const std::filesystem::path& file, std::vector<artifact>& out) {
    if (holds_tests(file)) out.push_back({file.stem().stem().string(), file});
  });
}

auto verify_index(const std::filesystem::path& folder) -> braid::diagnostics {
  const std::filesystem::path file = folder / index_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  const auto artifacts = list_artifacts(folder);
  if (!artifacts) return artifacts.error();
  auto document = read_json_file(file);
  if (!document) return document.error();
  const json_dismantler end(*document);
  braid::diagnostics problems;
  detail::check_index(*document, *artifacts, digest_of_file, problems);
  problems.set_source(file.string());
  return problems;
}

auto verify_index_entry(const artifact& artifact) -> braid::diagnostics {
  const std::filesystem::path file = artifact.file.parent_path() / index_file;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return {};
  auto document = read_json_file(file);
  if (!document) return document.error();
  const json_dismantler end(*document);
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const json* rows = in.array("plans", presence::required);
  for (std::size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    const json& row = (*rows)[i];
    if (!row.is_object() || row.value("name", json()) != artifact.name) continue;
    object_reader fields(row, braid::json_pointer("/plans", i), problems);
    std::set<std::string, std::less<>> indexed;
    detail::check_index_row(fields, {artifact}, digest_of_file, indexed);
  }
  problems.set_source(file.string());
  return problems;
}

}  // namespace rankd
