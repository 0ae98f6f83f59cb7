// tests/rankd/cli/plan_tests_test.cpp: artifacts of tests are read whole, or refused with every diagnostic and its
// place.
#include <rankd/cli/plan_tests/plan_tests.hpp>

#include <tests/rankd/cli/feed_tests.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

/// "code pointer" of each diagnostic, with commas between, after one replacement in a text that is fine.
auto refusals(const std::string& from, const std::string& to) -> std::string {
  std::string text = feed_tests_text(R"([{"kind":"count","min":1,"source_span":{"file":0,"line":7,"column":9}}])",
                                     R"("faults":[{"endpoint":"ep_0001","code":"store_error"}],)");
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  text.replace(at, from.size(), to);
  const auto read = parse_plan_tests(text, "t.json", feed_registries());
  std::string out;
  if (!read)
    for (const braid::diagnostic& each : read.error())
      out += (out.empty() ? "" : ", ") + each.code + " " + each.pointer;
  return out;
}

const std::string count = R"({"kind":"count","min":1,)";

}  // namespace

TEST_CASE("a file of tests is read with names, places, records and expectations") {
  const plan_tests read = feed_tests(R"([{"kind":"count","min":1,"source_span":{"file":0,"line":7,"column":9}}])");
  CHECK(read.plan == "home_feed");
  REQUIRE(read.tests.size() == 1);
  CHECK(read.tests[0].name == "one");
  CHECK(read.tests[0].place == "plans/home_feed.test.ts:4:3");
  CHECK(read.tests[0].records.size() == 7);
  REQUIRE(read.tests[0].expected.size() == 1);
  CHECK(read.tests[0].expected[0].kind == "count");
  CHECK(read.tests[0].expected[0].place == "plans/home_feed.test.ts:7:9");
}

TEST_CASE("what is wrong with a file of tests has a code and a pointer") {
  CHECK(refusals("\"one\"", "\"one\"").empty());
  CHECK(refusals("\"schema_version\":1", "\"schema_version\":2") == "unsupported_schema ");
  CHECK(refusals("\"schema_version\":1,", "") == "missing_field ");
  CHECK(refusals("\"tests_of\"", "\"more\":1,\"tests_of\"") == "unknown_field /more");
  CHECK(refusals("\"tests_of\"", R"("registry_digests":{"keys":"00"},"tests_of")") ==
        "bad_value /registry_digests/keys");
  const std::string other(64, '0');
  CHECK(refusals("\"tests_of\"", R"("registry_digests":{"keys":")" + other + R"("},"tests_of")") ==
        "registry_changed /registry_digests/keys");
  CHECK(refusals("\"tests_of\"", R"("registry_digests":{"keys":{"1":")" + other + R"("}},"tests_of")") ==
        "registry_changed /registry_digests/keys/1");
  CHECK(refusals(R"({"record":{"list":"follow:1","values":[5,3,2,4]}})", R"({"record":{"list":"follow:1"}})") ==
        "missing_member /records/5/record");
  CHECK(refusals("\"hash\":\"user:2\"", "\"hash\":\"user:1\"") == "duplicate_key /records/1");
  CHECK(refusals(R"({"user_id":1})", R"({"user_id":1,"param_overrides":{"page":1}})") ==
        "unknown_param /tests/0/request/param_overrides/page");
  CHECK(refusals(R"({"user_id":1})", R"({"user_id":1,"plan":"other"})") == "plan_mismatch /tests/0/request/plan");
  CHECK(refusals("ep_0001", "ep_0777") == "unknown_endpoint /tests/0/faults/0/endpoint");
  CHECK(refusals("store_error", "store_tired") == "bad_value /tests/0/faults/0/code");
  CHECK(refusals(count, R"({"kind":"counts",)") == "bad_value /tests/0/expect/0/kind");
  CHECK(refusals(count, R"({"kind":"count","min":3,"max":2,)") == "out_of_range /tests/0/expect/0/max");
  CHECK(refusals(count, R"({"kind":"ids","ids":[1.5],)") == "wrong_type /tests/0/expect/0/ids/0");
  CHECK(refusals(count, R"({"kind":"at_most","count":1,"key_id":999,)") == "unknown_key /tests/0/expect/0/key_id");
  CHECK(refusals(count, R"({"kind":"degraded",)") == "missing_field /tests/0/expect/0");
  CHECK(refusals(count, R"({"kind":"degraded","names":[1],)") == "wrong_type /tests/0/expect/0/names/0");
  CHECK(refusals(count, R"({"kind":"sorted","key_id":1,"order":"up",)") == "bad_value /tests/0/expect/0/order");
  CHECK(refusals(count, R"({"kind":"every","pred":{"op":"is_null","x":{"op":"key_ref","key_id":999}},)") ==
        "unknown_key /tests/0/expect/0/pred/x/key_id");
  CHECK(refusals("[" + count, R"([{"kind":"error","code":"x"},)" + count) == "bad_value /tests/0/expect");
  CHECK(refusals(count + R"("source_span":{"file":0,"line":7,"column":9}})", "") == "no_expectations /tests/0/expect");
  CHECK(refusals("\"tests\":[", R"("tests":[{"name":"one","request":{},"expect":[{"kind":"count"}]},)") ==
        "duplicate_value /tests/1/name");
}

TEST_CASE("a diagnostic ends with the place in the author's file that is nearest") {
  const auto read = parse_plan_tests(
      feed_tests_text(R"([{"kind":"counts","source_span":{"file":0,"line":7,"column":9}},{"kind":"ids"}])"), "t.json",
      feed_registries());
  REQUIRE_FALSE(read);
  const std::vector<braid::diagnostic> found(read.error().begin(), read.error().end());
  REQUIRE(found.size() == 2);
  CHECK(found[0].source == "t.json");
  CHECK(found[0].message.ends_with(" (plans/home_feed.test.ts:7:9)"));
  CHECK(found[1].message.ends_with(" (plans/home_feed.test.ts:4:3)"));
}

TEST_CASE("the file is called after the plan") {
  const braid::testing::scratch_folder folder;
  const std::string text = feed_tests_text(R"([{"kind":"count"}])");
  CHECK(load_plan_tests(folder.write("home_feed.tests.json", text), feed_registries()));
  const auto other = load_plan_tests(folder.write("other.tests.json", text), feed_registries());
  REQUIRE_FALSE(other);
  CHECK(other.error().front().code == "name_mismatch");
}
