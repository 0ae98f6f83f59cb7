// tests/rankd/store/replayed_reads_test.cpp: what was read is answered again, bit for bit, and nothing else is.
#include <rankd/store/replayed_reads.hpp>

#include <rankd/store/read_recorder.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::ask_store;
using rankd::testing::memory_store;
using rankd::testing::op_world;

namespace {

constexpr std::array<std::int64_t, 3> users{1, -2, 3};
const std::vector<std::string_view> names{"a", "b"};

auto filled() -> memory_store& {
  static memory_store behind;
  behind.hashes["user:1"] = {{"country", "US"}, {"title", std::string("\0\n", 2)}};
  behind.hashes["user:3"] = {{"country", ""}};
  behind.lists["follow:1"] = {"5", "x", "-9223372036854775808"};
  behind.sorted_sets["a"] = {{"7", std::numeric_limits<double>::infinity()}, {"8", -0.0}};
  behind.sets["a"] = {"7"};
  behind.strings["b"] = "text";
  behind.refusal = {};
  return behind;
}

/// Asks everything that a store can be asked.
void ask_all(store& from, braid::arena& memory, std::vector<std::string>& out) {
  const auto text = [](std::string_view value) { return std::to_string(value.size()) + ":" + std::string(value); };
  const auto countries = braid::sync_wait(ask_store(from, field_read{{"user:", users}, "country"}, memory)).value();
  for (const auto& each : countries) out.push_back(each ? text(*each) : "-");
  const auto hashes = braid::sync_wait(ask_store(from, hash_read{{"user:", users}}, memory)).value();
  for (const auto& each : hashes) {
    out.push_back("hash");
    for (const hash_field& field : each) out.push_back(text(field.name) + "=" + text(field.value));
  }
  const id_batch lists = braid::sync_wait(ask_store(from, list_read{{"follow:", users}, 3}, memory)).value();
  out.push_back(std::to_string(lists.malformed));
  for (const auto& each : lists.lists) {
    out.push_back("list");
    for (const std::int64_t id : each) out.push_back(std::to_string(id));
  }
  const std::vector<std::string_view> fields{"country", "none"};
  const std::vector<std::string_view> asked{"7", "9"};
  const std::vector<std::span<const std::string_view>> members{asked, {}};
  const std::vector<std::string_view> keys{"user:1", "user:2"};
  for (const named_read& what : {named_read{.kind = read_kind::sorted_set, .keys = names, .count = 9},
                                 named_read{.kind = read_kind::sorted_set,
                                            .keys = names,
                                            .count = 9,
                                            .order = score_order::descending,
                                            .range = score_range{.min = -1, .max = 1}},
                                 named_read{.kind = read_kind::set, .keys = names, .count = 9},
                                 named_read{.kind = read_kind::strings, .keys = names},
                                 named_read{.kind = read_kind::fields, .keys = keys, .fields = fields},
                                 named_read{.kind = read_kind::members, .keys = names, .members = members},
                                 named_read{.kind = read_kind::scores, .keys = names, .members = members}}) {
    const item_batch found = braid::sync_wait(ask_store(from, what, memory)).value();
    for (const auto& items : found.of_key) {
      out.push_back("key");
      for (const stored_item& each : items)
        out.push_back(std::string(each.is_there ? "+" : "-") + std::to_string(each.id) + " " +
                      std::to_string(std::bit_cast<std::uint64_t>(each.score)) + " " + text(each.text));
    }
  }
}

/// Answers a first question after it has asked it again itself, of another store.
class nesting_store final : public memory_store {
 public:
  store* other = nullptr;

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    auto& country = hashes["user:1"]["country"];
    if (store* const again = std::exchange(other, nullptr); again != nullptr) {
      country = "second";
      static_cast<void>(co_await again->ask(question, arena));
      country = "first";
    }
    co_return co_await memory_store::ask(question, arena);
  }
};

/// What a request has read that asks the second store of three endpoints by `ask`.
template <typename Ask>
auto recorded(Ask ask) -> std::shared_ptr<replayed_reads> {
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&filled(), nullptr, &filled()});
  ask(*read_recorder::list_stores(by)->at(2));
  auto made = replayed_reads::parse(by->take(), op_world());
  REQUIRE(made != nullptr);
  return made;
}

