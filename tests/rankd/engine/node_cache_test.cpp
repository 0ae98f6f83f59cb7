// tests/rankd/engine/node_cache_test.cpp: nodes whose rows are kept for other requests, and what these rows depend on.
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

namespace {

const std::string required = R"("capabilities_required":["cap.rfc.0003.bound_params.v1","cap.rfc.0004.fallback.v1",)"
                             R"("cap.rfc.0005.branch.v1","cap.rfc.0007.timeouts.v1","cap.rfc.0011.cache.v1"],)";

auto plan_of(const std::string& nodes, const std::string& outputs, const std::string& more = "") -> std::string {
  return artifact_of(nodes, outputs, required + more);
}

/// A node with more fields behind its others.
auto with(std::string node, const std::string& more) -> std::string {
  node.pop_back();
  return node + "," + more + "}";
}

auto cache(int ttl_ms, const std::string& more = "") -> std::string {
  return R"("cache":{"ttl_ms":)" + std::to_string(ttl_ms) + more + "}";
}

/// The list of the viewer, with a cache, and the first ones of it.
auto followed(const std::string& cached = cache(1000)) -> std::string {
  return node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
         with(node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":10})"), cached) + "," +
         node("t", "core::take", "f", R"({"count":5})");
}

/// A store that passes nothing on before it is let.
struct held_store final : memory_store {
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return std::holds_alternative<list_read>(question) ? hold(question, arena) : memory_store::ask(question, arena);
  }

  auto hold(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
    ++begun;
    struct end {
      int* count;
      ~end() { ++*count; }
    };
    const end counted{&ended};
    while (!is_let) co_await let;
    co_return co_await memory_store::ask(question, arena);
  }

  braid::event let;  // these on the loop
  bool is_let = true;
  int begun = 0;
  int ended = 0;  // stopped ones as well
};

/// An engine that keeps rows, on a store whose questions are counted, with a clock of its own.
struct caching_world {
  explicit caching_world(engine_options options = {})
      : in(op_world(), {&from, nullptr, nullptr}, 1, with_cache(options)) {
    from.lists["follow:1"] = {"7", "8", "no id", "9"};
    from.lists["follow:2"] = {"11"};
    from.hashes["user:7"]["country"] = "DE";
    from.hashes["user:8"]["country"] = "FR";
  }

  auto with_cache(engine_options options) -> engine_options {
    options.cache = {.bytes = 1 << 20, .entries = 100, .clock = &clock};
    return options;
  }
  /// How often lists were read.
  auto lists_read() const -> long {
    return std::ranges::count_if(from.asked, [](const std::string& each) { return each.starts_with("lrange"); });
  }
  auto counts() -> cache_counts { return *in.ranker().cached(); }

  braid::manual_clock clock;
  held_store from;
  engine_world in;
};

auto make_report(const ranking& answer, std::string_view node) -> const node_report& {
  const auto found = std::ranges::find(answer.explained->nodes, node, &node_report::node_id);
  REQUIRE(found != answer.explained->nodes.end());
  return *found;
}

/// The answer without what differs between requests.
auto shown(ranking answer) -> std::string {
  answer.explained = nullptr;
  answer.engine_request_id.clear();
  answer.request_id.clear();
  return to_json(answer);
}

const std::string user_1_explained = R"({"user_id":1,"explain":true})";

}  // namespace

TEST_CASE("rows that are there are taken, with no read, and the answer is that of the plan without a cache") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  engine_world plain(op_world(), {&world.from, nullptr, nullptr}, 1);
  const std::string expected = shown(plain.rank(plain.bind(plan_of(followed(), R"("t")")), R"({"user_id":1})"));
  CHECK(expected.find(R"("malformed_ids":1)") != std::string::npos);
  CHECK(expected.find("DE") != std::string::npos);
  CHECK_FALSE(plain.ranker().cached());
  world.from.asked.clear();

  const ranking first = world.in.rank(plan, user_1_explained);
  CHECK(first.cached_nodes == 0);
  CHECK(make_report(first, "f").cache == cache_use::miss);
  CHECK(shown(first) == expected);
  const std::size_t asked = world.from.asked.size();
  world.clock.advance(812ms);
  const ranking second = world.in.rank(plan, user_1_explained);
  CHECK(world.from.asked.size() == asked);
  CHECK(second.cached_nodes == 1);
  CHECK(shown(second) == expected);
  CHECK(make_report(second, "f").cache == cache_use::hit);
  CHECK(make_report(second, "f").state == node_state::done);
  CHECK(make_report(second, "v").state == node_state::bypassed);
  CHECK_FALSE(make_report(second, "v").cache);
  CHECK(to_json(*second.explained).find(R"("cache":"hit","cached_ms":812)") != std::string::npos);
  CHECK(world.counts().hits == 1);
  CHECK(world.counts().misses == 1);
  CHECK(world.counts().entries == 1);
}

