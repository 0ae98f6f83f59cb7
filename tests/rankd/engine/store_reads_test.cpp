// tests/rankd/engine/store_reads_test.cpp: what a request asks of its store: nothing twice, and no column in vain.
#include <rankd/engine/engine.hpp>

#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_store.hpp>
#include <rankd/store/store_layer.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/owned_data.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/redis_connection.hpp>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

namespace {

/// A server with the data, whose commands are counted.
struct counted_server {
  braid::testing::scratch_folder folder;
  braid::testing::redis_server server;

  counted_server() { value_of(load_redis(options(), std::vector{folder.write("data.ndjson", owned_data())}, {})); }

  [[nodiscard]] auto options() const -> braid::redis_options {
    braid::redis_options out;
    out.port = server.port();
    out.request_timeout = 1min;
    return out;
  }

  /// How often the server has been sent a command, in lower case, since it started.
  [[nodiscard]] auto calls(const std::string& command) const -> int {
    std::string said;
    braid::testing::run_on_loop([&](braid::loop& io) -> braid::task<void> {
      braid::redis_connection redis(io, options());
      braid::arena memory;
      const std::array<std::string_view, 2> info{"INFO", "commandstats"};
      said = (co_await redis.command(info, memory)).value().text();
    });
    const std::string name = "cmdstat_" + command + ":calls=";
    const auto at = said.find(name);
    return at == std::string::npos ? 0 : std::stoi(said.substr(at + name.size()));
  }
};

/// Passes on what it is asked, once it is let, or at once where it is asked a second time.
class held_store final : public store_layer {
 public:
  explicit held_store(store& behind) : store_layer(behind) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    const bool is_held = std::holds_alternative<field_read>(question) || std::holds_alternative<list_read>(question);
    return is_held ? hold(question, arena) : behind().ask(question, arena);
  }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return false; }

  braid::event let;  // these on the loop
  bool is_let = false;
  int asked = 0;

 private:
  auto hold(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
    ++asked;
    while (!is_let && find_hedge(question)->attempt == read_attempt::first) co_await let;
    co_return co_await behind().ask(question, arena);
  }
};

auto release(held_store& what) -> braid::task<void> {
  what.is_let = true;
  what.let.set();
  co_return;
}

const std::string both = follow_nodes() + "," +
                         node("g", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":100})") +
                         R"(,{"node_id":"c","op":"core::concat","inputs":["f"],"params":{"rhs":"g"}})";

}  // namespace

TEST_CASE("a server sees equal reads of a request once, and a country only where something uses it") {
  const counted_server where;
  redis_store from({.endpoint_id = "ep_0001", .server = where.options(), .connections = 2});
  engine_world in(reference_project::get().declared, {&from, nullptr}, 1);
  const bound_plan& plain = in.bind(artifact_of(both, R"("c")"));

  // All that two equal nodes give. The country of the viewer comes to no answer.
  const ranking all = in.rank(plain, R"({"user_id":3})");
  CHECK(all.rows.size() == 2 * followed);
  CHECK(where.calls("hget") == followed);
  CHECK(where.calls("lrange") == 1);
  CHECK(in.ranker().count_reads(0).asked == 4);
  CHECK(in.ranker().count_reads(0).shared == 2);

  const ranking bare = in.rank(plain, R"({"user_id":3,"output_keys":[]})");
  CHECK(ids_of(bare) == ids_of(all));
  CHECK(where.calls("hget") == followed);
  CHECK(where.calls("lrange") == 2);
  in.rank(plain, R"({"user_id":3,"output_keys":["country"]})");
  CHECK(where.calls("hget") == 2 * followed);

  // A node that reads the countries of followed users.
  const bound_plan& filtered =
      in.bind(artifact_of(follow_nodes() + "," + node("k", "core::filter", "f", R"({"pred_id":"p"})"), R"("k")",
                          R"("pred_table":{"p":{"op":"not_null","x":{"op":"key_ref","key_id":3001}}},)"));
  CHECK(in.rank(filtered, R"({"user_id":3,"output_keys":[]})").rows.size() == followed);
  CHECK(where.calls("hget") == 3 * followed);
}

