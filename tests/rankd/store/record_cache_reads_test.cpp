// tests/rankd/store/record_cache_reads_test.cpp: requests that share a record cache: what they read, and what they wait
// for.
#include <rankd/store/record_cache.hpp>
#include <rankd/store/shared_reads.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::test_loop;
using rankd::testing::ask_store;
using rankd::testing::memory_store;

namespace {

using ids = std::vector<std::int64_t>;
using texts = std::vector<std::string>;

/// Answers when it is let, and reports changes if it is told so.
class held_store final : public memory_store {
 public:
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    while (!is_let) co_await let;
    co_return co_await memory_store::ask(question, arena);
  }
  auto report_changes(braid::home& /*where*/, braid::redis_tracker& to) -> bool override {
    reports_to = &to;
    return reports;
  }

  braid::event let;
  bool is_let = true;
  bool reports = false;
  braid::redis_tracker* reports_to = nullptr;
};

auto ask_countries(store* from, ids users, std::string& into) -> braid::task<void> {
  braid::arena memory;
  const auto got = co_await ask_store(*from, field_read{{"user:", users}, "country"}, memory);
  into.clear();
  if (!got) into = "failed";
  if (got)
    for (const auto& each : *got) into += each ? std::string(*each) : "-";
}

struct world {
  test_loop on;
  held_store behind;
  braid::manual_clock clock;
  record_cache_options options = {.bytes = 1U << 20U, .age = 1s, .clock = &clock};
  store_list stores = std::make_shared<const std::vector<store*>>(std::vector<store*>{&behind, nullptr});
  std::optional<shared_reads> made;
  std::vector<std::unique_ptr<braid::scope>> scopes;

  world() {
    for (const char* id : {"1", "2", "3"}) behind.hashes["user:" + std::string(id)]["country"] = "c" + std::string(id);
  }
  ~world() {
    for (const auto& each : scopes) each->request_stop();
    on.run_once();
    scopes.clear();
  }
  auto reads() -> shared_reads& {
    if (!made) made.emplace(*stores, options);
    return *made;
  }
  void ask(const std::shared_ptr<request_reads>& of, ids users, std::string& into) {
    scopes.push_back(std::make_unique<braid::scope>(on.io().root()));
    scopes.back()->spawn(ask_countries(request_reads::list(of)->front(), std::move(users), into));
    on.run_once();
  }
  /// Asks as a request of its own.
  auto told(const ids& users) -> std::string {
    std::string out = "nothing yet";
    ask(reads().for_request(stores), users, out);
    return out;
  }
  void let() {
    behind.is_let = true;
    behind.let.set();
    on.run_once();
  }
  void hold() { behind.is_let = false; }
};

}  // namespace

TEST_CASE("without a size nothing is kept, and no store is asked to report changes") {
  world in;
  in.options.bytes = 0;
  CHECK(in.told({1, 2}) == "c1c2");
  CHECK(in.told({1, 2}) == "c1c2");
  CHECK(in.behind.asked.size() == 2);
  CHECK(in.behind.reports_to == nullptr);
  CHECK(in.reads().records(0).caches == 0);
}

TEST_CASE("later requests read only the keys that no request has read") {
  world in;
  CHECK(in.told({1, 9}) == "c1-");
  CHECK(in.told({9, 2, 1, 3}) == "-c2c1c3");
  CHECK(in.told({3, 2, 9, 1}) == "c3c2-c1");
  CHECK(in.behind.asked == texts{"hget user:1 user:9", "hget user:2 user:3"});
  const auto one = in.reads().for_request(in.stores);
  in.clock.advance(700ms);
  std::string text;
  in.ask(one, {1, 7}, text);
  CHECK(text == "c1-");
  CHECK(one->counts().asked == 1);
  CHECK(one->counts().kept == 1);
  CHECK(one->counts().missed == 1);
  CHECK((one->counts().oldest == 700ms));
  CHECK(in.reads().records(0).hits == 7);
  CHECK(in.reads().records(0).misses == 5);
  CHECK(in.reads().records(0).entries == 5);
  CHECK(in.reads().records(1).caches == 0);
  in.clock.advance(300ms);
  in.behind.hashes["user:1"]["country"] = "new";
  CHECK(in.told({1}) == "new");
}