TEST_CASE("rows as old as their time to live are made again") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  CHECK((ids_of(world.in.rank(plan, R"({"user_id":1})")) == std::vector<std::int64_t>{7, 8, 9}));
  world.from.lists["follow:1"] = {"5"};
  world.clock.advance(999ms);
  CHECK((ids_of(world.in.rank(plan, R"({"user_id":1})")) == std::vector<std::int64_t>{7, 8, 9}));
  world.clock.advance(1ms);
  CHECK((ids_of(world.in.rank(plan, R"({"user_id":1})")) == std::vector<std::int64_t>{5}));
  CHECK(world.counts().misses == 2);
}

TEST_CASE("rows that are stale are taken while new ones are made, once") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(cache(1000, R"(,"stale_ms":1000)")), R"("t")"));
  world.in.rank(plan, R"({"user_id":1})");
  world.from.lists["follow:1"] = {"5"};
  world.clock.advance(1500ms);
  const ranking stale = world.in.rank(plan, user_1_explained);
  CHECK(stale.rows.size() == 3);
  CHECK(stale.cached_nodes == 1);
  CHECK(to_json(*stale.explained).find(R"("cache":"stale","cached_ms":1500)") != std::string::npos);
  // The renewal is a task of the loop, which goes on with the next request.
  ranking next = world.in.rank(plan, user_1_explained);
  while (make_report(next, "f").cache == cache_use::stale) next = world.in.rank(plan, user_1_explained);
  CHECK(make_report(next, "f").cache == cache_use::hit);
  CHECK((ids_of(next) == std::vector<std::int64_t>{5}));
  CHECK(world.lists_read() == 2);
  world.clock.advance(2000ms);
  CHECK(make_report(world.in.rank(plan, user_1_explained), "f").cache == cache_use::miss);
}

TEST_CASE("rows whose renewal has failed are taken for a second before the next one") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(cache(1000, R"(,"stale_ms":86400000)")), R"("t")"));
  world.in.rank(plan, R"({"user_id":1})");
  world.clock.advance(1500ms);
  world.from.refusal = std::make_error_code(std::errc::io_error);
  const std::size_t before = world.from.asked.size();
  while (world.from.asked.size() == before) CHECK(world.in.rank(plan, R"({"user_id":1})").cached_nodes == 1);
  const std::size_t once = world.from.asked.size();
  for (int n = 0; n < 20; ++n) CHECK(world.in.rank(plan, R"({"user_id":1})").cached_nodes == 1);
  CHECK(world.from.asked.size() == once);
  while (world.from.asked.size() == once) {
    world.clock.advance(1s);
    CHECK(world.in.rank(plan, R"({"user_id":1})").cached_nodes == 1);
  }
}

TEST_CASE("a loop renews so many rows at a time, and no more") {
  constexpr int users = 70;
  constexpr int most = 64;
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(cache(1000, R"(,"stale_ms":86400000)")), R"("t")"));
  const auto ask = [&](int user) {
    return world.in.rank(plan, R"({"user_id":)" + std::to_string(user) + "}").cached_nodes;
  };
  for (int user = 1; user <= users; ++user) CHECK(ask(user) == 0);
  CHECK(world.from.begun == users);
  world.clock.advance(1500ms);
  world.from.is_let = false;
  for (int user = 1; user <= users; ++user) CHECK(ask(user) == 1);
  while (world.from.begun < users + most) ask(users);
  for (int n = 0; n < 20; ++n) CHECK(ask(users) == 1);
  CHECK(world.from.begun == users + most);
  world.in.close();
}

