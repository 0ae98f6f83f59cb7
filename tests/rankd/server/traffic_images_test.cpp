// tests/rankd/server/traffic_images_test.cpp: a project and its plans come back from what was recorded of them.
#include <rankd/server/traffic/traffic_images.hpp>

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

using folder_change = void (*)(const scratch_folder&);

/// A copy of an example, changed if that is asked for, its plans loaded.
struct loaded_example {
  scratch_folder folder;
  project where;
  registries declared;
  plan_library library;

  explicit loaded_example(
      const fs::path& from, folder_change change = [](const scratch_folder&) {})
      : where(copied(from, folder, change)),
        declared(value_of(registries::load(where.registry, where.environment))),
        library(declared, {.budgets = where.budgets,
                           .experiments = value_of(experiment_set::load(where.registry, declared)),
                           .models = where.models}) {
    value_of(library.reload(where.plans));
  }

  auto image(std::string_view plan) const -> braid::checked<recorded_plan> {
    return make_image(*value_of(library.find(plan)), where, declared);
  }
  auto world() const -> std::unique_ptr<recorded_world> {
    return value_of(recorded_world::make(value_of(make_image(where, declared, "1.2"))));
  }

 private:
  static auto copied(const fs::path& from, const scratch_folder& to, folder_change change) -> project {
    fs::copy(from, to.path(), fs::copy_options::recursive);
    change(to);
    return value_of(project::load(to.path()));
  }
};

auto code_of(const braid::diagnostics& problems) -> std::string { return problems.front().code; }

}  // namespace

TEST_CASE("plans of every example are bound to the same again, with neither project nor models there") {
  for (const char* name : {"films", "shop", "experiments", "rerank", "books"}) {
    CAPTURE(name);
    std::unique_ptr<recorded_world> world;
    std::vector<std::pair<std::string, std::string>> digests;
    {
      const loaded_example example(fs::path("examples") / name);
      world = example.world();
      std::uint32_t number = 0;
      for (const auto& version : example.library.current()->versions()) {
        auto image = value_of(example.image(version->plan.name));
        image.number = ++number;
        if (version->plan.substitute != nullptr) continue;  // which has no number here
        digests.emplace_back(std::to_string(number), version->plan.digest);
        REQUIRE(world->add(image).has_value());
        const auto again = world->find(number);
        REQUIRE(again != nullptr);
        CHECK(again->digest == version->plan.digest);
        CHECK((again->experiments == nullptr) == (version->plan.experiments == nullptr));
        if (again->experiments != nullptr) CHECK(*again->experiments == *version->plan.experiments);
        CHECK(again->budget.rows == version->plan.budget.rows);
        CHECK_FALSE(again->budget.max_deadline.has_value());
      }
    }
    CHECK_FALSE(digests.empty());
    CHECK(world->find(99) == nullptr);
  }
}

TEST_CASE("a model is recorded in the format that its trainer wrote, whatever the name of its file") {
  const loaded_example example("examples/books", [](const scratch_folder& folder) {
    fs::remove(folder.path() / "models/clicks.json");
    folder.write("models/clicks.txt",
                 "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n"
                 "objective=regression\nfeature_names=rating price\nfeature_infos=[0:5] [0:9]\ntree_sizes=1\n\n"
                 "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=3.5\ndecision_type=2\n"
                 "left_child=-1\nright_child=-2\nleaf_value=1 2\nis_linear=0\nshrinkage=1\n\n\nend of trees\n");
  });
  const auto world = example.world();
  auto image = value_of(example.image("scored"));
  REQUIRE(image.models.size() == 1);
  CHECK(image.models[0].name == "clicks");
  CHECK(image.models[0].text.starts_with("tree\n"));
  image.number = 1;
  REQUIRE(world->add(image).has_value());
  CHECK(world->find(1)->models == value_of(example.library.find("scored"))->models);

  fs::rename(example.where.models / "clicks.txt", example.where.models / "others.txt");
  CHECK(code_of(example.image("scored").error()) == "unknown_model");
}