auto store_of(const std::shared_ptr<replayed_reads>& from) -> store& {
  return *replayed_reads::list_stores(from)->at(2);
}

}  // namespace

TEST_CASE("every call is answered as it was") {
  braid::arena memory;
  std::vector<std::string> then;
  const auto from = recorded([&](store& asked) { ask_all(asked, memory, then); });
  std::vector<std::string> now;
  braid::arena other;
  ask_all(store_of(from), other, now);
  CHECK(now == then);
  CHECK(from->missing().empty());
  CHECK(replayed_reads::list_stores(from)->at(3) == nullptr);  // an endpoint that is a file
}

TEST_CASE(
    "the first elements of a list come from more of them, and as many as wanted from a list that was read whole") {
  braid::arena memory;
  const std::array<std::int64_t, 1> key{1};
  const auto ids = [&](store& of, std::uint32_t first) {
    const auto got = braid::sync_wait(ask_store(of, list_read{{"follow:", key}, first}, memory));
    return got ? std::vector<std::int64_t>(got->lists[0].begin(), got->lists[0].end()) : std::vector<std::int64_t>{-1};
  };
  memory_store behind;
  behind.lists["follow:1"] = {"5", "6", "7"};
  const auto after = [&](std::uint32_t first) {
    const auto by = std::make_shared<read_recorder>(std::vector<store*>{nullptr, nullptr, &behind});
    static_cast<void>(ids(*read_recorder::list_stores(by)->at(2), first));
    return replayed_reads::parse(by->take(), op_world());
  };
  const auto part = after(2);
  CHECK(ids(store_of(part), 2) == std::vector<std::int64_t>{5, 6});
  CHECK(ids(store_of(part), 1) == std::vector<std::int64_t>{5});
  CHECK(part->missing().empty());
  CHECK(ids(store_of(part), 3) == std::vector<std::int64_t>{-1});  // there may be more of it
  CHECK(part->missing() == "`follow:1` of endpoint `" + op_world().endpoints()[2].endpoint_id + "`");
  const auto all = after(4);
  CHECK(ids(store_of(all), 1000) == std::vector<std::int64_t>{5, 6, 7});
  CHECK(all->missing().empty());
  behind.lists["follow:1"] = {"5", "x", "7"};  // of which it is not known where the malformed one stands
  CHECK(ids(store_of(after(4)), 1) == std::vector<std::int64_t>{-1});
}

TEST_CASE("a live store is asked for what was not recorded, and for nothing else") {
  braid::arena memory;
  const std::array<std::int64_t, 1> one{1};
  const std::array<std::int64_t, 2> both{1, 3};
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&filled(), nullptr, &filled()});
  static_cast<void>(braid::sync_wait(
      ask_store(*read_recorder::list_stores(by)->at(2), field_read{{"user:", one}, "country"}, memory)));
  memory_store later;
  later.hashes["user:1"]["country"] = "later";
  later.hashes["user:3"]["country"] = "live";
  const auto live = std::make_shared<const std::vector<store*>>(std::vector<store*>{nullptr, nullptr, &later});
  const auto from = replayed_reads::parse(by->take(), op_world(), live);
  const auto then = braid::sync_wait(ask_store(filled(), field_read{{"user:", one}, "country"}, memory)).value();
  CHECK(braid::sync_wait(ask_store(store_of(from), field_read{{"user:", one}, "country"}, memory)).value()[0] ==
        then[0]);
  CHECK(from->live_batches() == 0);
  CHECK(braid::sync_wait(ask_store(store_of(from), field_read{{"user:", both}, "country"}, memory)).value()[1] ==
        "live");
  CHECK(from->live_batches() == 1);
  CHECK(from->missing().empty());
}