TEST_CASE("a key that is being read is not read again, whatever else the questions ask for") {
  world in;
  in.hold();
  std::array<std::string, 3> ends;
  in.ask(in.reads().for_request(in.stores), {1, 2}, ends[0]);
  in.ask(in.reads().for_request(in.stores), {3, 2, 1}, ends[1]);
  in.ask(in.reads().for_request(in.stores), {2, 3}, ends[2]);
  in.let();
  CHECK(ends == std::array<std::string, 3>{"c1c2", "c3c2c1", "c2c3"});
  CHECK(in.behind.asked == texts{"hget user:1 user:2", "hget user:3"});
  CHECK(in.reads().records(0).joined == 4);
}

TEST_CASE("the end of the request that has begun a read leaves it to the others, and the last one stops it") {
  world in;
  in.hold();
  std::array<std::string, 2> ends;
  in.ask(in.reads().for_request(in.stores), {1}, ends[0]);
  in.ask(in.reads().for_request(in.stores), {1}, ends[1]);
  in.scopes[0]->request_stop();
  in.on.run_once();
  SUBCASE("to the others") {
    in.let();
    CHECK(ends[1] == "c1");
    CHECK(in.behind.asked.size() == 1);
  }
  SUBCASE("the last one") {
    in.scopes[1]->request_stop();
    in.on.run_once();
    in.let();
    CHECK(in.behind.asked.empty());
    CHECK(in.told({1}) == "c1");
  }
}

TEST_CASE("a failure reaches every request that waits, and is not kept") {
  world in;
  in.hold();
  in.behind.refusal = braid::errc::closed;
  std::array<std::string, 2> ends;
  in.ask(in.reads().for_request(in.stores), {1, 2}, ends[0]);
  in.ask(in.reads().for_request(in.stores), {2, 3}, ends[1]);
  in.let();
  CHECK(ends == std::array<std::string, 2>{"failed", "failed"});
  in.behind.refusal = {};
  CHECK(in.told({1, 2, 3}) == "c1c2c3");
}

TEST_CASE("the store reports changes to the cache if it can, and then values become older") {
  world in;
  in.behind.reports = true;
  CHECK(in.told({1, 2}) == "c1c2");
  REQUIRE(in.behind.reports_to != nullptr);
  CHECK(in.reads().records(0).tracked == 1);
  in.clock.advance(1min);
  in.behind.hashes["user:1"]["country"] = "new";
  CHECK(in.told({1, 2}) == "c1c2");
  in.behind.reports_to->key_changed("user:1");
  CHECK(in.told({1, 2}) == "newc2");
  CHECK(in.behind.asked == texts{"hget user:1 user:2", "hget user:1"});
}

TEST_CASE("a change while a key is read makes the next request read it again") {
  world in;
  in.behind.reports = true;
  in.hold();
  std::string first;
  in.ask(in.reads().for_request(in.stores), {1, 2}, first);
  in.behind.reports_to->key_changed("user:1");
  in.let();
  CHECK(first == "c1c2");
  CHECK(in.told({1, 2}) == "c1c2");
  CHECK(in.behind.asked == texts{"hget user:1 user:2", "hget user:1"});
}

TEST_CASE("the store is asked to report changes before any question, also one that is not kept") {
  world in;
  in.behind.reports = true;
  const std::vector<std::string_view> keys{"set:1"};
  const std::vector<std::string_view> members{"7"};
  const std::vector<std::span<const std::string_view>> of_key{members};
  bool was_answered = false;
  const auto ask_members = [&](std::shared_ptr<request_reads> of) -> braid::task<void> {
    braid::arena memory;
    const named_read question{.kind = read_kind::members, .keys = keys, .members = of_key};
    was_answered = (co_await ask_store(*request_reads::list(of)->front(), question, memory)).has_value();
  };
  in.scopes.push_back(std::make_unique<braid::scope>(in.on.io().root()));
  in.scopes.back()->spawn(ask_members(in.reads().for_request(in.stores)));
  in.on.run_once();
  CHECK(was_answered);
  CHECK(in.behind.reports_to != nullptr);
  CHECK(in.reads().records(0).tracked == 1);
  CHECK(in.reads().records(0).entries == 0);
}

TEST_CASE("tracking can be turned off") {
  world in;
  in.options.tracking = false;
  in.behind.reports = true;
  CHECK(in.told({1}) == "c1");
  CHECK(in.behind.reports_to == nullptr);
  in.clock.advance(1s);
  in.behind.hashes["user:1"]["country"] = "new";
  CHECK(in.told({1}) == "new");
}
