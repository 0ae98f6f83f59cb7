// rankd/plan/folder_image.cpp: reads a folder twice, and compares the contents to detect changes.
#include <rankd/plan/folder_image.hpp>

#include <rankd/plan/artifact_folder.hpp>
#include <rankd/plan/detail/index.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// The contents of a file, or the error with which reading failed.
struct read_file {
  fs::path file;
  std::string text;
  std::optional<braid::diagnostic> problem;

  auto operator==(const read_file&) const -> bool = default;
};

struct pass {
  std::vector<read_file> artifacts;
  std::optional<read_file> index;
  braid::diagnostics unlisted;  ///< why the folder cannot be listed
};

auto read_one(const fs::path& file, const file_reader& read) -> read_file {
  auto text = read(file);
  if (!text) return {file, {}, text.error().front()};
  return {file, std::move(*text), std::nullopt};
}

auto read_index(const fs::path& folder, const file_reader& read) -> std::optional<read_file> {
  std::error_code error;
  if (!fs::exists(folder / index_file, error)) return std::nullopt;
  return read_one(folder / index_file, read);
}

auto read_all(const fs::path& folder, const file_reader& read) -> pass {
  pass seen;
  const auto listed = list_artifacts(folder);
  if (!listed) {
    seen.unlisted = listed.error();
    return seen;
  }
  for (const artifact& each : *listed) seen.artifacts.push_back(read_one(each.file, read));
  seen.index = read_index(folder, read);
  return seen;
}

/// Reads the folder again, and returns whether nothing has changed since the first pass. Keeps only one file in memory
/// at a time.
auto is_still_so(const pass& seen, const fs::path& folder, const file_reader& read) -> bool {
  const auto listed = list_artifacts(folder);
  if (!listed || !seen.unlisted.empty()) return listed.has_value() == seen.unlisted.empty();
  const auto same = [&](const artifact& now, const read_file& before) {
    return now.file == before.file && read_one(now.file, read) == before;
  };
  return std::ranges::equal(*listed, seen.artifacts, same) && read_index(folder, read) == seen.index;
}

/// Maps the name of an artifact to its errors. Errors that concern all artifacts are stored under an empty name.
using faults_by_name = std::map<std::string, braid::diagnostics, std::less<>>;

/// Returns the errors in the index that a pass has read, and the differences between the index and the artifacts.
auto find_index_faults(const pass& seen, image_faults faults) -> faults_by_name {
  faults_by_name out;
  if (!seen.index) return out;
  if (seen.index->problem) {
    out[""].add(*seen.index->problem);
    return out;
  }
  auto document = parse_json(seen.index->text, seen.index->file.string());
  if (!document) {
    out[""].append(document.error());
    return out;
  }
  const json_dismantler end(*document);
  std::vector<artifact> artifacts;
  for (const read_file& each : seen.artifacts) artifacts.push_back({each.file.stem().string(), each.file});
  const auto make_digest = [&](const artifact& one) -> braid::checked<std::string> {
    const auto found = std::ranges::find(seen.artifacts, one.file, &read_file::file);
    if (found->problem) return std::unexpected(braid::diagnostics(*found->problem));
    return sha256_hex(found->text);
  };
  if (faults == image_faults::kept)
    out = detail::index_faults(*document, artifacts, make_digest);
  else
    detail::check_index(*document, artifacts, make_digest, out[""]);
  for (auto& [name, wrong] : out) wrong.set_source(seen.index->file.string());
  return out;
}

auto make_image(pass seen, image_faults faults) -> braid::checked<std::vector<artifact_image>> {
  braid::diagnostics problems = std::move(seen.unlisted);
  faults_by_name of_index = find_index_faults(seen, faults);
  problems.append(std::move(of_index[""]));
  of_index.erase("");
  std::vector<artifact_image> image;
  for (read_file& each : seen.artifacts) {
    std::string name = each.file.stem().string();
    braid::diagnostics own;
    if (const auto wrong = of_index.extract(name)) own = std::move(wrong.mapped());
    if (each.problem) (faults == image_faults::kept ? own : problems).add(std::move(*each.problem));
    image.push_back({std::move(name), std::move(each.file), std::move(each.text), std::move(own)});
  }
  for (auto& [name, wrong] : of_index) image.push_back({name, seen.index->file, {}, std::move(wrong)});
  std::ranges::sort(image, {}, &artifact_image::name);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return image;
}

}  // namespace

auto read_folder_image(const fs::path& folder, const file_reader& read, image_faults faults)
    -> braid::checked<std::vector<artifact_image>> {
  constexpr int max_tries = 4;
  const file_reader reader = read ? read : [](const fs::path& file) { return read_text_file(file); };
  for (int tries = 0; tries < max_tries; ++tries) {
    pass seen = read_all(folder, reader);
    if (is_still_so(seen, folder, reader)) return make_image(std::move(seen), faults);
  }
  return std::unexpected(
      braid::diagnostics({.code = "folder_changing",
                          .pointer = {},
                          .message = "the files of the plan folder have changed while they were read",
                          .hint = "build the plans into a new folder and rename it, or load the plans again later",
                          .node = {},
                          .source = folder.string()}));
}

}  // namespace rankd
