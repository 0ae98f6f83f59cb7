// tests/rankd/store/record_cache_test.cpp: values are what was read, until they change, are too old, or have no room.
#include <rankd/store/record_cache.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

using ids = std::vector<std::int64_t>;

/// A cache, and reads whose answers the test gives.
struct world {
  braid::manual_clock clock;
  record_cache_options options = {.bytes = 1U << 20U, .clock = &clock};
  std::optional<record_cache> made;
  braid::arena memory;

  auto cache() -> record_cache& {
    if (!made) made.emplace(options);
    return *made;
  }
  auto find(const store_question& question) -> record_lookup { return cache().find(question, memory); }
  void read(const store_question& question, const store_answer& answer) {
    record_read one;
    one.question = question;
    cache().begin(one);
    cache().end(one, &answer);
  }

  /// The field `country` of users.
  static auto countries(const ids& users) -> store_question { return field_read{{"user:", users}, "country"}; }
  void know(const ids& users, std::string_view country) {
    const std::vector<std::optional<std::string_view>> values(users.size(), country);
    read(countries(users), field_batch(values));
  }
  /// The answer, `-` for an absent value, and `?` for one that is not known.
  auto told(const ids& users) -> std::string {
    const record_lookup found = find(countries(users));
    std::string out;
    std::vector<bool> is_missing(users.size());
    for (const auto& each : found.missing) is_missing[each.position] = true;
    const auto& values = std::get<field_batch>(found.answer);
    for (std::size_t at = 0; at < users.size(); ++at)
      out += is_missing[at] ? "?" : std::string(values[at].value_or("-"));
    return out;
  }
};

}  // namespace

TEST_CASE("the values of every kind of question are as they were read, in memory of the request") {
  world in;
  SUBCASE("fields") {
    const ids users{1, -2, 3};
    const std::vector<std::optional<std::string_view>> values{"US", std::nullopt, ""};
    in.read(world::countries(users), field_batch(values));
    const record_lookup found = in.find(world::countries({3, 1, -2}));
    CHECK(found.missing.empty());
    CHECK(found.hits == 3);
    const auto& got = std::get<field_batch>(found.answer);
    CHECK(got[0] == "");
    CHECK(got[1] == "US");
    CHECK(got[2] == std::nullopt);
    in.made.reset();
    CHECK(got[1] == "US");
  }
  SUBCASE("hashes") {
    const ids users{1, 2};
    const std::vector<hash_field> fields{{"a", "1"}, {"", "x"}, {"long name", ""}};
    const std::vector<std::span<const hash_field>> hashes{fields, {}};
    in.read(hash_read{{"user:", users}}, hash_batch(hashes));
    const record_lookup found = in.find(hash_read{{"user:", users}});
    CHECK(found.missing.empty());
    in.made.reset();
    const auto& got = std::get<hash_batch>(found.answer);
    CHECK(std::ranges::equal(got[0], fields));
    CHECK(got[1].empty());
  }
  SUBCASE("lists, with their malformed elements") {
    const ids users{1, 2};
    const ids one{7, -8};
    const std::vector<std::span<const std::int64_t>> lists{one, {}};
    const std::vector<std::uint32_t> malformed{0, 3};
    in.read(list_read{{"follow:", users}, 5}, id_batch{lists, 3, malformed});
    const record_lookup both = in.find(list_read{{"follow:", users}, 5});
    CHECK(both.missing.empty());
    CHECK(std::ranges::equal(std::get<id_batch>(both.answer).lists[0], one));
    CHECK(std::get<id_batch>(both.answer).malformed == 3);
    const ids first{1};
    const record_lookup single = in.find(list_read{{"follow:", first}, 5});
    CHECK(std::get<id_batch>(single.answer).malformed == 0);
    CHECK(in.find(list_read{{"follow:", first}, 6}).missing.size() == 1);  // another value
  }
  SUBCASE("items") {
    const std::vector<std::string_view> keys{"a", "b"};
    const std::vector<std::string_view> fields{"x", "y"};
    const std::vector<stored_item> one{{.is_there = true, .text = "text"}, {}};
    const std::vector<stored_item> other{{.is_there = true, .id = 5, .score = -0.5, .text = {}}, {}};
    const std::vector<std::span<const stored_item>> values{one, other};
    const named_read question{.kind = read_kind::fields, .keys = keys, .fields = fields};
    in.read(question, item_batch{values, 0});
    const record_lookup found = in.find(question);
    CHECK(found.missing.empty());
    in.made.reset();
    const auto& got = std::get<item_batch>(found.answer).of_key;
    CHECK(got[0][0].text == "text");
    CHECK_FALSE(got[0][1].is_there);
    CHECK(got[1][0].id == 5);
    CHECK(got[1][0].score == -0.5);
  }
}

