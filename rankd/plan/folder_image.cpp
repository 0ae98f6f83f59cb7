// rankd/plan/folder_image.cpp: reading a folder twice and comparing.
#include <rankd/plan/folder_image.hpp>

#include <rankd/plan/catalog.hpp>
#include <rankd/plan/detail/index.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// A file, or what is wrong with it.
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

/// Whether a second pass finds what the first one has found. Keeps one file at a time.
auto is_still_so(const pass& seen, const fs::path& folder, const file_reader& read) -> bool {
  const auto listed = list_artifacts(folder);
  if (!listed || !seen.unlisted.empty()) return listed.has_value() == seen.unlisted.empty();
  const auto same = [&](const artifact& now, const read_file& before) {
    return now.file == before.file && read_one(now.file, read) == before;
  };
  return std::ranges::equal(*listed, seen.artifacts, same) && read_index(folder, read) == seen.index;
}

/// What the index of a pass says of its artifacts.
void check_index_of(const pass& seen, braid::diagnostics& problems) {
  if (!seen.index) return;
  if (seen.index->problem) return problems.add(*seen.index->problem);
  const auto document = parse_json(seen.index->text, seen.index->file.string());
  if (!document) return problems.append(document.error());
  std::vector<artifact> artifacts;
  for (const read_file& each : seen.artifacts) artifacts.push_back({each.file.stem().string(), each.file});
  const auto digest_of = [&](const artifact& one) -> braid::checked<std::string> {
    const auto found = std::ranges::find(seen.artifacts, one.file, &read_file::file);
    if (found->problem) return std::unexpected(braid::diagnostics(*found->problem));
    return sha256_hex(found->text);
  };
  braid::diagnostics wrong;
  detail::check_index(*document, artifacts, digest_of, wrong);
  wrong.set_source(seen.index->file.string());
  problems.append(std::move(wrong));
}

auto image_of(pass seen) -> braid::checked<std::vector<artifact_image>> {
  braid::diagnostics problems = std::move(seen.unlisted);
  check_index_of(seen, problems);
  std::vector<artifact_image> image;
  for (read_file& each : seen.artifacts) {
    if (each.problem) problems.add(std::move(*each.problem));
    std::string name = each.file.stem().string();
    image.push_back({std::move(name), std::move(each.file), std::move(each.text)});
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return image;
}

}  // namespace

auto read_folder_image(const fs::path& folder, const file_reader& read) -> braid::checked<std::vector<artifact_image>> {
  constexpr int max_tries = 4;
  const file_reader reader = read ? read : [](const fs::path& file) { return read_text_file(file); };
  for (int tries = 0; tries < max_tries; ++tries) {
    pass seen = read_all(folder, reader);
    if (is_still_so(seen, folder, reader)) return image_of(std::move(seen));
  }
  return std::unexpected(
      braid::diagnostics({.code = "folder_changing",
                          .pointer = {},
                          .message = "somebody writes into the folder of the plans while it is read",
                          .hint = "write a new folder beside it and rename it, or load the plans again later",
                          .node = {},
                          .source = folder.string()}));
}

}  // namespace rankd
