// tests/rankd/embed/workspace_test.cpp: projects are found and opened, plans loaded by name or file, stores filled
// once.
#include <rankd/embed/workspace.hpp>

#include <tests/rankd/cli/project_copy.hpp>

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::project_copy;

namespace {

namespace fs = std::filesystem;

template <typename T>
auto code_of(const braid::checked<T>& made) -> std::string {
  return made ? "fine" : made.error().front().code;
}

}  // namespace

TEST_CASE("a project is opened in the folder that is named, or looked for from the current one upwards") {
  const project_copy copy;
  const auto named = workspace::open(copy.path());
  REQUIRE(named);
  CHECK(named->where.name == "reference");
  CHECK(named->declared.find_key("final_score") != nullptr);

  const fs::path before = fs::current_path();
  fs::current_path(copy.path() / "data/reference");
  const auto found = workspace::open({});
  fs::current_path("/");
  const auto none = workspace::open({});
  fs::current_path(before);
  REQUIRE(found);
  CHECK(fs::equivalent(found->where.root, copy.path()));
  CHECK(code_of(none) == "no_project");
  CHECK_FALSE(workspace::open(copy.path() / "registry"));
}

TEST_CASE("diagnostics about registries come through") {
  const project_copy copy;
  copy.write("registry/params.toml", "[[param]]\nparam_id = 0\n");
  const auto opened = workspace::open(copy.path());
  REQUIRE_FALSE(opened);
  CHECK(opened.error().size() > 1);
}

TEST_CASE("a plan is loaded by its name or from its file") {
  const project_copy copy;
  const workspace in = workspace::open(copy.path()).value();
  const auto by_name = in.load_named_plan("reels_plan_a");
  const auto by_file = in.load_named_plan((copy.path() / "plans/compiled/reels_plan_a.json").string());
  REQUIRE(by_name);
  REQUIRE(by_file);
  CHECK(by_name->digest == by_file->digest);

  const auto near = in.load_named_plan("reels_plan_b");
  CHECK(code_of(near) == "unknown_plan");
  CHECK(near.error().front().hint == "did you mean `reels_plan_a`?");
  CHECK(in.load_named_plan("zzz").error().front().hint == "`rankd plans` lists the plans of the project");
  CHECK(code_of(in.load_named_plan("../../etc/passwd")) == "unknown_plan");
  CHECK(code_of(in.load_named_plan("missing.json")) == "unreadable_file");
}

TEST_CASE("stores are filled at their first use only, one pointer for each endpoint") {
  const project_copy copy;
  const workspace in = workspace::open(copy.path()).value();
  CHECK(in.embedded_folder().value() == copy.store());
  const auto first = open_all_stores(in);
  REQUIRE(first);
  REQUIRE(first->pointers().size() == in.declared.endpoints().size());
  CHECK(first->pointers()[0] != nullptr);
  CHECK(first->pointers()[1] != nullptr);  // a server of models, which is not asked yet

  copy.write("data/reference/broken.ndjson", "nonsense\n");
  CHECK(open_all_stores(in));
  fs::remove_all(copy.store());
  CHECK_FALSE(open_all_stores(in));
}

TEST_CASE("an environment without an embedded store has no folder to fill") {
  const project_copy copy;
  copy.write("rankd.toml",
             "name = \"x\"\nenvironment = \"prod\"\nregistry = \"registry\"\nplans = \"plans/compiled\"\n");
  const workspace in = workspace::open(copy.path()).value();
  CHECK(code_of(in.embedded_folder()) == "no_embedded_store");
  const auto stores = open_all_stores(in);
  REQUIRE(stores);
  CHECK(stores->pointers()[0] != nullptr);  // Redis, which is not asked before somebody ranks
}

TEST_CASE("a store is named by a folder, or is the project's") {
  const project_copy copy;
  CHECK(store_folder("/nowhere", "x/y").value() == "x/y");
  CHECK(store_folder("/nowhere", "lmdb:x").value() == "x");
  CHECK(store_folder(copy.path(), "").value() == copy.store());
  CHECK(code_of(store_folder(copy.path(), "lmdb:")) == "store_unsupported");
  CHECK(code_of(store_folder(copy.path(), "redis://h:1")) == "store_unsupported");
  CHECK_FALSE(store_folder("/nowhere", ""));
}

TEST_CASE("a plan that reads no store runs without it, and a plan that reads one needs it") {
  const project_copy copy;
  copy.write("plans/compiled/own.json",
             R"({"schema_version":1,"plan_name":"own","outputs":["c"],"nodes":[)"
             R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[]}}]})");
  fs::remove(copy.path() / "plans/compiled/index.json");
  copy.write("rankd.toml",
             "name = \"r\"\nenvironment = \"test\"\nregistry = \"registry\"\nplans = \"plans/compiled\"\n");
  const workspace in = workspace::open(copy.path()).value();
  const bound_plan own = in.load_named_plan("own").value();
  const bound_plan reels = in.load_named_plan("reels_plan_a").value();
  CHECK(code_of(open_all_stores(in)) == "store_missing");
  const bound_plan* const first = &own;
  const auto opened = open_plan_stores(in, {&first, 1});
  REQUIRE(opened);
  CHECK(opened->pointers() == std::vector<store*>(in.declared.endpoints().size()));
  const bound_plan* const both[] = {&own, &reels};
  CHECK(code_of(open_plan_stores(in, both)) == "store_missing");
  bound_plan with_substitute = own;
  with_substitute.substitute = std::make_shared<const bound_plan>(reels);
  const bound_plan* const third = &with_substitute;
  CHECK(code_of(open_plan_stores(in, {&third, 1})) == "store_missing");
}
