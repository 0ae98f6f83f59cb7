// tests/rankd/engine/plan_fallbacks_test.cpp: plans of a library that stand in for others, while both change.
#include <rankd/engine/plans/plan_library.hpp>

#include <tests/rankd/engine/library_world.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

using names = std::vector<std::string>;
constexpr std::string_view user_1 = R"({"user_id":1})";

auto declared() -> const registries& { return reference_project::get().declared; }

void write_plan(const scratch_folder& folder, const std::string& name, int value) {
  folder.write(name + ".json", marked_plan(name, value));
}

/// What the plan of a name answers by now.
auto mark_now(engine_world& world, const plan_library& library, std::string_view name) -> std::string {
  const auto plan = library.find(name);
  if (!plan) return plan.error().front().code;
  return mark_of(world.on().run(world.ranker().rank(*plan, value_of(parse_request(user_1, declared())))));
}

}  // namespace

TEST_CASE("a plan is bound to the plan that stands in for it, and gets a new version with it") {
  engine_world world;
  const scratch_folder folder;
  plan_library library(declared());
  const std::string more =
      R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"fallback_plan":{"plan":"b","on":["test_failure"]},)";
  std::string failing = artifact_of(source("s", 1) + "," + sleep("x", "s", 0, sleep_end::failing), R"("x")", more);
  failing.replace(failing.find("\"t\""), 3, "\"a\"");
  folder.write("a.json", failing);
  CHECK((codes_of(library.reload(folder.path())) == names{"unknown_plan"}));

  write_plan(folder, "b", 7);
  CHECK((value_of(library.reload(folder.path())).added == names{"a", "b"}));
  CHECK(mark_now(world, library, "a") == "7");
  CHECK((value_of(library.reload(folder.path())).unchanged == names{"a", "b"}));

  write_plan(folder, "b", 8);
  CHECK((value_of(library.reload(folder.path())).changed == names{"a", "b"}));
  CHECK(mark_now(world, library, "a") == "8");

  std::string nested = failing;
  nested.replace(nested.find("\"a\""), 3, "\"c\"");
  nested.replace(nested.find("\"plan\":\"b\""), 10, "\"plan\":\"a\"");
  folder.write("c.json", nested);
  CHECK((codes_of(library.reload(folder.path())) == names{"nested_fallback"}));
}

namespace {

/// A plan that fails, and for which another one stands in; `note` is a text in it.
auto failing_plan(const std::string& name, const std::string& substitute, const std::string& note = "") -> std::string {
  const std::string more = R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"fallback_plan":{"plan":")" +
                           substitute + R"(","on":["test_failure"]},"built_by":")" + note + "\",";
  std::string out = artifact_of(source("s", 1) + "," + sleep("x", "s", 0, sleep_end::failing), R"("x")", more);
  return out.replace(out.find("\"t\""), 3, "\"" + name + "\"");
}

auto number_of(const plan_library& library, const std::string& name) -> std::uint64_t {
  std::uint64_t found = 0;
  for (const plan_version_info& each : library.versions())
    if (each.name == name && each.serves) found = each.number;
  return found;
}

auto users_of(const plan_library& library, const std::string& name) -> std::size_t {
  std::size_t sum = 0;
  for (const plan_version_info& each : library.versions())
    if (each.name == name) sum += each.users;
  return sum;
}

}  // namespace

TEST_CASE("what is a substitute is read from plans, whatever words stand in their texts and in whatever order") {
  engine_world world;
  const scratch_folder folder;
  plan_library library(declared());
  std::string marked = marked_plan("z", 3);
  folder.write("z.json", marked.insert(1, R"("built_by":"what has no fallback_plan",)"));
  std::string escaped = failing_plan("a", "z");
  folder.write("a.json", escaped.replace(escaped.find("fallback_plan"), 13, "fallback\\u005fplan"));
  CHECK((value_of(library.reload(folder.path())).added == names{"a", "z"}));
  CHECK(mark_now(world, library, "a") == "3");
}

TEST_CASE("plans that stand in for each other are both refused, and so is one whose substitute has gone") {
  const scratch_folder folder;
  plan_library library(declared());
  folder.write("a.json", failing_plan("a", "b"));
  folder.write("b.json", failing_plan("b", "a"));
  CHECK((codes_of(library.reload(folder.path())) == names{"nested_fallback", "nested_fallback"}));
  write_plan(folder, "b", 1);
  value_of(library.reload(folder.path()));
  std::filesystem::remove(folder.path() / "b.json");
  CHECK((codes_of(library.reload(folder.path())) == names{"unknown_plan"}));
}

TEST_CASE("a pin, a rollback and an unpin of a substitute reach the plans that name it") {
  engine_world world;
  const scratch_folder folder;
  plan_library library(declared());
  folder.write("a.json", failing_plan("a", "b"));
  write_plan(folder, "b", 1);
  value_of(library.reload(folder.path()));
  write_plan(folder, "b", 2);
  value_of(library.reload(folder.path()));
  CHECK(number_of(library, "a") == 2);
  const std::string second = value_of(library.find("a"))->digest;

  value_of(library.roll_back("b"));
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(number_of(library, "a") == 3);
  CHECK(value_of(library.find("a"))->digest != second);

  write_plan(folder, "b", 5);  // the pinned one goes on standing in, too
  CHECK((value_of(library.reload(folder.path())).unchanged == names{"a"}));
  CHECK(mark_now(world, library, "a") == "1");

  CHECK(library.unpin("b").has_value());
  CHECK(mark_now(world, library, "a") == "5");
  value_of(library.pin("b", 2));
  CHECK(mark_now(world, library, "a") == "2");
  CHECK(value_of(library.find("a"))->digest == second);

  // A plan that is pinned itself stays what it is until it is unpinned.
  value_of(library.pin("a", number_of(library, "a")));
  value_of(library.pin("b", 3));
  CHECK(mark_now(world, library, "a") == "2");
  CHECK(library.unpin("a").has_value());
  CHECK(mark_now(world, library, "a") == "5");
}

TEST_CASE("a version that stands in for others is not counted as used by that") {
  const scratch_folder folder;
  plan_library library(declared());
  folder.write("a.json", failing_plan("a", "b"));
  folder.write("c.json", failing_plan("c", "b"));
  write_plan(folder, "b", 1);
  value_of(library.reload(folder.path()));
  CHECK(users_of(library, "b") == 0);
  const plan_handle held = value_of(library.find("b"));
  CHECK(users_of(library, "b") == 1);
  write_plan(folder, "b", 2);
  value_of(library.reload(folder.path()));
  CHECK(users_of(library, "b") == 1);
  CHECK(users_of(library, "a") == 0);
}
