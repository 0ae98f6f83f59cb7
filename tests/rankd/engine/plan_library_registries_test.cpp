// tests/rankd/engine/plan_library_registries_test.cpp: reloads with other registries.
#include <rankd/engine/requests/page_cursors.hpp>
#include <tests/rankd/engine/library_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

using names = std::vector<std::string>;

auto declared() -> const registries& { return reference_project::get().declared; }

/// What the repository declares, read once more: plans cannot know that it is the same.
auto read_again() -> std::shared_ptr<const registries> {
  return std::make_shared<const registries>(value_of(registries::load("registry", "test")));
}

auto reload(plan_library& library, const scratch_folder& folder, std::shared_ptr<const registries> with) {
  return library.reload(folder.path(), std::nullopt, std::nullopt, std::move(with));
}

}  // namespace

TEST_CASE("with other registries each plan gets a new version of the same digest, and earlier handles keep theirs") {
  const scratch_folder folder;
  plan_library library(declared(), {.max_kept = 1});
  folder.write("a.json", marked_plan("a", 1));
  value_of(library.reload(folder.path()));
  const plan_handle first = value_of(library.find("a"));
  CHECK(first->declared.get() == &declared());

  std::weak_ptr<const registries> second_registries;
  plan_handle second;
  {
    const auto others = read_again();
    second_registries = others;
    const reload_report report = value_of(reload(library, folder, others));
    CHECK(report.registries_changed);
    CHECK((report.changed == names{"a"}));
    second = value_of(library.find("a"));
    CHECK(second->declared == others);
    CHECK(second->digest == first->digest);
    const reload_report again = value_of(reload(library, folder, others));
    CHECK_FALSE(again.registries_changed);
    CHECK((again.unchanged == names{"a"}));
    CHECK((value_of(library.reload(folder.path())).unchanged == names{"a"}));
  }
  value_of(reload(library, folder, read_again()));
  CHECK(second->declared->find_key("final_score") != nullptr);
  second.reset();
  CHECK(second_registries.expired());
}

TEST_CASE("registries of a reload that is refused serve no plan") {
  const scratch_folder folder;
  plan_library library(declared());
  folder.write("a.json", marked_plan("a", 1));
  value_of(library.reload(folder.path()));
  folder.write("b.json", "{}");
  CHECK_FALSE(reload(library, folder, read_again()).has_value());
  CHECK(library.current()->declared().get() == &declared());
  folder.write("b.json", marked_plan("b", 2));
  CHECK((value_of(library.reload(folder.path())).unchanged == names{"a"}));
}

TEST_CASE("a substitute that is pinned to other registries stands in for no plan with new ones") {
  const scratch_folder folder;
  plan_library library(declared());
  const std::string more =
      R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"fallback_plan":{"plan":"b","on":["test_failure"]},)";
  std::string plan = artifact_of(source("s", 1), R"("s")", more);
  folder.write("a.json", plan.replace(plan.find("\"t\""), 3, "\"a\""));
  folder.write("b.json", marked_plan("b", 1));
  value_of(library.reload(folder.path()));
  value_of(library.pin("b", 1));
  CHECK((codes_of(reload(library, folder, read_again())) == names{"fallback_of_other_registries"}));
  REQUIRE(library.unpin("b").has_value());
  const reload_report report = value_of(reload(library, folder, read_again()));
  CHECK((report.changed == names{"a", "b"}));
}

TEST_CASE("replicas with and without a param that no request gives take each other's cursors") {
  const scratch_folder folder;
  const auto identity = [&folder](const std::string& params) {
    folder.write("keys.toml",
                 "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n");
    folder.write("params.toml", params);
    folder.write("endpoints.dev.toml", "");
    const registries own = value_of(registries::load(folder.path(), "dev"));
    const bound_plan plan = value_of(
        bind_plan(value_of(parse_plan(artifact_of(source("s", 1), R"("s")"), "t.json", {all_op_shapes(), own})), own));
    return ranking_identity(plan, value_of(parse_request(R"({"param_overrides":{"size":3}})", own)), own);
  };
  const auto param = [](int id, const std::string& name) {
    return "[[param]]\nparam_id = " + std::to_string(id) + "\nname = \"" + name +
           "\"\ntype = \"int\"\nnullable = false\ndefault = 5\n";
  };
  CHECK(identity(param(2, "size")) == identity(param(2, "size") + param(1, "more")));
}
