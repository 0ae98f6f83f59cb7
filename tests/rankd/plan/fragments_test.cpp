// tests/rankd/plan/fragments_test.cpp: the uses of fragments that a plan has once it is loaded.
#include <rankd/plan/fragments.hpp>

#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

/// Two nodes of the use `home__near`, one more of `home`, and one of no fragment.
auto read(std::string_view uses) -> braid::checked<plan> {
  const auto node = [](const std::string& id, const std::string& input) {
    return R"({"node_id":")" + id + R"(","op":"core::take","inputs":[")" + input + R"("],"params":{"count":3}})";
  };
  const std::string text =
      R"({"schema_version":1,"plan_name":"t","outputs":["home__c"],"capabilities_required":["cap.rfc.0002.fragments.v1"],)"
      R"("extensions":{"cap.rfc.0002.fragments.v1":{"uses":[)" +
      std::string(uses) + R"(]}},"nodes":[{"node_id":"v","op":"core::viewer","inputs":[],)" +
      R"("params":{"endpoint":"ep_0001"}},)" + node("home__near__a", "v") + "," +
      node("home__near__b", "home__near__a") + "," + node("home__c", "home__near__b") + "]}";
  static const registries declared = registries::load("registry", "test").value();
  return parse_plan(text, "t.json", {.ops = testing::ops, .declared = declared});
}

constexpr std::string_view digest = "\"sha256\":\"00000000000000000000000000000000000000000000000000000000000000ab\"";

auto use(const std::string& id, const std::string& nodes, const std::string& result) -> std::string {
  return R"({"id":")" + id + R"(","fragment":"recall","version":"2.10.0",)" + std::string(digest) +
         R"(,"args":{},"nodes":[)" + nodes + R"(],"result":")" + result + "\"}";
}

}  // namespace

TEST_CASE("a plan knows its uses of fragments, one inside of another") {
  const auto loaded = read(use("home", R"("home__c","home__near__a","home__near__b")", "home__c") + "," +
                           use("home__near", R"("home__near__a","home__near__b")", "home__near__b"));
  REQUIRE_MESSAGE(loaded, (loaded ? "" : loaded.error().to_text()));
  REQUIRE(loaded->fragments.size() == 2);
  const fragment_use& near = loaded->fragments[1];
  CHECK(near.id == "home__near");
  CHECK(make_title(near) == "recall 2.10.0");
  CHECK(near.sha256.ends_with("ab"));
  CHECK((near.nodes == std::vector<std::uint32_t>{1, 2}));
  CHECK(near.result == 2);
  CHECK(loaded->fragments[0].result == 3);
}

TEST_CASE("a node of another use is refused with the name that it should have") {
  const auto refused = read(use("home", R"("home__c","v")", "home__c"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().size() == 1);
  CHECK(refused.error().front().code == "bad_name");
  CHECK(refused.error().front().pointer == "/extensions/cap.rfc.0002.fragments.v1/uses/0/nodes/1");
  CHECK(
      refused.error().front().message ==
      "each node of the use `home` of a fragment must have a name that begins with `home__` and continues with a name");
}

TEST_CASE("a plan that says nothing of fragments has none") {
  const auto loaded = read("");
  REQUIRE(loaded);
  CHECK(loaded->fragments.empty());
}
