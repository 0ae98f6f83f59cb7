// tests/rankd/store/hedging_stores_test.cpp: a read without an answer is asked a second time, once and within a bound.
#include <rankd/store/hedging_stores.hpp>
#include <rankd/store/shared_reads.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::test_loop;
using rankd::testing::ask_store;
using rankd::testing::memory_store;

namespace {

/// What a store does with the first or the second time that it is asked.
struct attempt_plan {
  braid::event let = {};
  std::string answer = {};   ///< empty: it fails
  std::string failure = {};  ///< the server's words
  bool throws = false;
  int begun = 0;
  int stopped = 0;
};

/// Answers each attempt when it is let.
class two_attempt_store final : public memory_store {
 public:
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    attempt_plan& mine = attempt(*find_hedge(question));
    co_await begin(mine);
    if (mine.answer.empty())
      co_return std::unexpected(store_error(std::make_error_code(std::errc::io_error), mine.failure));
    if (const auto* fields = std::get_if<field_read>(&question))
      co_return field_batch(arena.filled(fields->keys.ids.size(), std::optional<std::string_view>(mine.answer)));
    const auto items = arena.filled(1, stored_item{.is_there = true, .text = mine.answer});
    co_return item_batch{.of_key = arena.filled(1, std::span<const stored_item>(items))};
  }

  attempt_plan first{.answer = "first"};
  attempt_plan second{.answer = "second"};

 private:
  auto attempt(read_hedge hedge) -> attempt_plan& { return hedge.attempt == read_attempt::second ? second : first; }

  static auto begin(attempt_plan& mine) -> braid::task<void> {
    struct end {
      attempt_plan* of;
      ~end() { of->stopped += of->let.is_set() ? 0 : 1; }
    };
    const end counted{&mine};
    ++mine.begun;
    co_await mine.let;
    if (mine.throws) throw std::runtime_error("planted");
  }
};

auto ask_country(store* from, std::vector<std::int64_t> users, std::string& heard) -> braid::task<void> {
  braid::arena memory;
  auto asking = ask_store(*from, field_read{{.prefix = "user:", .ids = users}, "country"}, memory);
  auto ended = co_await braid::as_outcome(std::move(asking));
  if (ended.is_stopped()) {
    heard = "stopped";
    co_return;
  }
  try {
    const auto got = ended.take();
    heard = got ? std::string((*got)[0].value_or("null")) : std::string(got.error().server_text());
  } catch (const std::runtime_error& thrown) {
    heard = thrown.what();
  }
}

/// A loop, whose clock the test moves, and tasks that ask by a hedge of 5 ms.
struct world {
  test_loop on;
  two_attempt_store behind;
  store_list stores = std::make_shared<const std::vector<store*>>(std::vector<store*>{&behind, nullptr});
  shared_reads reads{*stores};
  std::vector<std::shared_ptr<request_reads>> requests;
  std::vector<std::unique_ptr<hedging_stores>> hedging;
  std::vector<std::unique_ptr<braid::scope>> scopes;
  std::array<std::string, 64> heard;

  ~world() {
    for (const auto& each : scopes) each->request_stop();
    on.run_once();
    scopes.clear();
  }

  /// A new request.
  void ask(std::size_t who, std::vector<std::int64_t> users = {1}, braid::duration after = 5ms) {
    requests.push_back(reads.for_request(stores));
    hedging.push_back(std::make_unique<hedging_stores>(*request_reads::list(requests.back()), after));
    scopes.push_back(std::make_unique<braid::scope>(on.io().root()));
    scopes.back()->spawn(ask_country(hedging.back()->list().front(), std::move(users), heard[who]));
    on.run_once();
  }
  void let(attempt_plan& which) {
    which.let.set();
    on.run_once();
  }
  [[nodiscard]] auto counts() const -> read_counts { return reads.counts(0); }
};

}  // namespace

TEST_CASE("a read without an answer is asked again when it is time, and the first answer ends the other one") {
  world in;
  in.ask(0);
  in.on.advance(4ms);
  CHECK(in.behind.second.begun == 0);
  in.on.advance(2ms);
  CHECK(in.behind.second.begun == 1);
  CHECK(in.heard[0].empty());
  SUBCASE("the second comes first") {
    in.let(in.behind.second);
    CHECK(in.heard[0] == "second");
    CHECK(in.behind.first.stopped == 1);
    CHECK(in.counts().won == 1);
  }
  SUBCASE("the first comes first") {
    in.let(in.behind.first);
    CHECK(in.heard[0] == "first");
    CHECK(in.behind.second.stopped == 1);
    CHECK(in.counts().won == 0);
  }
  SUBCASE("both come in one iteration of the loop") {
    in.behind.first.let.set();
    in.let(in.behind.second);
    CHECK((in.heard[0] == "first" || in.heard[0] == "second"));
  }
  CHECK(in.counts().hedged == 1);
  CHECK(in.requests[0]->counts().hedged == 1);
  CHECK(in.behind.first.begun == 1);
  CHECK(in.behind.second.begun == 1);
}