TEST_CASE("with a record cache, a warm request sends a server nothing, and its answer is the same") {
  const counted_server where;
  redis_store from({.endpoint_id = "ep_0001", .server = where.options(), .connections = 2});
  engine_options kept;
  kept.records.bytes = 1U << 20U;
  engine_world in(reference_project::get().declared, {&from, nullptr}, 1, kept);
  const bound_plan& plan = in.bind(artifact_of(both, R"("c")"));
  const ranking cold = in.rank(plan, R"({"user_id":3})");
  const int lists = where.calls("lrange");
  const int fields = where.calls("hget");
  CHECK(fields == followed);
  const ranking warm = in.rank(plan, R"({"user_id":3,"explain":true})");
  CHECK(ids_of(warm) == ids_of(cold));
  CHECK(warm.malformed_ids == cold.malformed_ids);
  CHECK(where.calls("lrange") == lists);
  CHECK(where.calls("hget") == fields);
  REQUIRE(warm.explained->reads);
  CHECK(warm.explained->reads->kept >= followed);
  CHECK(warm.explained->reads->missed == 0);
  CHECK(to_json(*warm.explained).find(R"(,"read_keys":0,"cached_ms":)") != std::string::npos);
  CHECK(in.ranker().find_records(0).tracked == 1);
  CHECK(in.ranker().find_records(1).caches == 0);
}

TEST_CASE("requests at the same time share their reads, and each has its own deadline") {
  held_store from(*reference_project::get().stores.front());
  engine_world in(reference_project::get().declared, {&from, nullptr}, 1);
  const bound_plan& plan = in.bind(artifact_of(follow_nodes(), R"("f")"));
  const auto wanted = [](std::string_view text) {
    return value_of(parse_request(text, reference_project::get().declared));
  };
  constexpr int others = 15;
  std::vector<ranking> answers;
  const auto keep = [&](std::string_view text) -> braid::task<void> {
    auto work = in.ranker().rank(plan, wanted(text));
    answers.push_back(co_await std::move(work));
    // The first whose time is over ends alone; the read goes on for the others.
    if (answers.size() == 1) co_await release(from);
  };
  const auto all = [&](braid::scope& inside) -> braid::task<void> {
    inside.spawn(keep(R"({"user_id":1,"deadline_ms":1})"));
    for (int n = 0; n < others; ++n) inside.spawn(keep(R"({"user_id":1,"explain":true})"));
    co_return;
  };
  in.on().run(braid::with_scope(std::ref(all)));
  REQUIRE(answers.size() == 1 + others);
  CHECK(error_of(answers[0]) == "deadline_exceeded f");
  for (int n = 1; n <= others; ++n) {
    CHECK(error_of(answers[static_cast<std::size_t>(n)]) == "fine");
    REQUIRE(answers[static_cast<std::size_t>(n)].explained->reads);
    CHECK(answers[static_cast<std::size_t>(n)].explained->reads->asked == 2);
  }
  CHECK(to_json(*answers[1].explained).find(R"("reads":{"asked":2,"shared":)") != std::string::npos);
  // The list is asked by all 16 and read once.
  CHECK(in.ranker().count_reads(0).asked >= 1 + 2 * others);
  CHECK(in.ranker().count_reads(0).shared >= others);
}

TEST_CASE("a store that answers at once is asked directly, and its reads are not counted") {
  engine_world in;
  const bound_plan& plan = in.bind(artifact_of(follow_nodes(), R"("f")"));
  const ranking answer = in.rank(plan, R"({"user_id":1,"explain":true})");
  CHECK(!answer.explained->reads);
  CHECK(in.ranker().count_reads(0).asked == 0);
}

TEST_CASE("a node whose reads have no answer in time asks again, and the explanation counts that") {
  held_store from(*reference_project::get().stores.front());
  engine_world in(reference_project::get().declared, {&from, nullptr}, 1);
  const auto hedged = [](std::string node) {
    node.pop_back();
    return node + R"(,"hedge_ms":1})";
  };
  const bound_plan& plan =
      in.bind(artifact_of(hedged(node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})")) + "," +
                              hedged(node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":100})")),
                          R"("f")", R"("capabilities_required":["cap.rfc.0012.hedge.v1"],)"));
  const ranking answer = in.rank(plan, R"({"user_id":1,"explain":true})");
  CHECK(error_of(answer) == "fine");
  CHECK(!answer.rows.empty());
  REQUIRE(answer.explained->reads);
  CHECK(answer.explained->reads->hedged == answer.explained->reads->asked);
  CHECK(to_json(*answer.explained).find(R"(,"hedged":)") != std::string::npos);
  CHECK(in.ranker().count_reads(0).won == answer.explained->reads->hedged);
}
