// tests/rankd/cli/stub_files_test.cpp: the files of tests replace those of a project, and the others stay.
#include <rankd/cli/plan_tests/stub_files.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/store/vector_file.hpp>

#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <optional>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

namespace fs = std::filesystem;

/// A copy of examples/similar with two models, whose file of vectors is at `path`.
class similar_project : public braid::testing::scratch_folder {
 public:
  explicit similar_project(const std::string& vectors = "vectors/products.rvec") {
    fs::copy("examples/similar", path() / "similar", fs::copy_options::recursive);
    const fs::path endpoints = path() / "similar/registry/endpoints.dev.toml";
    std::string text = read_text_file(endpoints).value();
    const std::string from = "vectors/products.rvec";
    text.replace(text.find(from), from.size(), vectors);
    write("similar/registry/endpoints.dev.toml", text);
    write("similar/models/one.json", "1");
    write("similar/models/two.txt", "2");
    where = project::load(path() / "similar").value();
    where.models = path() / "similar/models";
    declared.emplace(registries::load(where.registry, "dev").value());
  }

  project where;
  std::optional<registries> declared;
};

const stub_vectors few{.endpoint_id = "ep_0002", .lines = "{\"id\": 7, \"vector\": [1, 0]}\n"};

}  // namespace

TEST_CASE("a model of tests takes the place of the model with its name, in any form") {
  const similar_project project;
  const auto made =
      stub_files::create(project.where, *project.declared, {.plan = "p", .models = {{"two", "{}"}}, .tests = {}});
  REQUIRE(made.has_value());
  CHECK(read_text_file(made->where().models / "one.json").value() == "1");
  CHECK(read_text_file(made->where().models / "two.json").value() == "{}");
  CHECK_FALSE(fs::exists(made->where().models / "two.txt"));
  CHECK(made->where().root == project.where.root);
}

TEST_CASE("vectors of tests take the place of the file of their endpoint") {
  const similar_project project;
  const auto made = stub_files::create(project.where, *project.declared, {.plan = "p", .vectors = {few}, .tests = {}});
  REQUIRE(made.has_value());
  const auto file = vector_file::open(made->where().root / "vectors/products.rvec");
  REQUIRE(file.has_value());
  CHECK((*file)->size() == 1);
  CHECK((*file)->dimensions() == 2);
  CHECK(made->where().models == project.where.models);
  CHECK_FALSE(fs::exists(project.where.root / "vectors/products.rvec"));
}

TEST_CASE("vectors outside the project are not replaced, and nothing is written there") {
  const similar_project project("../shared.rvec");
  const auto made = stub_files::create(project.where, *project.declared, {.plan = "p", .vectors = {few}, .tests = {}});
  REQUIRE(!made.has_value());
  CHECK(made.error().front().code == "unsupported_path");
  CHECK_FALSE(fs::exists(project.path() / "shared.rvec"));
}
