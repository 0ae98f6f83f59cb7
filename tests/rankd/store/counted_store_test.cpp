// tests/rankd/store/counted_store_test.cpp: what events have made, laid over an embedded store.
#include <rankd/store/counted_store.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/coro/spawn.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using rankd::testing::ask_store;

namespace {

constexpr std::string_view data = R"({"hash":"item:1","fields":{"clicks":"5","title":"One"}}
{"list":"item:2","values":[5,6,7]}
{"hash":"item:3","fields":{"title":"Three"}}
{"list":"viewed:1","values":[1,2]}
{"list":"viewed:2","values":[3,"x"]}
{"set":"bought:1","members":[10,11]}
{"sorted_set":"seen:1","scores":{"10":1}}
)";

struct counted_world {
  counted_world() {
    REQUIRE(load_store(folder.path() / "db", std::vector{folder.write("data.ndjson", data)}, {}).has_value());
    endpoint_entry endpoint;
    endpoint.endpoint_id = "ep_0001";
    endpoint.resolver = endpoint_entry::embedded_resolver{"db"};
    over = std::make_unique<counted_store>(open_store(endpoint, folder.path()).value(), counted);
  }

  void count(const std::string& key, std::string_view field, std::string value) const {
    const auto set = [&](counted_value& made) {
      std::get<counted_hash>(made.data).set(field, std::move(value));
      return true;
    };
    CHECK(counted->update(key, 1ms, set) == counted_values::outcome::done);
  }
  auto all_of(std::vector<std::int64_t> ids) -> std::string {
    braid::arena memory;
    const auto got = braid::sync_wait(ask_store(*over, hash_read{{"item:", ids}}, memory));
    if (!got) return over->explain(got.error()).code;
    std::string out;
    for (const auto& hash : *got) {
      for (const hash_field& each : hash) out.append(each.name).append("=").append(each.value).append(" ");
      out += "; ";
    }
    return out;
  }

  void put(const std::string& key, auto contents) const {
    const auto set = [&](counted_value& made) { return made.data = contents, true; };
    CHECK(counted->update(key, 1ms, set) == counted_values::outcome::done);
  }
  /// The items of each key as text, and the number of malformed ones.
  auto named(named_read read, std::vector<std::string_view> keys) -> std::string {
    braid::arena memory;
    read.keys = keys;
    const auto got = braid::sync_wait(ask_store(*over, read, memory));
    if (!got) return over->explain(got.error()).code;
    std::string out;
    for (const auto& items : got->of_key) {
      for (const stored_item& each : items) out += (out.empty() || out.back() == ';' ? "" : " ") + text_of(read, each);
      out += ';';
    }
    return out + " bad " + std::to_string(got->malformed);
  }
  static auto text_of(const named_read& read, const stored_item& item) -> std::string {
    const bool asks = read.kind == read_kind::members || read.kind == read_kind::scores;
    const bool has_score = item.is_there && (read.kind == read_kind::sorted_set || read.kind == read_kind::scores);
    const std::string score = has_score ? "@" + std::to_string(static_cast<int>(item.score)) : "";
    return (!asks ? std::to_string(item.id) : item.is_there ? "yes" : "no") + score;
  }

  braid::testing::scratch_folder folder;
  std::shared_ptr<counted_values> counted = std::make_shared<counted_values>(1U << 20U);
  std::unique_ptr<store> over;
};

}  // namespace

TEST_CASE("a counted field hides a loaded one of its name, and the others stay") {
  counted_world world;
  CHECK(world.all_of({1, 3, 4}) == "clicks=5 title=One ; title=Three ; ; ");
  world.count("item:1", "clicks", "1");
  world.count("item:3", "a", "2");
  world.count("item:3", "z", "3");
  world.count("item:4", "clicks", "4");
  CHECK(world.all_of({1, 3, 4, 5}) == "clicks=1 title=One ; a=2 title=Three z=3 ; clicks=4 ; ; ");

  braid::arena memory;
  const std::vector<std::int64_t> ids = {4, 5, 1, 3};
  const auto clicks = braid::sync_wait(ask_store(*world.over, field_read{{"item:", ids}, "clicks"}, memory)).value();
  CHECK(clicks[0] == "4");
  CHECK(clicks[1] == std::nullopt);
  CHECK(clicks[2] == "1");
  CHECK(clicks[3] == std::nullopt);

  const std::vector<std::string_view> keys = {"item:1", "item:5", "item:4"};
  const std::vector<std::string_view> fields = {"title", "clicks"};
  const auto named =
      braid::sync_wait(
          ask_store(*world.over, named_read{.kind = read_kind::fields, .keys = keys, .fields = fields}, memory))
          .value();
  CHECK(named.of_key[0][0].text == "One");
  CHECK(named.of_key[0][1].text == "1");
  CHECK_FALSE(named.of_key[1][1].is_there);
  CHECK_FALSE(named.of_key[2][0].is_there);
  CHECK(named.of_key[2][1].text == "4");
}