TEST_CASE("another batch of the same kind is put together key by key, and a key that was not read is missing") {
  braid::arena memory;
  std::vector<std::string> then;
  const auto from = recorded([&](store& asked) { ask_all(asked, memory, then); });
  store& asked = store_of(from);
  const std::array<std::int64_t, 2> fewer{3, 1};
  const auto some = braid::sync_wait(ask_store(asked, field_read{{"user:", fewer}, "country"}, memory)).value();
  CHECK(some[0] == "");
  CHECK(some[1] == "US");
  CHECK(braid::sync_wait(ask_store(asked, list_read{{"follow:", fewer}, 3}, memory)).value().lists[1].size() == 2);
  const std::vector<std::string_view> one{"b"};
  CHECK(braid::sync_wait(ask_store(asked, named_read{.kind = read_kind::strings, .keys = one}, memory))
            .value()
            .of_key[0][0]
            .text == "text");
  CHECK(braid::sync_wait(ask_store(asked, hash_read{{"user:", {}}}, memory)).value().empty());
  CHECK(from->missing().empty());

  const std::array<std::int64_t, 2> others{1, 4};
  const auto none = braid::sync_wait(ask_store(asked, field_read{{"user:", others}, "country"}, memory));
  REQUIRE_FALSE(none.has_value());
  CHECK(asked.explain(none.error()).code == "read_not_recorded");
  CHECK(from->missing() == "`user:4` of endpoint `ep_0003`");
  CHECK(asked.explain(none.error()).message ==
        "the recording does not contain `user:4` of endpoint `ep_0003` of this request");
  CHECK_FALSE(braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "title"}, memory)).has_value());
  CHECK_FALSE(braid::sync_wait(ask_store(asked, list_read{{"follow:", fewer}, 2}, memory)).has_value());
  store& first = *replayed_reads::list_stores(from)->at(0);  // where the same keys may hold something else
  CHECK_FALSE(braid::sync_wait(ask_store(first, field_read{{"user:", users}, "country"}, memory)).has_value());
  CHECK(from->missing() == "`user:4` of endpoint `ep_0003`");
}

TEST_CASE("a batch that failed fails again with its words, one that changed changes again") {
  braid::arena memory;
  const auto from = recorded([&](store& asked) {
    static_cast<void>(braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "title"}, memory)));
    filled().hashes["user:1"]["title"] = "new";
    static_cast<void>(braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "title"}, memory)));
    filled().refusal = make_error_code(store_errc::corrupt);
    static_cast<void>(braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "country"}, memory)));
  });
  store& asked = store_of(from);
  const auto title = [&] {
    return braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "title"}, memory)).value()[0];
  };
  CHECK(title() == std::string_view("\0\n", 2));
  CHECK(title() == "new");
  CHECK(title() == "new");
  const auto failed = braid::sync_wait(ask_store(asked, field_read{{"user:", users}, "country"}, memory));
  REQUIRE_FALSE(failed.has_value());
  CHECK(asked.explain(failed.error()).code == "store_error");
  CHECK(asked.explain(failed.error()).message == "the store refused to answer: the store's file is damaged");
  CHECK(from->missing().empty());
}

TEST_CASE("a question with several answers is answered in the order in which it was asked, as often as then") {
  braid::arena memory;
  nesting_store behind;
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&behind});
  store& asked = *read_recorder::list_stores(by)->front();
  behind.other = &asked;
  const auto country = [&](store& from) {
    return std::string(
        braid::sync_wait(ask_store(from, field_read{{"user:", users}, "country"}, memory)).value()[0].value());
  };
  CHECK(country(asked) == "first");  // the second one was answered before
  CHECK(country(asked) == "first");
  behind.hashes["user:1"]["country"] = "second";
  CHECK(country(asked) == "second");
  const auto from = replayed_reads::parse(by->take(), op_world());
  REQUIRE(from != nullptr);
  store& again = *replayed_reads::list_stores(from)->front();
  for (const char* each : {"first", "second", "first", "second"}) CHECK(country(again) == each);
}

TEST_CASE("bytes that are no reads are refused, wherever they are cut") {
  braid::arena memory;
  std::vector<std::string> then;
  const auto by = std::make_shared<read_recorder>(std::vector<store*>{&filled()});
  ask_all(*read_recorder::list_stores(by)->front(), memory, then);
  const std::string bytes = by->take();
  const std::size_t all = replayed_reads::parse(bytes, op_world())->batches();
  CHECK(all == 10);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = replayed_reads::parse(bytes.substr(0, size), op_world());
    if (cut != nullptr) CHECK(cut->batches() < all);  // between two batches
  }
  CHECK(replayed_reads::parse("\x01\x01\x09", op_world()) == nullptr);
}