TEST_CASE("requests at the same time have the part run once, and the first that is stopped leaves it to the others") {
  caching_world world;
  world.from.is_let = false;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  constexpr std::size_t others = 15;
  std::vector<ranking> answers;
  const auto keep = [&]() -> braid::task<void> {
    auto work = world.in.ranker().rank(plan, value_of(parse_request(R"({"user_id":1})", op_world())));
    answers.push_back(co_await std::move(work));
  };
  const auto all = [&](braid::scope& inside) -> braid::task<void> {
    braid::scope first(inside);
    first.spawn(keep());
    while (world.counts().misses == 0) co_await braid::yield();
    for (std::size_t n = 0; n < others; ++n) inside.spawn(keep());
    while (world.counts().shared < others) co_await braid::yield();
    first.request_stop();
    co_await first.join();
    world.from.is_let = true;
    world.from.let.set();
  };
  world.in.on().run(braid::with_scope(std::ref(all)));
  REQUIRE(answers.size() == others);
  for (const ranking& each : answers) CHECK(ids_of(each).size() == 3);
  CHECK(world.from.begun == 1);
  CHECK(world.counts().misses == 1);
  CHECK(world.counts().shared == others);
}

TEST_CASE("a part that no request waits for any more is stopped, and the next one runs it anew") {
  caching_world world;
  world.from.is_let = false;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  const auto ask = [&]() -> braid::task<void> {
    auto work = world.in.ranker().rank(plan, value_of(parse_request(R"({"user_id":1})", op_world())));
    co_await std::move(work);
  };
  const auto ask_and_stop = [&](braid::scope& inside) -> braid::task<void> {
    braid::scope alone(inside);
    alone.spawn(ask());
    while (world.from.begun == 0) co_await braid::yield();
    alone.request_stop();
    co_await alone.join();
    while (world.from.ended == 0) co_await braid::yield();
  };
  world.in.on().run(braid::with_scope(std::ref(ask_and_stop)));
  CHECK(world.counts().entries == 0);
  world.from.is_let = true;
  CHECK(ids_of(world.in.rank(plan, R"({"user_id":1})")).size() == 3);
  CHECK(world.counts().misses == 2);
}

TEST_CASE("a request has its own deadline while it waits for a part") {
  caching_world world;
  world.from.is_let = false;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  CHECK(error_of(world.in.rank(plan, R"({"user_id":1,"deadline_ms":1})")) == "deadline_exceeded f");
}

TEST_CASE("another user, and another value of a param that is read, have rows of their own") {
  caching_world world;
  const std::string bound = R"({"endpoint":"ep_0001","fanout":{"param_id":10,"min":1,"max":100}})";
  const bound_plan& plan = world.in.bind(plan_of(node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                                                     with(node("f", "core::follow", "v", bound), cache(1000)) + "," +
                                                     node("s", "core::vm", "f", R"({"out_key":1001,"expr_id":"e"})"),
                                                 R"("s")", R"("expr_table":{"e":{"op":"param_ref","param_id":1}},)"));
  const auto size = [&](std::string_view request) { return world.in.rank(plan, request).rows.size(); };
  CHECK(size(R"({"user_id":1})") == 3);
  CHECK(size(R"({"user_id":2})") == 1);
  CHECK(size(R"({"user_id":1,"param_overrides":{"page_size":2}})") == 2);
  CHECK(world.counts().misses == 3);
  CHECK(size(R"({"user_id":1,"param_overrides":{"page_size":2}})") == 2);
  // The same value, given and by default; and a param that only a later node reads.
  CHECK(size(R"({"user_id":1,"param_overrides":{"page_size":20}})") == 3);
  const ranking weighed = world.in.rank(plan, R"({"user_id":1,"param_overrides":{"weight":4}})");
  CHECK((*weighed.rows.table().find(1001)->floats())[0] == 4);
  CHECK(world.counts().hits == 3);
  CHECK(world.counts().misses == 3);
}

TEST_CASE("a part that reads no user is the same for all of them") {
  caching_world world;
  const bound_plan& plan = world.in.bind(
      plan_of(with(node("l", "core::list", "", R"({"endpoint":"ep_0001","key":"follow:1","count":9})"), cache(1000)) +
                  "," + node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                  node("c", "core::concat", "v", R"({"rhs":"l"})"),
              R"("c")"));
  const std::size_t both = world.in.rank(plan, R"({"user_id":1})").rows.size();
  CHECK(both > 1);
  const ranking other = world.in.rank(plan, R"({"user_id":2})");
  CHECK(other.rows.size() == both);
  CHECK(other.cached_nodes == 1);
}