TEST_CASE("a list, set or sorted set of events hides what was loaded, and other keys are read from the store") {
  counted_world world;
  counted_list list;
  for (const char* each : {"7", "none", "9"}) list.push(each, 10);
  world.put("viewed:1", list);
  world.put("viewed:3", list);
  counted_set set;
  for (const char* each : {"30", "4", "x"}) CHECK(set.add(each, 10));
  world.put("bought:1", set);
  counted_sorted_set scored;
  scored.set("5", 20);
  scored.set("6", 10);
  world.put("seen:2", scored);

  braid::arena memory;
  const std::vector<std::int64_t> ids = {1, 2, 3, 4};
  const auto lists = braid::sync_wait(ask_store(*world.over, list_read{{"viewed:", ids}, 2}, memory)).value();
  CHECK(std::vector(lists.lists[0].begin(), lists.lists[0].end()) == std::vector<std::int64_t>{9});
  CHECK(std::vector(lists.lists[1].begin(), lists.lists[1].end()) == std::vector<std::int64_t>{3});
  CHECK(std::vector(lists.lists[2].begin(), lists.lists[2].end()) == std::vector<std::int64_t>{9});
  CHECK(lists.lists[3].empty());
  CHECK(lists.malformed == 3);

  CHECK(world.named({.kind = read_kind::list, .keys = {}, .count = 10}, {"viewed:2", "viewed:1", "viewed:9"}) ==
        "3;9 7;; bad 2");
  CHECK(world.named({.kind = read_kind::list, .keys = {}, .offset = 2, .count = 10}, {"viewed:1"}) == "7; bad 0");
  CHECK(world.named({.kind = read_kind::set, .keys = {}, .count = 10}, {"bought:1", "bought:2"}) == "4 30;; bad 1");
  CHECK(world.named({.kind = read_kind::sorted_set, .keys = {}, .count = 10}, {"seen:1", "seen:2"}) ==
        "10@1;6@10 5@20; bad 0");
  CHECK(world.named({.kind = read_kind::sorted_set, .keys = {}, .count = 1, .order = score_order::descending},
                    {"seen:2"}) == "5@20; bad 0");
  CHECK(world.named({.kind = read_kind::sorted_set, .keys = {}, .count = 9, .range = score_range{.min = 15}},
                    {"seen:2"}) == "5@20; bad 0");
  const std::vector<std::string_view> members = {"4", "10", "5"};
  const std::vector<std::span<const std::string_view>> asked(2, members);
  CHECK(world.named({.kind = read_kind::members, .keys = {}, .members = asked}, {"bought:1", "bought:2"}) ==
        "yes no no;no no no; bad 0");
  CHECK(world.named({.kind = read_kind::scores, .keys = {}, .members = asked}, {"seen:1", "seen:2"}) ==
        "no yes@1 no;no no yes@20; bad 0");
}

TEST_CASE("a question about another kind of value fails as in Redis") {
  counted_world world;
  counted_set set;
  CHECK(set.add("4", 10));
  for (const char* key : {"viewed:1", "item:1", "seen:1"}) world.put(key, set);
  CHECK(world.named({.kind = read_kind::list, .keys = {}, .count = 10}, {"viewed:2", "viewed:1"}) ==
        "store_wrong_type");
  CHECK(world.named({.kind = read_kind::sorted_set, .keys = {}, .count = 10}, {"seen:1"}) == "store_wrong_type");
  const std::vector<std::string_view> members = {"4"};
  const std::vector<std::span<const std::string_view>> asked(1, members);
  CHECK(world.named({.kind = read_kind::scores, .keys = {}, .members = asked}, {"seen:1"}) == "store_wrong_type");
  const std::vector<std::span<const std::string_view>> nothing(1);
  CHECK(world.named({.kind = read_kind::scores, .keys = {}, .members = nothing}, {"seen:1"}) == "; bad 0");
  const std::vector<std::string_view> fields = {"title"};
  CHECK(world.named({.kind = read_kind::fields, .keys = {}, .fields = fields}, {"item:1"}) == "store_wrong_type");
  CHECK(world.all_of({1}) == "store_wrong_type");
  braid::arena memory;
  const std::vector<std::int64_t> ids = {1};
  CHECK_FALSE(braid::sync_wait(ask_store(*world.over, field_read{{"item:", ids}, "title"}, memory)));
  CHECK_FALSE(braid::sync_wait(ask_store(*world.over, list_read{{"item:", ids}, 5}, memory)));
}

TEST_CASE("other kinds of values are those that were loaded") {
  counted_world world;
  world.count("item:2", "clicks", "1");
  CHECK(world.all_of({2}) == "store_wrong_type");
  braid::arena memory;
  const std::vector<std::int64_t> ids = {2};
  const auto list = braid::sync_wait(ask_store(*world.over, list_read{{"item:", ids}, 2}, memory)).value();
  CHECK(std::vector(list.lists[0].begin(), list.lists[0].end()) == std::vector<std::int64_t>{5, 6});
  CHECK(world.over->answers_at_once());
  CHECK(world.over->damage().empty());
}
