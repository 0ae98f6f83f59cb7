// tests/rankd/plan/extensions_test.cpp: what a plan says under capabilities is held against their payload schemas.
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <array>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

using lines = std::vector<std::string>;

constexpr std::string_view capabilities = R"([[capability]]
id = "cap.rfc.0001.arithmetic.v1"
name = "arithmetic"

[[capability]]
id = "cap.rfc.0001.limits.v1"
name = "limits"
[capability.payload_schema]
type = "object"
required = ["rows"]
additionalProperties = false
properties.rows = { type = "integer", minimum = 1 }
properties.tags = { type = "array", items = { type = "string", pattern = "^[a-z]+$" } }

[[capability]]
id = "cap.rfc.0002.old.v1"
name = "old"
status = "blocked"
payload_schema = { type = "object" }

[[capability]]
id = "cap.rfc.0003.fading.v1"
name = "fading"
status = "deprecated"

[[capability]]
id = "cap.rfc.0004.none.v1"
name = "none"
payload_schema = { type = "null" }
)";

auto declared() -> const registries& {
  static const registries once = [] {
    const braid::testing::scratch_folder folder;
    for (const char* name : {"keys.toml", "params.toml", "endpoints.test.toml"})
      std::filesystem::copy_file(std::filesystem::path("registry") / name, folder.path() / name);
    folder.write("capabilities.toml", capabilities);
    return registries::load(folder.path(), "test").value();
  }();
  return once;
}

/// As if the engine had code for all of them.
constexpr std::array<std::string_view, 5> known{"cap.rfc.0001.arithmetic.v1", "cap.rfc.0001.limits.v1",
                                                "cap.rfc.0002.old.v1", "cap.rfc.0003.fading.v1",
                                                "cap.rfc.0004.none.v1"};

/// A plan that requires capabilities and says something under them, at the top and at its only node.
auto read(const std::string& required, const std::string& top, const std::string& at_node) -> braid::checked<plan> {
  return parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["v"],"capabilities_required":[)" + required +
                        R"(],"extensions":{)" + top +
                        R"(},"nodes":[{"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"},)"
                        R"("extensions":{)" +
                        at_node + "}}]}",
                    "t.json", {.ops = testing::ops, .declared = declared(), .capabilities = known});
}

auto diagnostics(const std::string& required, const std::string& top, const std::string& at_node) -> lines {
  const auto loaded = read(required, top, at_node);
  return loaded ? lines() : testing::list(loaded.error());
}

const std::string limits = R"("cap.rfc.0001.limits.v1")";

}  // namespace

TEST_CASE("a payload as its schema wants it is taken, at the top and in a node") {
  const auto loaded = read(limits, limits + R"(:{"rows":5})", limits + R"(:{"rows":1,"tags":["a"]})");
  REQUIRE_MESSAGE(loaded, (loaded ? "" : loaded.error().to_text()));
  CHECK(loaded->extensions[0].payload == R"({"rows":5})");
  CHECK(loaded->nodes[0].extensions[0].payload == R"({"rows":1,"tags":["a"]})");
}

TEST_CASE("an op of a capability is refused with the name of that capability, unless the plan requires it") {
  const auto with = [](const std::string& required) {
    return parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["m"],"capabilities_required":[)" + required +
                          R"(],"expr_table":{"e":{"op":"neg","x":{"op":"abs","x":{"op":"key_ref","key_id":1}}}},)"
                          R"("nodes":[{"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}},)"
                          R"({"node_id":"m","op":"core::vm","inputs":["v"],"params":{"out_key":2001,"expr_id":"e"}}]})",
                      "t.json", {.ops = testing::ops, .declared = declared(), .capabilities = known});
  };
  const auto refused = with("");
  REQUIRE_FALSE(refused);
  CHECK((testing::list(refused.error()) == lines{"capability_not_required /expr_table/e/x/op"}));
  CHECK(refused.error().front().message == "the op `abs` needs a capability that the plan does not list");
  CHECK(refused.error().front().hint == "add `cap.rfc.0001.arithmetic.v1` to `capabilities_required`");
  CHECK(with(R"("cap.rfc.0001.arithmetic.v1")").has_value());
}

