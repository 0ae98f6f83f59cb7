// tests/rankd/server/library_plans_test.cpp: a server whose plans change under its requests.
#include <rankd/server/studio/plan_source.hpp>

#include <tests/rankd/engine/library_world.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::marked_plan;

TEST_CASE("what a library serves is found and listed, and a plan that was found stays after it was replaced") {
  const braid::testing::scratch_folder folder;
  folder.write("b.json", marked_plan("b", 1));
  folder.write("a.json", marked_plan("a", 1));
  plan_library library(rankd::testing::reference_project::get().declared);
  const library_plans plans(library);
  CHECK(!plans.find("a"));
  CHECK(plans.list().empty());
  REQUIRE(library.reload(folder.path()));
  const auto old = plans.find("a").value();
  CHECK(old.name == "a");
  folder.write("a.json", marked_plan("a", 2));
  REQUIRE(library.reload(folder.path()));
  CHECK(plans.find("a")->bound->digest != old.bound->digest);
  CHECK(old.bound->nodes.size() == 3);
  std::string names;
  const auto all = plans.list();
  for (const known_plan& each : all) names += each.name + (each.bound ? "+" : "-");
  CHECK(names == "a+b+");
}
