// tests/rankd/server/event_rules_test.cpp: events.toml that is wrong, and one that is not there.
#include <rankd/server/events/event_rules.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

auto rules_of(const std::string& toml) -> braid::checked<event_rules> {
  const scratch_folder folder;
  folder.write(events_file, toml);
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
  CHECK(rules->all().empty());
}

TEST_CASE("the file may have its old name, but there is only one") {
  const scratch_folder folder;
  const auto load = [&folder] { return event_rules::load(folder.path(), reference_project::get().declared); };
  folder.write(counters_file, "[[event]]\nname = \"old\"\n");
  REQUIRE(load());
  CHECK(load()->find("old") != nullptr);
  CHECK(find_event_rules(folder.path())->filename() == counters_file);
  folder.write(events_file, "[[event]]\nname = \"new\"\n");
  CHECK(find_event_rules(folder.path())->filename() == events_file);
  const auto both = load();
  CHECK(find_problems(both) == "two_files \n");
  CHECK(both.error().front().source == (folder.path() / counters_file).string());
  std::filesystem::remove(folder.path() / counters_file);
  CHECK(load()->find("new") != nullptr);
}

TEST_CASE("a rule of each kind is read with what it needs") {
  const std::string place = "event = \"purchase\"\nendpoint = \"ep_0001\"\n";
  const auto rules = rules_of(with_price + "[[sorted_set]]\n" + place +
                              "key = \"a:{user_id}\"\nvalue = \"item_id\"\nscore = \"price\"\nmax_items = 10000\n"
                              "[[sorted_set]]\n" +
                              place +
                              "key = \"b\"\nvalue = \"coupon\"\nscore = \"time_ms\"\nmax_items = 9\n"
                              "max_age_s = 60\nidle_s = 70\n[[set]]\n" +
                              place + "key = \"c\"\nvalue = \"user_id\"\nmax_items = 1\nwindow_s = 5\n[[set]]\n" +
                              place + "key = \"c\"\nvalue = \"user_id\"\naction = \"remove\"\n[[list]]\n" + place +
                              "key = \"d\"\nvalue = \"count\"\nmax_items = 3\n[[field]]\n" + place +
                              "name = \"f\"\nkey = \"e\"\nvalue = \"time_ms\"\n[[field]]\n" + place +
                              "name = \"f\"\nkey = \"e\"\nvalue = \"price\"\n");
  REQUIRE(find_problems(rules).empty());
  const auto& all = rules->all();
  REQUIRE(all.size() == 7);
  CHECK((all[0].kind == rule_kind::field && all[0].name == "f" && all[0].value == "time_ms"));
  CHECK((all[2].kind == rule_kind::list && all[2].max_items == 3 && all[2].value == "count"));
  CHECK((all[3].kind == rule_kind::set && all[3].action == rule_action::add && all[3].window_s == 5));
  CHECK((all[4].kind == rule_kind::set && all[4].action == rule_action::remove && all[4].max_items == 0));
  CHECK((all[5].kind == rule_kind::sorted_set && all[5].score == "price" && all[5].max_items == 10'000));
  CHECK((all[6].score.empty() && all[6].max_age_s == 60 && all[6].idle_s == 70));
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

TEST_CASE("a rule that is wrong is refused with a sentence, and no rule is read") {
  struct wrong_rule {
    const char* kind;
    const char* lines;    // after event, endpoint and key
    const char* problem;  // code, pointer and sentence, a line each
  };
  const wrong_rule all[] = {
      {"field", "value = \"price\"\n", "missing_field /field/0: the field `name` is missing\n"},
      {"field", "name = \"f\"\n", "missing_field /field/0: the field `value` is missing\n"},
      {"field", "name = \"f\"\nvalue = \"cost\"\n",
       "unknown_field /field/0/value: events of type `purchase` have no field `cost`\n"},
      {"field", "name = \"f\"\nvalue = \"price\"\nby = \"price\"\n",
       "unknown_field /field/0/by: there is no field `by` here\n"},
      {"field", "name = \"f\"\nvalue = \"price\"\nmax_items = 3\n",
       "unknown_field /field/0/max_items: there is no field `max_items` here\n"},
      {"list", "value = \"item_id\"\n", "missing_field /list/0: the field `max_items` is missing\n"},
      {"list", "value = 3\nmax_items = 3\n",
       "wrong_type /list/0/value: `value` must be a string, not an integer: `3`\n"},
      {"list", "value = \"item_id\"\nmax_items = 10001\n",
       "out_of_range /list/0/max_items: `max_items` must lie between 1 and 10000, not `10001`\n"},
      {"list", "value = \"item_id\"\nmax_items = 0\n",
       "out_of_range /list/0/max_items: `max_items` must lie between 1 and 10000, not `0`\n"},
      {"list", "value = \"item_id\"\nmax_items = 3\naction = \"remove\"\n",
       "unknown_field /list/0/action: there is no field `action` here\n"},
      {"list", "value = \"item_id\"\nmax_items = 3\nwindow_s = 1\nidle_s = 1\n",
       "bad_value /list/0/window_s: the value already expires after `idle_s`\n"},
      {"set", "value = \"item_id\"\nmax_items = 3\naction = \"drop\"\n",
       "bad_value /set/0/action: `action` is `drop`; expected one of: add, remove\n"},
      {"set", "value = \"item_id\"\nmax_items = 3\naction = \"remove\"\nidle_s = 3\n",
       "unknown_field /set/0/idle_s: there is no field `idle_s` here\n"
       "unknown_field /set/0/max_items: there is no field `max_items` here\n"},
      {"sorted_set", "value = \"item_id\"\nmax_items = 3\nscore = \"coupon\"\n",
       "wrong_type /sorted_set/0/score: the field `coupon` is not a number\n"},
      {"sorted_set", "value = \"item_id\"\nmax_items = 3\nscore = \"cost\"\n",
       "unknown_field /sorted_set/0/score: events of type `purchase` have no field `cost`\n"},
      {"sorted_set", "value = \"item_id\"\nmax_items = 3\nscore = \"price\"\nmax_age_s = 9\n",
       "bad_value /sorted_set/0/max_age_s: `max_age_s` requires that the score is the time of the event, not "
       "`price`\n"},
      {"sorted_set", "value = \"item_id\"\nmax_items = 3\nmax_age_s = 0\n",
       "out_of_range /sorted_set/0/max_age_s: `max_age_s` must lie between 1 and 31622400, not `0`\n"},
      {"sorted_set", "value = \"item_id\"\nmax_items = 3\nhalf_life_s = 9\n",
       "unknown_field /sorted_set/0/half_life_s: there is no field `half_life_s` here\n"},
      {"lists", "", "unknown_field /lists: there is no field `lists` here\n"},
  };
  for (const wrong_rule& each : all) {
    const auto made = rules_of(with_price + "[[" + each.kind +
                               "]]\nevent = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"k\"\n" + each.lines);
    std::string out;
    REQUIRE_FALSE(made.has_value());
    for (const braid::diagnostic& one : made.error()) out += one.code + " " + one.pointer + ": " + one.message + "\n";
    CHECK(out == each.problem);
  }
}

TEST_CASE("rules of one key agree on its kind, its end, and the meaning of its fields") {
  const auto rule = [](const std::string& kind, const std::string& more) {
    return "[[" + kind + "]]\nevent = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"k:{user_id}\"\n" + more;
  };
  const std::string item = "value = \"item_id\"\n";
  const std::string counter = rule("counter", "name = \"c\"\nhalf_life_s = 5\n");
  const auto problems = [](const std::string& all) { return find_problems(rules_of(with_price + all)); };
  CHECK(problems(rule("set", item + "max_items = 1\n") + rule("list", item + "max_items = 1\n")) ==
        "bad_value /set/0/key\n");
  CHECK(problems(counter + rule("set", item + "action = \"remove\"\n")) == "bad_value /set/0/key\n");
  CHECK(problems(counter + rule("field", "name = \"c\"\n" + item)) == "duplicate_value /field/0/name\n");
  CHECK(problems(counter + rule("field", "name = \"c_at\"\n" + item)) == "duplicate_value /field/0/name\n");
  CHECK(problems(counter + rule("field", "name = \"d\"\n" + item)).empty());
  CHECK(problems(rule("list", item + "max_items = 1\nidle_s = 5\n") +
                 rule("list", item + "max_items = 2\nwindow_s = 5\n")) == "bad_value /list/1/window_s\n");
  CHECK(problems(rule("list", item + "max_items = 1\nidle_s = 5\n") + rule("list", item + "max_items = 2\n")).empty());
}

TEST_CASE("a rule whose field has no name is refused, and wrong names are not reported as repeated") {
  const auto rule = [](const std::string& kind, const std::string& more) {
    return "[[" + kind + "]]\nevent = \"view\"\nendpoint = \"ep_0001\"\nkey = \"a:{user_id}\"\n" + more;
  };
  const std::string view = "[[event]]\nname = \"view\"\n";  // declares no fields
  const auto problems = [](const std::string& all) { return find_problems(rules_of(all)); };
  CHECK(problems(view + rule("list", "value = \"\"\nmax_items = 1\n")) == "bad_value /list/0/value\n");
  CHECK(problems(view + rule("counter", "name = \"c\"\nby = \"\"\n")) == "bad_value /counter/0/by\n");
  CHECK(problems(view + rule("sorted_set", "value = \"item_id\"\nscore = \"\"\nmax_items = 1\n")) ==
        "bad_value /sorted_set/0/score\n");
  CHECK(problems(view + rule("list", "value = \"any\"\nmax_items = 1\n")).empty());
  CHECK(problems("[[event]]\nname = \"a b\"\n[[event]]\nname = 5\n") ==
        "bad_name /event/0/name\nwrong_type /event/1/name\n");
  CHECK(problems(view + rule("counter", "name = \"a b\"\n") + rule("counter", "name = 5\n")) ==
        "bad_name /counter/0/name\nwrong_type /counter/1/name\n");
}