TEST_CASE("everything that is wrong with payloads is said at once, with the node where it is one's") {
  const std::string at = "/extensions/cap.rfc.0001.limits.v1";
  CHECK((diagnostics(limits, limits + R"(:{"row":0})", limits + R"(:{"rows":0,"tags":["a","B",1]})") ==
         lines{"missing_field " + at, "unknown_field " + at + "/row", "out_of_range /nodes/0" + at + "/rows v",
               "bad_value /nodes/0" + at + "/tags/1 v", "wrong_type /nodes/0" + at + "/tags/2 v"}));
  const auto refused = read(limits, limits + R"(:{"rows":1,"tag":[]})", "");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().hint == "did you mean `tags`?");
  CHECK(refused.error().front().source == "t.json");
}

TEST_CASE("a payload is looked at although its capability is not required, or blocked") {
  CHECK((diagnostics("", limits + ":[]", "") == lines{"capability_not_required /extensions/cap.rfc.0001.limits.v1",
                                                      "wrong_type /extensions/cap.rfc.0001.limits.v1"}));
  CHECK((diagnostics(R"("cap.rfc.0002.old.v1")", R"("cap.rfc.0002.old.v1":[])", "") ==
         lines{"unsupported_capability /capabilities_required/0", "wrong_type /extensions/cap.rfc.0002.old.v1"}));
}

TEST_CASE("a blocked capability is said to be blocked, a deprecated one may still be required") {
  const auto blocked = read(R"("cap.rfc.0002.old.v1")", "", "");
  REQUIRE_FALSE(blocked);
  CHECK(blocked.error().front().message == "the capability `cap.rfc.0002.old.v1` is blocked");
  CHECK(diagnostics(R"("cap.rfc.0003.fading.v1")", R"("cap.rfc.0003.fading.v1":{"anything":[1]})", "").empty());
}

TEST_CASE("a capability may say that there is nothing to say") {
  const std::string none = R"("cap.rfc.0004.none.v1")";
  CHECK(diagnostics(none, none + ":null", "").empty());
  CHECK((diagnostics(none, none + ":{}", "") == lines{"wrong_type /extensions/cap.rfc.0004.none.v1"}));
}

TEST_CASE("a schema that is wrong refuses the registry, with the place in the file") {
  const braid::testing::scratch_folder folder;
  for (const char* name : {"keys.toml", "params.toml", "endpoints.test.toml"})
    std::filesystem::copy_file(std::filesystem::path("registry") / name, folder.path() / name);
  folder.write("capabilities.toml", R"([[capability]]
id = "cap.rfc.0001.a.v1"
name = "a"
payload_schema = { type = "object", properties = { x = { minimun = 1 } }, pattern = "(" }
[[capability]]
id = "cap.rfc.0002.b.v1"
name = "b"
payload_schema = { const = 2020-01-01 }
)");
  const auto refused = registries::load(folder.path(), "test");
  REQUIRE_FALSE(refused);
  CHECK((testing::list(refused.error()) == lines{"unsupported_value /capability/1/payload_schema/const"}));
  folder.write("capabilities.toml", R"([[capability]]
id = "cap.rfc.0001.a.v1"
name = "a"
payload_schema = { type = "object", properties = { x = { minimun = 1 } }, pattern = "(", minimum = "1" }
)");
  const auto again = registries::load(folder.path(), "test");
  REQUIRE_FALSE(again);
  CHECK((testing::list(again.error()) == lines{"bad_payload_schema /capability/0/payload_schema/properties/x/minimun",
                                               "bad_payload_schema /capability/0/payload_schema/minimum",
                                               "bad_payload_schema /capability/0/payload_schema/pattern"}));
  CHECK(again.error().front().hint == "did you mean `minimum`?");
}

TEST_CASE("the digest of capabilities is that of what is written, schemas included") {
  const auto make_digest = [](std::string_view text) {
    const braid::testing::scratch_folder folder;
    for (const char* name : {"keys.toml", "params.toml", "endpoints.test.toml"})
      std::filesystem::copy_file(std::filesystem::path("registry") / name, folder.path() / name);
    folder.write("capabilities.toml", text);
    return registries::load(folder.path(), "test").value().digests()[2].sha256;
  };
  const std::string one =
      "[[capability]]\nid = \"cap.rfc.0001.a.v1\"\nname = \"a\"\npayload_schema = { minimum = 1 }\n";
  CHECK(make_digest(one) ==
        sha256_hex(R"({"capability":[{"id":"cap.rfc.0001.a.v1","name":"a","payload_schema":{"minimum":1}}]})"));
}