TEST_CASE("scores of models, and questions about members, are not kept") {
  CHECK_FALSE(record_cache::suits(model_call()));
  for (const read_kind kind : {read_kind::members, read_kind::scores})
    CHECK_FALSE(record_cache::suits(named_read{.kind = kind, .keys = {}}));
  for (const read_kind kind :
       {read_kind::list, read_kind::sorted_set, read_kind::set, read_kind::fields, read_kind::strings})
    CHECK(record_cache::suits(named_read{.kind = kind, .keys = {}}));
  CHECK(record_cache::suits(field_read()));
}

TEST_CASE("missing values are read alone, and added at their places") {
  world in;
  in.know({1, 3}, "US");
  const ids users{0, 1, 2, 3};
  record_lookup found = in.find(world::countries(users));
  REQUIRE(found.missing.size() == 2);
  CHECK(found.missing[0].position == 0);
  CHECK(found.missing[1].position == 2);
  CHECK(found.missing[0].read == nullptr);
  const std::array<std::uint32_t, 2> to{0, 2};
  const store_question rest = record_cache::find_part(world::countries(users), to, in.memory);
  CHECK(std::ranges::equal(std::get<field_read>(rest).keys.ids, ids{0, 2}));
  CHECK(std::get<field_read>(rest).field == "country");
  const std::vector<std::optional<std::string_view>> values{"CA", "MX"};
  record_cache::add(found, to, field_batch(values), std::array<std::uint32_t, 2>{0, 1});
  const auto& got = std::get<field_batch>(found.answer);
  CHECK(got[0] == "CA");
  CHECK(got[1] == "US");
  CHECK(got[2] == "MX");
}

TEST_CASE("malformed elements that belong to no known key count for all, and nothing is kept") {
  world in;
  const ids users{1, 2};
  const std::vector<std::span<const std::int64_t>> lists(2);
  const id_batch answer{lists, 4};
  in.read(list_read{{"follow:", users}, 5}, answer);
  record_lookup found = in.find(list_read{{"follow:", users}, 5});
  CHECK(found.missing.size() == 2);
  record_cache::add(found, std::array<std::uint32_t, 1>{0}, answer, std::array<std::uint32_t, 1>{1});
  CHECK(std::get<id_batch>(found.answer).malformed == 4);
}

