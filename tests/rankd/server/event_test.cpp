// tests/rankd/server/event_test.cpp: events out of the bodies of calls, as lines, and as steps of counters.
#include <rankd/server/events/event.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;
using braid::testing::scratch_folder;

namespace {

auto declared() -> const registries& { return reference_project::get().declared; }

auto read(std::string_view events, const event_rules& rules = {}) -> braid::checked<std::vector<event>> {
  return parse_events("{\"events\":[" + std::string(events) + "]}", rules, declared(), 3, 5000ms);
}

/// Codes and pointers of what is wrong, a line each.
auto find_problems(const auto& made) -> std::string {
  std::string out;
  if (!made)
    for (const braid::diagnostic& each : made.error()) out += each.code + " " + each.pointer + "\n";
  return out;
}

auto rules_of(const std::string& toml) -> braid::checked<event_rules> {
  const scratch_folder folder;
  folder.write(events_file, toml);
  return event_rules::load(folder.path(), declared());
}

const std::string with_price = R"([[event]]
name = "purchase"
fields = { price = "float", count = "int", coupon = "string" }
)";

}  // namespace

TEST_CASE("an event is written as it came, with what the server knows") {
  const auto one = read(R"({"event_id":"e 1","type":"click","time_ms":17,"user_id":"8","item_id":9,"request_id":"r",
                            "fields":{"position":2,"price":0.5,"new":true,"page":"a\"b","none":null}})");
  REQUIRE(one);
  CHECK(event_line(one->front(), 6000ms) ==
        R"({"event_id":"e 1","type":"click","time_ms":17,"received_ms":6000,"user_id":8,"item_id":9,"request_id":"r",)"
        R"("fields":{"new":true,"none":null,"page":"a\"b","position":2,"price":0.5}})");
  const auto least = read(R"({"event_id":"e","type":"impression"})");
  REQUIRE(least);
  CHECK(event_line(least->front(), 6000ms) ==
        R"({"event_id":"e","type":"impression","time_ms":5000,"received_ms":6000})");
  CHECK(read("")->empty());
}

TEST_CASE("a line is read as the event that it was, but for what the rules no longer take") {
  const auto one = read(R"({"event_id":"e","type":"click","time_ms":17,"user_id":8,"item_id":9,"request_id":"r",
                            "fields":{"position":2,"price":0.5,"new":true,"page":"a\"b","none":null}})");
  const std::string line = event_line(one->front(), 6000ms);
  const auto again = parse_event_line(line, {}, declared());
  REQUIRE(again);
  CHECK(again->received == 6000ms);
  CHECK(event_line(again->what, again->received) == line);
  event large = one->front();
  large.fields = {{"a", scalar(12345678901234567168.0)}, {"b", scalar(-12345678901234567168.0)}, {"c", scalar(2.0)}};
  const auto read_again = parse_event_line(event_line(large, 6000ms), {}, declared());
  REQUIRE(read_again);
  CHECK(event_line(read_again->what, 6000ms) == event_line(large, 6000ms));
  const auto rules = rules_of(with_price);
  const auto less = parse_event_line(
      R"({"event_id":"e","type":"purchase","received_ms":6000,"fields":{"gone":1,"price":2.5}})", *rules, declared());
  REQUIRE(less);
  CHECK(less->what.time == 6000ms);
  REQUIRE(less->what.fields.size() == 1);
  CHECK(less->what.fields[0].first == "price");
  for (const char* none : {"", "[]", "{", R"({"event_id":"e","type":"click"})", R"({"type":"click","received_ms":1})"})
    CHECK_FALSE(parse_event_line(none, {}, declared()));
}