TEST_CASE("a read that is answered in time, or has no hedge, is asked once") {
  world in;
  in.ask(0, {1}, 0ms);
  in.on.advance(1h);
  CHECK(in.behind.second.begun == 0);
  in.let(in.behind.first);
  in.ask(1, {2});
  in.on.advance(1h);
  CHECK(in.heard[1] == "first");
  CHECK(in.behind.second.begun == 0);
  CHECK(in.counts().hedged == 0);
}

TEST_CASE("of two failures the first read's counts, whichever comes first, and one failure waits for the other read") {
  world in;
  in.behind.first.answer.clear();
  in.behind.first.failure = "of the first";
  in.behind.second.failure = "of the second";
  SUBCASE("before the second is sent: nothing is waited for") {
    in.ask(0);
    in.let(in.behind.first);
    CHECK(in.heard[0] == "of the first");
    in.on.advance(1h);
    CHECK(in.behind.second.begun == 0);
  }
  SUBCASE("the second answers") {
    in.ask(0);
    in.on.advance(6ms);
    in.let(in.behind.first);
    CHECK(in.heard[0].empty());
    in.let(in.behind.second);
    CHECK(in.heard[0] == "second");
  }
  SUBCASE("both fail, the first one first") {
    in.behind.second.answer.clear();
    in.ask(0);
    in.on.advance(6ms);
    in.let(in.behind.first);
    CHECK(in.heard[0].empty());
    in.let(in.behind.second);
    CHECK(in.heard[0] == "of the first");
  }
  SUBCASE("both fail, the second one first") {
    in.behind.second.answer.clear();
    in.ask(0);
    in.on.advance(6ms);
    in.let(in.behind.second);
    CHECK(in.heard[0].empty());
    in.let(in.behind.first);
    CHECK(in.heard[0] == "of the first");
  }
  SUBCASE("what the second throws is none of the first") {
    in.behind.second.throws = true;
    in.ask(0);
    in.on.advance(6ms);
    in.let(in.behind.second);
    in.let(in.behind.first);
    CHECK(in.heard[0] == "of the first");
  }
  SUBCASE("what the first throws is forgotten where the second answers") {
    in.behind.first.throws = true;
    in.ask(0);
    in.on.advance(6ms);
    in.let(in.behind.first);
    in.let(in.behind.second);
    CHECK(in.heard[0] == "second");
  }
}

TEST_CASE("a read that several requests wait for is asked again once, by the first whose time has come") {
  world in;
  in.ask(0, {1}, 0ms);
  in.ask(1, {1}, 9ms);
  in.ask(2, {1}, 5ms);
  in.on.advance(6ms);
  CHECK(in.behind.second.begun == 1);
  in.on.advance(1h);
  CHECK(in.behind.second.begun == 1);
  in.let(in.behind.second);
  for (std::size_t who = 0; who < 3; ++who) CHECK(in.heard[who] == "second");
  CHECK(in.requests[2]->counts().hedged == 1);
  CHECK(in.requests[1]->counts().hedged == 0);
}

TEST_CASE("both reads end when no task waits any more") {
  world in;
  in.ask(0);
  in.on.advance(6ms);
  in.scopes[0]->request_stop();
  in.on.run_once();
  CHECK(in.heard[0] == "stopped");
  CHECK(in.behind.first.stopped == 1);
  CHECK(in.behind.second.stopped == 1);
  // And so they do while the time of the hedge runs.
  in.ask(1);
  in.scopes[1]->request_stop();
  in.on.run_once();
  CHECK(in.behind.first.stopped == 2);
  in.on.advance(1h);
  CHECK(in.behind.second.begun == 1);
}

TEST_CASE("a tenth of the reads may be asked again, and ten before there were that many") {
  world in;
  for (std::int64_t user = 0; user < 12; ++user) in.ask(static_cast<std::size_t>(user), {user});
  in.on.advance(6ms);
  CHECK(in.behind.second.begun == 10);
  CHECK(in.counts().hedged == 10);
  CHECK(in.counts().unhedged == 2);
  in.let(in.behind.first);
  for (std::size_t who = 0; who < 12; ++who) CHECK(in.heard[who] == "first");
}

TEST_CASE("reads of names are marked as well, in a copy that outlives the question") {
  world in;
  in.requests.push_back(in.reads.for_request(in.stores));
  const hedging_stores marked(*request_reads::list(in.requests[0]), 5ms);
  CHECK(marked.list().back() == nullptr);
  std::string heard;
  const auto ask = [&]() -> braid::task<void> {
    braid::arena memory;
    const std::array<std::string_view, 1> keys{"a"};
    const auto asking = [&] {
      return marked.list().front()->ask(named_read{.kind = read_kind::strings, .keys = keys}, memory);
    };
    auto got = asking();
    heard = answer_to<named_read>(co_await std::move(got))->of_key[0][0].text;
  };
  in.scopes.push_back(std::make_unique<braid::scope>(in.on.io().root()));
  in.scopes.back()->spawn(ask());
  in.on.run_once();
  in.on.advance(6ms);
  in.let(in.behind.second);
  CHECK(heard == "second");
}
