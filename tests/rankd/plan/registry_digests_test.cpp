// tests/rankd/plan/registry_digests_test.cpp: plans hold against the entries that they refer to, and no others.
#include <rankd/plan/registry_digests.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using rankd::registries;

namespace {

/// Registries of two keys and a param, with one text in one of the files replaced.
auto declared_with(std::string_view from = {}, std::string_view to = {}) -> registries {
  std::string keys =
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n"
      "[[key]]\nkey_id = 7\nname = \"score\"\ntype = \"float\"\nnullable = false\ndefault = 0.5\n";
  if (!from.empty()) keys.replace(keys.find(from), from.size(), to);
  const braid::testing::scratch_folder folder;
  folder.write("keys.toml", keys);
  folder.write("params.toml", "[[param]]\nparam_id = 4\nname = \"boost\"\ntype = \"float\"\nnullable = true\n");
  folder.write("endpoints.test.toml", "");
  return registries::load(folder.path(), "test").value();
}

/// An artifact's digests of these registries: of the entry, or of all of them where it is empty.
auto artifact_of(const registries& declared, std::string_view registry, std::string_view entry) -> json {
  json digests = json::object();
  for (const rankd::registry_digest& each : declared.digests()) {
    if (each.name != registry) continue;
    if (entry.empty()) digests[each.name] = each.sha256;
    for (const rankd::entry_digest& one : each.entries)
      if (one.id == entry) digests[each.name][one.id] = one.sha256;
  }
  return {{"registry_digests", digests}};
}

auto find_problems(const json& artifact, const registries& declared) -> braid::diagnostics {
  braid::diagnostics problems;
  rankd::object_reader top(artifact, "", problems);
  static_cast<void>(rankd::read_registry_digests(top, "the plan was", declared, problems));
  return problems;
}

}  // namespace

TEST_CASE("an entry that has changed is named, with what to do") {
  const registries before = declared_with();
  const auto problems =
      find_problems(artifact_of(before, "keys", "7"), declared_with("default = 0.5", "default = 1.0"));
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == "registry_changed");
  CHECK(problems.front().pointer == "/registry_digests/keys/7");
  CHECK(problems.front().message == "the declaration of key `7` (score) has changed since the plan was built");
  CHECK(problems.front().hint == "build again with `dslc build`, or restore the declaration");
}

TEST_CASE("an entry that is gone is named, with what to do") {
  const registries before = declared_with();
  const auto problems = find_problems(artifact_of(before, "keys", "7"), declared_with("key_id = 7", "key_id = 8"));
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().pointer == "/registry_digests/keys/7");
  CHECK(problems.front().message == "key `7`, with which the plan was built, is no longer declared");
  CHECK(problems.front().hint == "declare it again, or build the plan without it");
}

TEST_CASE("entries that a plan does not refer to may change, come and go") {
  const registries before = declared_with();
  for (const char* other :
       {"[[key]]\nkey_id = 9\nname = \"more\"\ntype = \"int\"\nnullable = true\n[[key]]\nkey_id = 7"})
    CHECK(find_problems(artifact_of(before, "keys", "1"), declared_with("[[key]]\nkey_id = 7", other)).empty());
  const registries after = declared_with("\"score\"", "\"points\"");
  CHECK(find_problems(artifact_of(before, "keys", "1"), after).empty());
  CHECK(find_problems(artifact_of(before, "params", "4"), after).empty());
  CHECK(find_problems(artifact_of(before, "params", ""), after).empty());
}

TEST_CASE("the digest of a whole registry is held against all of its entries") {
  const registries before = declared_with();
  CHECK(find_problems(artifact_of(before, "keys", ""), before).empty());
  const auto problems = find_problems(artifact_of(before, "keys", ""), declared_with("\"score\"", "\"points\""));
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().pointer == "/registry_digests/keys");
  CHECK(problems.front().message == "the plan was built against another registry of keys");
}

TEST_CASE("what stands in the artifact is given, in the order of the registries") {
  const registries declared = declared_with();
  json artifact = artifact_of(declared, "params", "4");
  artifact["registry_digests"]["keys"] = declared.digests()[0].sha256;
  braid::diagnostics problems;
  rankd::object_reader top(artifact, "", problems);
  const auto read = rankd::read_registry_digests(top, "the plan was", declared, problems);
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == "keys");
  CHECK(read[0].sha256 == declared.digests()[0].sha256);
  CHECK(read[1].name == "params");
  CHECK(read[1].sha256.empty());
  REQUIRE(read[1].entries.size() == 1);
  CHECK(read[1].entries[0].id == "4");
}