TEST_CASE("events that are wrong are refused where they are") {
  CHECK(find_problems(parse_events("[]", {}, declared(), 3, 0ms)) == "wrong_type \n");
  CHECK(find_problems(parse_events("{}", {}, declared(), 3, 0ms)) == "missing_field \n");
  CHECK(find_problems(parse_events("", {}, declared(), 3, 0ms)) == "json_syntax \n");
  CHECK(find_problems(parse_events(R"({"events":[],"more":1})", {}, declared(), 3, 0ms)) == "unknown_field /more\n");
  CHECK(find_problems(read("1")) == "wrong_type /events/0\n");
  CHECK(find_problems(read("{}")) == "missing_field /events/0\nmissing_field /events/0\n");
  CHECK(find_problems(read(R"({"event_id":"a","type":"click"},{"event_id":"","type":"clik","at":1})")) ==
        "bad_event_id /events/1/event_id\nunknown_event /events/1/type\nunknown_field /events/1/at\n");
  CHECK(find_problems(read(R"({"event_id":"ä","type":"click","user_id":0.5,"item_id":"x","time_ms":-1})")) ==
        "bad_event_id /events/0/event_id\nout_of_range /events/0/time_ms\nbad_user_id /events/0/user_id\n"
        "bad_id /events/0/item_id\n");
  CHECK(find_problems(read(R"({"event_id":"a","type":"click","fields":{"a":[],"b":{}}})")) ==
        "wrong_type /events/0/fields/a\nwrong_type /events/0/fields/b\n");
  CHECK(find_problems(read("1,2,3,4")) == "events_too_large /events\n");
  const std::string text(max_event_text + 1, 'x');
  CHECK(find_problems(read(R"({"event_id":"a","type":"click","fields":{"a":")" + text + R"("}})")) ==
        "text_too_long /events/0/fields/a\n");
  std::string fields;
  for (std::size_t i = 0; i <= max_event_fields; ++i) fields += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":1";
  CHECK(find_problems(read(R"({"event_id":"a","type":"click","fields":{)" + fields + "}}")) ==
        "too_many_fields /events/0/fields\n");
}

TEST_CASE("a refused event shows the value, and what was expected") {
  const auto first = [](const auto& made) { return made.error().front(); };
  const auto rules = rules_of(with_price);
  REQUIRE(rules);
  CHECK(first(read(R"({"event_id":"ä","type":"click"})")).message ==
        "`event_id` must have 1 to 128 printable ASCII characters, got a string: `\"ä\"`");
  CHECK(first(read(R"({"event_id":"a","type":"clik"})")).hint == "did you mean `click`?");
  CHECK(first(read(R"({"event_id":"a","type":"view"})")).hint == "expected one of: impression, click, purchase");
  CHECK(first(read(R"({"event_id":"a","type":"view"})", *rules)).hint == "expected one of: purchase");
  CHECK(first(read(R"({"event_id":"a","type":"click","fields":{"":1}})")).message ==
        "a name must have 1 to 100 printable ASCII characters, got a string: `\"\"`");
  CHECK(first(rules_of("[[set]]\nevent = \"view\"\nendpoint = \"ep_0001\"\nkey = \"k\"\nvalue = \"item_id\"\n"
                       "max_items = 9\n"))
            .hint == "expected one of: impression, click, purchase");
}

TEST_CASE("a project says which events there are, and of which types their fields") {
  const auto rules = rules_of(with_price);
  REQUIRE(rules);
  CHECK(
      find_problems(read(R"({"event_id":"a","type":"purchase","fields":{"price":2,"count":3,"coupon":null}})", *rules))
          .empty());
  CHECK(find_problems(read(R"({"event_id":"a","type":"click"})", *rules)) == "unknown_event /events/0/type\n");
  CHECK(find_problems(
            read(R"({"event_id":"a","type":"purchase","fields":{"price":"2","count":0.5,"cost":1}})", *rules)) ==
        "unknown_field /events/0/fields/cost\nwrong_type /events/0/fields/count\nwrong_type /events/0/fields/price\n");
  const scratch_folder none;
  CHECK(event_rules::load(none.path(), declared())->types().size() == 3);
}