TEST_CASE("a failure is that of the plan without a cache, and is not kept") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  engine_world plain(op_world(), {&world.from, nullptr, nullptr}, 1);
  world.from.refusal = std::make_error_code(std::errc::io_error);
  const ranking expected = plain.rank(plain.bind(plan_of(followed(), R"("t")")), R"({"user_id":1})");
  const ranking failed = world.in.rank(plan, R"({"user_id":1})");
  REQUIRE(failed.error);
  REQUIRE(expected.error);
  CHECK(failed.error->code == expected.error->code);
  CHECK(failed.error->node == expected.error->node);
  CHECK(failed.error->message == expected.error->message);
  world.from.refusal = {};
  CHECK(ids_of(world.in.rank(plan, R"({"user_id":1})")).size() == 3);
}

TEST_CASE("rows of another version of a plan are not taken") {
  caching_world world;
  const bound_plan& before = world.in.bind(plan_of(followed(), R"("t")"));
  world.in.rank(before, R"({"user_id":1})");
  std::string changed = plan_of(followed(), R"("t")");
  changed.replace(changed.find(R"("fanout":10)"), 11, R"("fanout":1)");
  const ranking answer = world.in.rank(world.in.bind(changed), R"({"user_id":1})");
  CHECK(answer.rows.size() == 1);
  CHECK(answer.cached_nodes == 0);
  CHECK(world.in.rank(before, R"({"user_id":1})").cached_nodes == 1);
}

TEST_CASE("two nodes with a cache have keys of their own, and a node that both need runs where it is needed") {
  caching_world world;
  const std::string both = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                           with(node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":10})"), cache(1000)) +
                           "," +
                           with(node("g", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":1})"), cache(1000)) +
                           "," + node("c", "core::concat", "f", R"({"rhs":"g"})");
  const bound_plan& plan = world.in.bind(plan_of(both, R"("c","v")"));
  const auto expected = std::vector<std::int64_t>{7, 8, 9, 7, 1};
  CHECK((ids_of(world.in.rank(plan, R"({"user_id":1})")) == expected));
  const ranking again = world.in.rank(plan, user_1_explained);
  CHECK((ids_of(again) == expected));
  CHECK(again.cached_nodes == 2);
  CHECK(again.malformed_ids == 1);
  CHECK(make_report(again, "v").state == node_state::done);
}

TEST_CASE("a choice among inputs has rows of its own for each outcome, and runs one of them") {
  caching_world world;
  const std::string nodes =
      node("a", "core::list", "", R"({"endpoint":"ep_0001","key":"follow:1","count":9})") + "," +
      node("b", "core::list", "", R"({"endpoint":"ep_0001","key":"follow:2","count":9})") +
      R"(,{"node_id":"c","op":"core::choose","inputs":["a","b"],"params":{"pred_ids":["p"]},"cache":{"ttl_ms":1000}},)" +
      node("t", "core::take", "c", R"({"count":5})");
  const bound_plan& plan = world.in.bind(plan_of(
      nodes, R"("t")", R"("pred_table":{"p":{"op":"in","lhs":{"op":"param_ref","param_id":11},"list":["feed"]}},)"));
  const auto ids = [&](std::string_view request) { return ids_of(world.in.rank(plan, request)); };
  world.from.lists["follow:1"] = {"7"};
  for (int n = 0; n < 2; ++n) {
    CHECK((ids("{}") == std::vector<std::int64_t>{7}));
    CHECK((ids(R"({"param_overrides":{"surface":"reels"}})") == std::vector<std::int64_t>{11}));
  }
  CHECK(world.counts().misses == 2);
  CHECK(world.counts().hits == 2);
}

