// tests/rankd/plan/artifact_folder_test.cpp: folders of artifacts, with and without an index.
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/plan/shapes.hpp>
#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::scratch_folder;

namespace {

auto small_plan(const std::string& name) -> std::string {
  return R"({"schema_version":1,"plan_name":")" + name +
         R"(","nodes":[{"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}}],"outputs":["v"]})";
}

auto index_row(const std::string& name, const std::string& digest) -> nlohmann::json {
  return {{"name", name}, {"path", name + ".json"}, {"digest", digest}};
}

auto index_of(std::initializer_list<nlohmann::json> rows) -> std::string {
  return nlohmann::json{{"schema_version", 1}, {"plans", nlohmann::json::array_t(rows)}}.dump();
}

}  // namespace

TEST_CASE("artifacts are listed by name, without the index, the manifest and other files") {
  const scratch_folder folder;
  for (const char* name : {"b.json", "a.json", "index.json", "manifest.json", "README.md", "c.json.bak"})
    folder.write(name, "");
  const auto found = list_artifacts(folder.path());
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].name == "a");
  CHECK((*found)[1].name == "b");
  CHECK((*found)[1].file == folder.path() / "b.json");
}

TEST_CASE("tests of plans are listed by the names of their plans, and are no artifacts") {
  const scratch_folder folder;
  for (const char* name : {"b.json", "b.tests.json", "a.tests.json", "tests.json"}) folder.write(name, "");
  const auto found = list_plan_tests(folder.path());
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].name == "a");
  CHECK((*found)[1].name == "b");
  CHECK((*found)[1].file == folder.path() / "b.tests.json");
  const auto plans = list_artifacts(folder.path());
  REQUIRE(plans);
  REQUIRE(plans->size() == 2);
  CHECK((*plans)[0].name == "b");
  CHECK((*plans)[1].name == "tests");
  CHECK_FALSE(list_plan_tests(folder.path() / "absent"));
}

TEST_CASE("a folder that is not there is unreadable") {
  const scratch_folder folder;
  const auto refused = list_artifacts(folder.path() / "absent");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "unreadable_folder");
}

TEST_CASE("an index that tells the truth is accepted") {
  const scratch_folder folder;
  folder.write("a.json", small_plan("a"));
  CHECK(verify_index(folder.path()).empty());
  folder.write("index.json", index_of({index_row("a", sha256_hex(small_plan("a")))}));
  CHECK(verify_index(folder.path()).empty());
}

TEST_CASE("an index that does not is refused") {
  const scratch_folder folder;
  folder.write("a.json", small_plan("a"));
  folder.write("b.json", small_plan("b"));
  const std::string right = sha256_hex(small_plan("a"));
  const auto check = [&](std::initializer_list<nlohmann::json> rows) {
    folder.write("index.json", index_of(rows));
    return testing::list(verify_index(folder.path()));
  };
  using lines = std::vector<std::string>;
  CHECK(check({index_row("a", right), index_row("b", right)}) == lines{"digest_mismatch /plans/1/digest"});
  CHECK(check({index_row("a", right)}) == lines{"not_indexed /plans"});
  const auto b = index_row("b", sha256_hex(small_plan("b")));
  CHECK(check({index_row("a", right), b, index_row("c", right)}) == lines{"unknown_artifact /plans/2/name"});
  CHECK(check({index_row("a", right), b, b}) == lines{"duplicate_value /plans/2/name"});
  auto elsewhere = b;
  elsewhere["path"] = "../b.json";
  CHECK(check({index_row("a", right), elsewhere}) == lines{"bad_value /plans/1/path"});
}

TEST_CASE("what an index says of one artifact is checked by itself") {
  const scratch_folder folder;
  const auto a = folder.write("a.json", small_plan("a"));
  const auto b = folder.write("b.json", small_plan("b"));
  const auto of = [](const std::string& name, const std::filesystem::path& file) {
    return testing::list(verify_index_entry({name, file}));
  };
  using lines = std::vector<std::string>;
  CHECK(of("a", a).empty());
  folder.write("index.json", index_of({index_row("a", sha256_hex(small_plan("b")))}));
  CHECK(of("a", a) == lines{"digest_mismatch /plans/0/digest"});
  CHECK(of("b", b).empty());
  folder.write("index.json", index_of({index_row("a", sha256_hex(small_plan("a")))}));
  CHECK(of("a", a).empty());
  folder.write("index.json", "{}");
  CHECK(of("a", a) == lines{"missing_field "});
  folder.write("index.json", "[");
  CHECK(of("a", a) == lines{"json_syntax "});
}

TEST_CASE("the index of the repository's artifacts is true") { CHECK(verify_index("plans/compiled").to_text() == ""); }