TEST_CASE("counters are additions under keys that events make, and nothing where a value is missing") {
  const auto rules = rules_of(with_price + R"(
[[counter]]
name = "bought"
event = "purchase"
endpoint = "ep_0001"
key = "stats:{item_id}"
[[counter]]
name = "spent"
event = "purchase"
endpoint = "ep_0001"
key = "spent:{user_id}:{coupon}"
by = "price"
window_s = 60
)");
  REQUIRE(rules);
  REQUIRE(rules->all().size() == 2);
  CHECK(rules->all()[1].window_s == 60);
  const auto steps = [&](std::string_view text) {
    std::string out;
    for (const rule_step& each : list_steps(read(text, *rules)->front(), *rules, std::chrono::milliseconds(1000)))
      out += rules->all()[each.rule].name + " " + each.key + " " +
             (std::holds_alternative<double>(each.by) ? "float" : "int") + "\n";
    return out;
  };
  CHECK(steps(R"({"event_id":"a","type":"purchase","item_id":7})") == "bought stats:7 int\n");
  CHECK(steps(R"({"event_id":"a","type":"purchase","user_id":8,"fields":{"coupon":"a:b","price":1.5}})") ==
        "spent spent:8:a%3Ab float\n");
  CHECK(steps(R"({"event_id":"a","type":"purchase","user_id":8,"fields":{"coupon":"a","price":null}})").empty());

  const auto time_of = [&](std::string_view time) {
    const std::string text = R"({"event_id":"a","type":"purchase","item_id":7,"time_ms":)" + std::string(time) + "}";
    return list_steps(read(text, *rules)->front(), *rules, std::chrono::milliseconds(1000)).front().at.count();
  };
  CHECK(time_of("900") == 900);
  CHECK(time_of("1001") == 1000);  // a clock of a client may be wrong
}

TEST_CASE("what rules write is made of the event, and nothing where a value is missing") {
  const std::string place = "event = \"purchase\"\nendpoint = \"ep_0001\"\n";
  const auto rules = rules_of(with_price + "[[field]]\n" + place +
                              "name = \"last\"\nkey = \"user:{user_id}\"\nvalue = \"time_ms\"\n[[list]]\n" + place +
                              "key = \"l:{user_id}\"\nvalue = \"coupon\"\nmax_items = 5\n[[sorted_set]]\n" + place +
                              "key = \"t\"\nvalue = \"item_id\"\nmax_items = 5\n[[sorted_set]]\n" + place +
                              "key = \"p\"\nvalue = \"item_id\"\nscore = \"price\"\nmax_items = 5\n[[sorted_set]]\n" +
                              place + "key = \"p\"\nvalue = \"user_id\"\naction = \"remove\"\n");
  REQUIRE(rules);
  const auto steps = [&](std::string_view text) {
    std::string out;
    for (const rule_step& each : list_steps(read(text, *rules)->front(), *rules, std::chrono::milliseconds(6000)))
      out += std::to_string(each.rule) + " " + each.key + " " + each.text + " " +
             std::to_string(static_cast<int>(each.score)) + "\n";
    return out;
  };
  CHECK(steps(R"({"event_id":"a","type":"purchase"})").empty());
  CHECK(steps(R"({"event_id":"a","type":"purchase","time_ms":4000,"user_id":8})") ==
        "0 user:8 4000 4000\n4 p 8 4000\n");
  CHECK(steps(R"({"event_id":"a","type":"purchase","time_ms":9000,"user_id":8})") ==
        "0 user:8 6000 6000\n4 p 8 6000\n");  // no event is of tomorrow
  CHECK(steps(R"({"event_id":"a","type":"purchase","time_ms":4000,"item_id":7,"fields":{"price":2.5}})") ==
        "2 t 7 4000\n3 p 7 2\n");
  CHECK(steps(R"({"event_id":"a","type":"purchase","user_id":8,"fields":{"coupon":"a b:c"}})") ==
        "0 user:8 5000 5000\n1 l:8 a b:c 5000\n4 p 8 5000\n");  // only keys are escaped
}
