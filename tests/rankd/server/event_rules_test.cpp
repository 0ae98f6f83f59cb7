// tests/rankd/server/event_rules_test.cpp: counters.toml that is wrong, and one that is not there.
#include <rankd/server/events/event_rules.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

auto rules_of(const std::string& toml) -> braid::checked<event_rules> {
  const scratch_folder folder;
  folder.write(counters_file, toml);
  return event_rules::load(folder.path(), reference_project::get().declared);
}

/// Codes and pointers of what is wrong, a line each.
auto find_problems(const braid::checked<event_rules>& made) -> std::string {
  std::string out;
  if (!made)
    for (const braid::diagnostic& each : made.error()) out += each.code + " " + each.pointer + "\n";
  return out;
}

const std::string with_price = R"([[event]]
name = "purchase"
fields = { price = "float", count = "int", coupon = "string" }
)";

}  // namespace

TEST_CASE("without a file there are three types of events, and nothing is counted") {
  const scratch_folder none;
  const auto rules = event_rules::load(none.path(), reference_project::get().declared);
  REQUIRE(rules);
  CHECK(rules->find("impression") != nullptr);
  CHECK(rules->find("click") != nullptr);
  CHECK(rules->find("purchase") != nullptr);
  CHECK(rules->find("view") == nullptr);
  CHECK(rules->counters().empty());
}

TEST_CASE("a file of counters that is wrong is refused where it is wrong") {
  const auto counter = [](const std::string& lines) {
    return with_price + "[[counter]]\nname = \"c\"\nevent = \"purchase\"\n" + lines;
  };
  CHECK(find_problems(rules_of("[[event]]\nname = \"a\"\n[[event]]\nname = \"a\"\nfields = { x = \"list\" }\n")) ==
        "duplicate_value /event/1/name\nbad_value /event/1/fields/x\n");
  CHECK(find_problems(rules_of(counter("endpoint = \"ep_0001\"\nkey = \"k:{cost}\"\nby = \"coupon\"\n"))) ==
        "unknown_field /counter/0/key\nwrong_type /counter/0/by\n");
  CHECK(find_problems(rules_of(counter("endpoint = \"ep_0009\"\nkey = \"k:{P.x}\"\nwindow_s = 0\n"))) ==
        "unknown_endpoint /counter/0/endpoint\nbad_hole /counter/0/key\nout_of_range /counter/0/window_s\n");
  const std::string in_redis = "endpoint = \"ep_0001\"\nkey = \"k\"\n";
  CHECK(find_problems(rules_of(counter(in_redis + "half_life_s = 0\nidle_s = -1\n"))) ==
        "out_of_range /counter/0/idle_s\nout_of_range /counter/0/half_life_s\n");
  CHECK(find_problems(rules_of(counter(in_redis + "window_s = 1\nidle_s = 1\n"))) == "bad_value /counter/0/window_s\n");
  CHECK(find_problems(rules_of(counter(in_redis + "window_s = 1\nhalf_life_s = 1\n"))) ==
        "bad_value /counter/0/window_s\n");
  CHECK(find_problems(rules_of(counter(in_redis + "half_life_s = 1\n") + "[[counter]]\nname = \"c_at\"\nevent = " +
                               "\"purchase\"\n" + in_redis)) == "duplicate_value /counter/1/name\n");
  const auto two = [&](const std::string& first, const std::string& key, const std::string& second) {
    return find_problems(rules_of(counter(in_redis + first) + "[[counter]]\nname = \"d\"\nevent = \"purchase\"\n" +
                                  "endpoint = \"ep_0001\"\nkey = \"" + key + "\"\n" + second));
  };
  CHECK(two("window_s = 1\n", "k", "window_s = 2\n") == "bad_value /counter/1/window_s\n");
  CHECK(two("window_s = 1\n", "k", "idle_s = 1\n") == "bad_value /counter/1/idle_s\n");
  CHECK(two("window_s = 1\n", "k", "window_s = 1\n").empty());
  CHECK(two("window_s = 1\n", "l", "window_s = 2\n").empty());
  CHECK(two("idle_s = 1\n", "k", "").empty());
  CHECK(find_problems(rules_of(counter("key = \"k\"\nwhen = 1\n"))) ==
        "missing_field /counter/0\nunknown_field /counter/0/when\n");
  CHECK(find_problems(rules_of("[[counter]]\nname = \"c\"\nevent = \"buy\"\nendpoint = \"ep_0001\"\nkey = \"\"\n")) ==
        "unknown_event /counter/0/event\nempty_key_template /counter/0/key\n");
}
