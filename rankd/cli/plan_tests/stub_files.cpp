// rankd/cli/plan_tests/stub_files.cpp: writes the models and vectors that tests define, and links the project's other
// models and vectors.
#include <rankd/cli/plan_tests/stub_files.hpp>

#include <rankd/op/models.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/vector_build.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto write(const fs::path& file, std::string_view bytes) -> braid::checked<void> {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  if (out) return {};
  return refused("store_write_failed", "a file for the tests cannot be written", {}, file);
}

/// Creates `file` as a symbolic link to a file of the project.
auto link(const fs::path& file, const fs::path& original) -> braid::checked<void> {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  fs::create_symlink(fs::absolute(original), file, error);
  if (!error) return {};
  return refused("store_write_failed", "a link for the tests cannot be created: " + error.message(), {}, file);
}

auto write_models(const fs::path& folder, const fs::path& originals, const plan_tests& tests) -> braid::checked<void> {
  for (const stub_model& each : tests.models)
    if (auto done = write(folder / (each.name + ".json"), each.text); !done) return done;
  if (originals.empty()) return {};
  for (const fs::path& file : model_files(originals)) {
    if (std::ranges::find(tests.models, file.stem().string(), &stub_model::name) != tests.models.end()) continue;
    if (auto done = link(folder / file.filename(), file); !done) return done;
  }
  return {};
}

/// Returns whether a relative path stays inside the folder that it is relative to.
auto is_inside(const fs::path& path) -> bool {
  return path.is_relative() && std::ranges::find(path, fs::path("..")) == path.end();
}

auto write_vectors(const fs::path& root, const endpoint_entry& endpoint, const stub_vectors& stub)
    -> braid::checked<void> {
  const fs::path path = std::get<file_resolver>(endpoint.resolver).path;
  if (!is_inside(path))
    return refused("unsupported_path",
                   "tests cannot replace the vectors of " + quote_name(endpoint.endpoint_id) + ", because their file " +
                       quote_name(path.string()) + " is outside the project",
                   "use a relative path without `..` in the registry of endpoints");
  const fs::path lines = root / "vectors.ndjson";
  if (auto done = write(lines, stub.lines); !done) return done;
  auto table = read_vectors(std::array{lines}, 0);
  if (!table) {
    table.error().set_source("the vectors of " + endpoint.endpoint_id);
    return std::unexpected(std::move(table.error()));
  }
  return write(root / "files" / path, vector_file_bytes(std::move(*table), vector_lists{}));
}

}  // namespace

auto stub_files::create(const project& source, const registries& declared, const plan_tests& tests)
    -> braid::checked<stub_files> {
  auto folder = test_folder::create();
  if (!folder) return std::unexpected(std::move(folder.error()));
  const fs::path root = (*folder)->path();
  project stubbed = source;
  if (!tests.models.empty()) {
    stubbed.models = root / "models";
    if (auto done = write_models(stubbed.models, source.models, tests); !done)
      return std::unexpected(std::move(done.error()));
  }
  if (tests.vectors.empty()) return stub_files(std::move(*folder), std::move(stubbed));
  stubbed.root = root / "files";
  for (const endpoint_entry& each : declared.endpoints()) {
    const auto* const file = std::get_if<file_resolver>(&each.resolver);
    if (file == nullptr) continue;
    const auto stub = std::ranges::find(tests.vectors, each.endpoint_id, &stub_vectors::endpoint_id);
    auto done = braid::checked<void>();
    if (stub != tests.vectors.end())
      done = write_vectors(root, each, *stub);
    else if (is_inside(file->path) && fs::exists(source.root / file->path))
      done = link(stubbed.root / file->path, source.root / file->path);
    if (!done) return std::unexpected(std::move(done.error()));
  }
  return stub_files(std::move(*folder), std::move(stubbed));
}

}  // namespace rankd