TEST_CASE("nodes that had limits of time have none when they are brought back") {
  const auto& project = reference_project::get();
  const auto world = value_of(recorded_world::make(value_of(make_image(project.where, project.declared, "1.2"))));
  std::string limited = source("a", 1);
  limited.replace(limited.size() - 1, 1, R"(,"timeout_ms":1})");
  recorded_plan image;
  image.name = "t";
  image.artifact = artifact_of(limited, R"("a")", R"("capabilities_required":["cap.rfc.0007.timeouts.v1"],)");
  image.digest = sha256_hex(image.artifact);
  REQUIRE(world->add(image).has_value());
  const auto again = world->find(image.number);
  CHECK(again->stated->nodes.at(0).timeout_ms == 1);
  CHECK(again->nodes.at(0).timeout == braid::duration::max());
}

TEST_CASE("a plan whose files are others by now has no image") {
  const loaded_example example("examples/books");
  std::string with_model;
  for (const auto& version : example.library.current()->versions())
    if (!version->plan.models.empty()) with_model = version->plan.name;
  REQUIRE_FALSE(with_model.empty());
  CHECK(example.image(with_model).has_value());
  for (const auto& each : value_of(example.library.find(with_model))->models)
    example.folder.write(fs::relative(example.where.models / (each.name + ".json"), example.folder.path()), "{}");
  const auto changed = example.image(with_model);
  REQUIRE_FALSE(changed.has_value());
  CHECK(code_of(changed.error()) == "plan_changed");

  const fs::path artifact = example.where.plans / (with_model + ".json");
  example.folder.write(fs::relative(artifact, example.folder.path()), value_of(read_text_file(artifact)) + " ");
  const auto other = example.image(with_model);
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().front().source == artifact.string());
  fs::remove(artifact);
  CHECK(code_of(example.image(with_model).error()) == "unreadable_file");
}

TEST_CASE("experiments that are others by now leave a plan without an image") {
  const loaded_example example("examples/experiments");
  std::string name;
  for (const auto& version : example.library.current()->versions())
    if (version->plan.experiments != nullptr) name = version->plan.name;
  REQUIRE_FALSE(name.empty());
  CHECK_FALSE(value_of(example.image(name)).experiments.empty());
  const fs::path file = example.where.registry / "experiments.toml";
  std::string text = value_of(read_text_file(file));
  text.replace(text.find("salt = \""), 8, "salt = \"x");
  example.folder.write(fs::relative(file, example.folder.path()), text);
  CHECK(code_of(example.image(name).error()) == "plan_changed");
}

TEST_CASE("records that lie are refused") {
  const loaded_example example("examples/shop");
  auto project = value_of(make_image(example.where, example.declared, "1.2"));
  CHECK(project.cursor_age.count() == 0);
  const auto code = [](const recorded_project& image) { return code_of(recorded_world::make(image).error()); };
  auto other = project;
  other.digests.front().text = "0";
  CHECK(code(other) == "registry_changed");
  other = project;
  other.registry.front().name = "../keys.toml";
  CHECK(code(other) == "bad_name");
  other.registry.front().name = "a/b";
  CHECK(code(other) == "bad_name");
  other.registry.front().name = "..";
  CHECK(code(other) == "bad_name");
  other = project;
  other.environment = "elsewhere";
  CHECK(code(other) == "unknown_environment");

  const auto world = example.world();
  auto plan = value_of(example.image("home"));
  plan.digest = "0";
  CHECK(code_of(world->add(plan).error()) == "plan_changed");
  plan = value_of(example.image("home"));
  plan.models.push_back({"../../x", "{}"});
  CHECK(code_of(world->add(plan).error()) == "bad_name");
  plan = value_of(example.image("home"));
  plan.artifact = "{}";
  CHECK(code_of(world->add(plan).error()) != "");
}

TEST_CASE("another plan takes the place of one by the name that it states, whatever its file is called") {
  const loaded_example example("examples/shop");
  const auto world = example.world();
  const auto image = value_of(example.image("home"));
  const auto file = example.folder.write("candidate.txt", image.artifact + "\n");
  REQUIRE(world->replace_by(file).has_value());
  CHECK(world->is_replaced("home"));
  CHECK(world->unused() == std::vector<std::string>{"home"});
  REQUIRE(world->add(image).has_value());
  CHECK(world->unused().empty());
  CHECK(world->find(image.number)->digest != image.digest);
  CHECK(code_of(world->replace_by(example.folder.write("none.json", "[]")).error()) == "missing_field");
  CHECK(code_of(world->replace_by(example.folder.write("none.json", "{")).error()) == "json_syntax");
}