TEST_CASE("a value is as old as the beginning of its read, and has its limit by what is known of it") {
  world in;
  in.options.age = 1s;
  in.options.absent_age = 100ms;
  in.options.tracked_age = 1min;
  record_read one;
  const ids users{1, 2};
  one.question = world::countries(users);
  in.cache().begin(one);
  in.clock.advance(50ms);
  const std::vector<std::optional<std::string_view>> values{"US", std::nullopt};
  const store_answer answer = field_batch(values);
  SUBCASE("without reports of changes") {
    in.cache().end(one, &answer);
    in.clock.advance(49ms);
    CHECK(in.told(users) == "US-");
    CHECK((in.find(world::countries(users)).oldest == 99ms));
    in.clock.advance(1ms);
    CHECK(in.told(users) == "US?");
    in.clock.advance(899ms);
    CHECK(in.told(users) == "US?");
    in.clock.advance(1ms);
    CHECK(in.told(users) == "??");
  }
  SUBCASE("with them") {
    in.cache().set_tracked(true);
    in.cache().end(one, &answer);
    in.clock.advance(59'949ms);
    CHECK(in.told(users) == "US-");
    in.clock.advance(1ms);
    CHECK(in.told(users) == "??");
  }
}

TEST_CASE("a change drops all values of its key, and a value that is being read then is not kept") {
  world in;
  const ids users{1, 2};
  in.know(users, "US");
  in.read(hash_read{{"user:", users}}, hash_batch(std::vector<std::span<const hash_field>>(2)));
  CHECK(in.find(hash_read{{"user:", users}}).missing.empty());
  in.cache().key_changed("user:1");
  in.cache().key_changed("user:17");
  CHECK(in.told(users) == "?US");
  CHECK(in.find(hash_read{{"user:", users}}).missing.size() == 1);
  CHECK(in.cache().counts().changed == 1);

  record_read one;
  const ids others{1, 3};
  one.question = world::countries(others);
  in.cache().begin(one);
  in.cache().key_changed("user:3");
  CHECK(in.find(world::countries({3})).missing[0].read == nullptr);  // no later request waits for it
  CHECK(in.find(world::countries({1})).missing[0].read == &one);
  const std::vector<std::optional<std::string_view>> values{"CA", "CA"};
  const store_answer answer = field_batch(values);
  in.cache().end(one, &answer);
  CHECK(in.told({1, 2, 3}) == "CAUS?");
}

TEST_CASE("lost reports drop everything, also what is being read") {
  world in;
  in.know({1, 2}, "US");
  record_read one;
  const ids users{3};
  one.question = world::countries(users);
  in.cache().begin(one);
  in.cache().all_changed();
  CHECK(in.cache().counts().bytes == 0);
  const std::vector<std::optional<std::string_view>> values{"CA"};
  const store_answer answer = field_batch(values);
  in.cache().end(one, &answer);
  CHECK(in.told({1, 2, 3}) == "???");
  CHECK(in.cache().counts().entries == 0);
  CHECK(in.cache().counts().emptied == 1);
  in.know({1}, "CA");
  CHECK(in.told({1}) == "CA");
}

TEST_CASE("a read that fails keeps nothing, and nothing waits for it any more") {
  world in;
  record_read one;
  const ids users{1};
  one.question = world::countries(users);
  in.cache().begin(one);
  CHECK(in.find(world::countries(users)).missing[0].read == &one);
  in.cache().end(one, nullptr);
  CHECK(one.cache == nullptr);
  CHECK(in.find(world::countries(users)).missing[0].read == nullptr);
}

TEST_CASE("a key that a question has twice is read and kept") {
  world in;
  in.know({1, 1}, "US");
  CHECK(in.told({1, 1}) == "USUS");
  CHECK(in.cache().counts().entries == 1);
}

TEST_CASE("of too many keys the ones go that were not used lately") {
  world in;
  in.options.entries = 3;
  for (const std::int64_t user : {1, 2, 3}) in.know({user}, "US");
  CHECK(in.told({1}) == "US");
  in.know({4}, "US");
  CHECK(in.told({1, 2, 3, 4}) == "US?USUS");
  CHECK(in.cache().counts().evicted == 1);
  CHECK(in.cache().counts().entries == 3);
}

TEST_CASE("bytes are bounded, and a value that is larger than all of them drops nothing") {
  world in;
  in.options.bytes = 4'000;
  in.know({1}, "US");
  in.know({2}, std::string(4'000, 'x'));
  CHECK(in.told({1}) == "US");
  CHECK(in.cache().counts().entries == 1);
  for (std::int64_t user = 3; user < 40; ++user) {
    in.know({user}, std::string(500, 'x'));
    CHECK(in.cache().counts().bytes <= 4'000);
  }
  CHECK(in.cache().counts().entries >= 4);
  CHECK(in.told({39}) == std::string(500, 'x'));
  CHECK(in.told({1}) == "?");
}

TEST_CASE("many kinds of questions about one key are bounded, and their names are forgotten with them") {
  world in;
  const ids users{1};
  const ids one{7};
  const std::vector<std::span<const std::int64_t>> lists{one};
  for (std::uint32_t first = 1; first <= 1'000; ++first) {
    in.read(list_read{{"follow:", users}, first}, id_batch{lists, 0});
    CHECK(in.find(list_read{{"follow:", users}, first}).missing.empty());
  }
  CHECK(in.find(list_read{{"follow:", users}, 990}).missing.empty());
  CHECK(in.find(list_read{{"follow:", users}, 900}).missing.size() == 1);
  CHECK(in.cache().counts().entries == 1);
  CHECK(in.cache().counts().bytes < 2'000);
}

TEST_CASE("counts add up") {
  record_cache_counts all{.hits = 1,
                          .misses = 2,
                          .joined = 3,
                          .evicted = 4,
                          .changed = 5,
                          .emptied = 6,
                          .bytes = 7,
                          .entries = 8,
                          .caches = 9,
                          .tracked = 10};
  all.add(all);
  CHECK(all.hits == 2);
  CHECK(all.misses == 4);
  CHECK(all.joined == 6);
  CHECK(all.evicted == 8);
  CHECK(all.changed == 10);
  CHECK(all.emptied == 12);
  CHECK(all.bytes == 14);
  CHECK(all.entries == 16);
  CHECK(all.caches == 18);
  CHECK(all.tracked == 20);
}