TEST_CASE("a request without a user has rows of its own where a choice leaves out what reads the user") {
  caching_world world;
  const std::string nodes =
      node("a", "core::list", "", R"({"endpoint":"ep_0001","key":"follow:2","count":9})") + "," +
      node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
      node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":10})") +
      R"(,{"node_id":"c","op":"core::choose","inputs":["a","f"],"params":{"pred_ids":["p"]},"cache":{"ttl_ms":1000}},)" +
      node("t", "core::take", "c", R"({"count":5})");
  const bound_plan& plan = world.in.bind(plan_of(
      nodes, R"("t")", R"("pred_table":{"p":{"op":"in","lhs":{"op":"param_ref","param_id":11},"list":["feed"]}},)"));
  for (int n = 0; n < 2; ++n) CHECK((ids_of(world.in.rank(plan, "{}")) == std::vector<std::int64_t>{11}));
  CHECK(world.counts().misses == 1);
  CHECK(world.counts().hits == 1);
  rank_request of_zero = value_of(parse_request("{}", op_world()));  // which no text asks for
  of_zero.user_id = std::int64_t{0};
  CHECK(ids_of(world.in.on().run(world.in.ranker().rank(plan, of_zero))).size() == 1);
  CHECK(world.counts().misses == 2);
  CHECK(world.in.rank(plan, R"({"user_id":1,"param_overrides":{"surface":"reels"}})").rows.size() == 3);
  CHECK(world.counts().misses == 3);
}

TEST_CASE("rows that are too many are given and not kept") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(cache(1000, R"(,"max_rows":2)")), R"("t")"));
  CHECK(world.in.rank(plan, R"({"user_id":1})").rows.size() == 3);
  CHECK(world.in.rank(plan, R"({"user_id":2})").rows.size() == 1);
  CHECK(world.counts().refused == 1);
  CHECK(world.counts().entries == 1);
}

TEST_CASE("requests with stores of their own, with captures, or about ids take no rows from the cache") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(), R"("t")"));
  world.in.rank(plan, R"({"user_id":1})");
  const ranking captured = world.in.rank(plan, R"({"user_id":1,"capture":["v"]})");
  REQUIRE(captured.captured.size() == 1);
  CHECK(captured.captured[0].rows->size() == 1);
  const ranking traced = world.in.rank(plan, R"({"user_id":1,"explain":{"ids":[7]}})");
  CHECK(make_report(traced, "v").state == node_state::done);
  CHECK(traced.explained->ids.size() == 1);
  const std::shared_ptr<const bound_plan> shared(std::shared_ptr<const void>(), &plan);
  world.in.on().run(world.in.ranker().rank(shared, value_of(parse_request(R"({"user_id":1})", op_world())),
                                           world.in.ranker().stores_of_request()));
  CHECK(world.lists_read() == 4);
  CHECK(world.counts().hits == 0);
}

TEST_CASE("the budget of a plan bounds the rows that its parts make, and counts those that they gave") {
  caching_world world;
  const bound_plan& narrow = world.in.bind(plan_of(followed(), R"("t")"), {.rows = 3});
  const ranking failed = world.in.rank(narrow, R"({"user_id":1})");
  CHECK(error_of(failed) == "row_budget_exceeded f");  // one of the viewer, and three
  const bound_plan& wide = world.in.bind(plan_of(followed(), R"("t")"), {.rows = 4});
  CHECK(world.in.rank(wide, R"({"user_id":1})").rows.size() == 3);
  CHECK(world.in.rank(wide, R"({"user_id":1})").cached_nodes == 1);
}

TEST_CASE("the limit of a node with a cache is on that node alone, and its failure that of the part") {
  caching_world world;
  const std::string nodes = node("s", "test::fixed_source", "", R"({"row_count":2})") + "," +
                            with(sleep("w", "s", an_hour_ms), R"("timeout_ms":1,)" + cache(1000)) + "," +
                            node("t", "core::take", "w", R"({"count":5})");
  CHECK(error_of(world.in.rank(world.in.bind(plan_of(nodes, R"("t")")), "{}")) == "node_timeout w");
  CHECK(world.counts().entries == 0);
}

TEST_CASE("a loop that stops ends the renewal of stale rows") {
  caching_world world;
  const bound_plan& plan = world.in.bind(plan_of(followed(cache(1, R"(,"stale_ms":1000)")), R"("t")"));
  world.in.rank(plan, R"({"user_id":1})");
  world.from.is_let = false;
  world.clock.advance(5ms);
  // The renewal waits for the store when the runtime goes.
  CHECK(world.in.rank(plan, R"({"user_id":1})").cached_nodes == 1);
  world.in.close();
}
