// tests/rankd/engine/plan_set_test.cpp: plans looked up by name, and handles that keep them.
#include <rankd/engine/plans/plan_set.hpp>

#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto version(std::string name) -> std::shared_ptr<const plan_version> {
  plan_version made;
  made.plan.name = std::move(name);
  return std::make_shared<const plan_version>(std::move(made));
}

}  // namespace

TEST_CASE("a plan is found by its whole name, and nothing by any other") {
  const plan_set set({version("a"), version("ab"), version("c")});
  for (const char* name : {"a", "ab", "c"}) {
    REQUIRE(set.find(name) != nullptr);
    CHECK(set.find(name)->name == name);
  }
  for (const char* name : {"", "A", "aa", "abc", "b", "d"}) CHECK(set.find(name) == nullptr);
  CHECK(plan_set().find("a") == nullptr);
  CHECK(set.versions().size() == 3);
}

TEST_CASE("a handle keeps its plan when the set is gone") {
  plan_handle kept;
  std::weak_ptr<const plan_version> seen;
  {
    const plan_set set({version("a")});
    kept = set.find("a");
    seen = set.versions().front();
  }
  CHECK(kept->name == "a");
  CHECK_FALSE(seen.expired());
  kept.reset();
  CHECK(seen.expired());
}
