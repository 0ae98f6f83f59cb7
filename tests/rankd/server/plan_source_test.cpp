// tests/rankd/server/plan_source_test.cpp: plans by name.
#include <rankd/server/studio/plan_source.hpp>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("plans are found by their whole name, and listed by it") {
  std::vector<known_plan> given;
  for (const char* name : {"b", "ab", "a"}) given.push_back({.name = name, .bound = nullptr, .problems = {}});
  const fixed_plans plans(std::move(given));
  std::string names;
  const auto all = plans.list();
  for (const known_plan& each : all) names += each.name + " ";
  CHECK(names == "a ab b ");
  CHECK(plans.find("ab")->name == "ab");
  for (const char* name : {"", "A", "aa", "abc", "c"}) CHECK(!plans.find(name));
  CHECK(!fixed_plans({}).find("a"));
}
