// tests/rankd/store/shared_reads_test.cpp: equal reads are sent once, and each task that asked has its own end.
#include <rankd/store/shared_reads.hpp>

#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::test_loop;
using rankd::testing::ask_store;
using rankd::testing::memory_store;

namespace {

using some_ids = std::vector<std::int64_t>;

/// Answers when it is let, and counts what was begun and what was stopped.
class held_store final : public memory_store {
 public:
  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return std::holds_alternative<field_read>(question) ? hold(question, arena) : memory_store::ask(question, arena);
  }
  auto hold(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
    struct end {
      held_store* of;
      ~end() { of->stopped += of->is_let ? 0 : 1; }
    };
    const end counted{this};
    ++begun;
    while (!is_let) co_await let;
    if (throws) throw std::runtime_error("planted");
    co_return co_await memory_store::ask(question, arena);
  }
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override {
    return {"planted", std::string(why.server_text())};
  }

  braid::event let;
  bool is_let = false;
  bool throws = false;
  int begun = 0;
  int stopped = 0;
};

/// What a task that asked for the countries of two users has heard.
struct heard {
  std::optional<std::string> text;
  bool is_stopped = false;
};

auto ask_country(store* from, some_ids users, heard& into) -> braid::task<void> {
  braid::arena memory;
  auto asking = ask_store(*from, field_read{{"user:", users}, "country"}, memory);
  auto ended = co_await braid::as_outcome(std::move(asking));
  into.is_stopped = ended.is_stopped();
  if (into.is_stopped) co_return;
  try {
    const auto got = ended.take();
    into.text = got ? std::string((*got)[0].value_or("null")) : "failed";
  } catch (const std::runtime_error& thrown) {
    into.text = thrown.what();
  }
}

/// A loop with a store behind what is tested. Tasks that ask have a scope each.
struct world {
  test_loop on;
  held_store behind;
  store_list stores = std::make_shared<const std::vector<store*>>(std::vector<store*>{&behind, nullptr});
  shared_reads reads{*stores};
  std::vector<std::unique_ptr<braid::scope>> scopes;
  std::array<heard, 4> ends;

  world() { behind.hashes["user:1"]["country"] = "US"; }
  ~world() {
    for (const auto& each : scopes) each->request_stop();
    on.run_once();
    scopes.clear();
  }

  void ask(const std::shared_ptr<request_reads>& of, std::size_t who, some_ids users = {1, 2}) {
    scopes.push_back(std::make_unique<braid::scope>(on.io().root()));
    scopes.back()->spawn(ask_country(request_reads::list(of)->front(), std::move(users), ends[who]));
    on.run_once();
  }
  void let() {
    behind.is_let = true;
    behind.let.set();
    on.run_once();
  }
};

}  // namespace

TEST_CASE("equal reads of one request are sent once, side by side and one after the other") {
  world in;
  const auto one = in.reads.for_request(in.stores);
  in.ask(one, 0);
  in.ask(one, 1);
  CHECK(in.behind.begun == 1);
  in.let();
  in.ask(one, 2);
  CHECK(in.behind.begun == 1);
  for (std::size_t who = 0; who < 3; ++who) CHECK(in.ends[who].text == "US");
  CHECK(one->counts().asked == 3);
  CHECK(one->counts().shared == 2);
  CHECK(in.reads.counts(0).asked == 3);
  CHECK(in.reads.counts(0).shared == 2);
  CHECK(in.reads.counts(1).asked == 0);
  CHECK(request_reads::list(one)->back() == nullptr);
}

TEST_CASE("equal reads of several requests are sent once while they are under way, and anew afterwards") {
  world in;
  const auto first = in.reads.for_request(in.stores);
  const auto second = in.reads.for_request(in.stores);
  in.ask(first, 0);
  in.ask(second, 1);
  in.ask(second, 2, {2, 1});  // another question
  CHECK(in.behind.begun == 2);
  in.let();
  CHECK(in.ends[0].text == "US");
  CHECK(in.ends[1].text == "US");
  CHECK(in.ends[2].text == "null");
  in.behind.hashes["user:1"]["country"] = "CA";
  const auto later = in.reads.for_request(in.stores);
  in.ask(later, 3);
  CHECK(in.ends[3].text == "CA");
  CHECK(in.behind.begun == 3);
  CHECK(later->counts().shared == 0);
}

TEST_CASE("the stop of the first that asked leaves the others as they are") {
  world in;
  const auto first = in.reads.for_request(in.stores);
  const auto second = in.reads.for_request(in.stores);
  in.ask(first, 0);
  in.ask(second, 1);
  in.scopes[0]->request_stop();
  in.on.run_once();
  CHECK(in.ends[0].is_stopped);
  CHECK(!in.ends[1].text);
  CHECK(in.behind.stopped == 0);
  in.let();
  CHECK(in.ends[1].text == "US");
  CHECK(in.behind.begun == 1);
}

TEST_CASE("a read ends when no task waits for it any more, and is sent again for the next one") {
  world in;
  const auto first = in.reads.for_request(in.stores);
  const auto second = in.reads.for_request(in.stores);
  in.ask(first, 0);
  in.ask(second, 1);
  in.scopes[0]->request_stop();
  in.scopes[1]->request_stop();
  in.on.run_once();
  CHECK(in.ends[1].is_stopped);
  CHECK(in.behind.stopped == 1);
  in.ask(first, 2);  // the same request: it must not wait for what was given up
  CHECK(in.behind.begun == 2);
  in.let();
  CHECK(in.ends[2].text == "US");
}

TEST_CASE("a read that is being stopped is not joined") {
  world in;
  const auto one = in.reads.for_request(in.stores);
  in.ask(one, 0);
  in.scopes[0]->request_stop();
  in.ask(one, 1);  // before the stop has gone through
  in.let();
  CHECK(in.ends[0].is_stopped);
  CHECK(in.ends[1].text == "US");
}

TEST_CASE("a failure is that of all that wait, and the same request may ask again") {
  world in;
  in.behind.refusal = std::make_error_code(std::errc::io_error);
  const auto first = in.reads.for_request(in.stores);
  const auto second = in.reads.for_request(in.stores);
  in.ask(first, 0);
  in.ask(second, 1);
  in.let();
  CHECK(in.ends[0].text == "failed");
  CHECK(in.ends[1].text == "failed");
  CHECK(in.behind.begun == 1);
  in.behind.refusal = {};
  in.ask(first, 2);
  CHECK(in.ends[2].text == "US");
  CHECK(in.behind.begun == 2);
}

TEST_CASE("an exception is that of all that wait") {
  world in;
  in.behind.throws = true;
  const auto one = in.reads.for_request(in.stores);
  in.ask(one, 0);
  in.ask(one, 1);
  in.let();
  CHECK(in.ends[0].text == "planted");
  CHECK(in.ends[1].text == "planted");
  in.behind.throws = false;
  in.ask(one, 2);
  CHECK(in.ends[2].text == "US");
}

TEST_CASE("a loop that stops leaves no read and no task behind") {
  world in;
  const auto one = in.reads.for_request(in.stores);
  in.ask(one, 0);
  in.ask(one, 1);
  in.on.stop();
  CHECK(in.behind.begun == 1);
  CHECK(in.behind.stopped == 1);
  CHECK(in.ends[0].is_stopped);
  CHECK(in.ends[1].is_stopped);
}

TEST_CASE("an answer lies in the memory of each task, whoever asked first") {
  memory_store behind;
  behind.hashes["user:1"] = {{"country", "US"}, {"title", "One"}};
  behind.lists["follow:1"] = {"5", "x", "6"};
  behind.strings["s"] = "text";
  shared_reads reads({&behind});
  test_loop on;
  const auto one = reads.for_request(std::make_shared<const std::vector<store*>>(std::vector<store*>{&behind}));
  store& from = *request_reads::list(one)->front();
  const some_ids users{1, 3};
  const std::array<std::string_view, 2> keys{"s", "t"};
  for (int n = 0; n < 2; ++n) {
    braid::arena memory;
    const auto hashes = on.run(ask_store(from, hash_read{{"user:", users}}, memory)).take().value();
    REQUIRE(hashes[0].size() == 2);
    CHECK(hashes[0][1].value == "One");
    CHECK(hashes[1].empty());
    const auto lists = on.run(ask_store(from, list_read{{"follow:", users}, 3}, memory)).take().value();
    CHECK(some_ids(lists.lists[0].begin(), lists.lists[0].end()) == some_ids{5, 6});
    CHECK(lists.malformed == 1);
    const auto items =
        on.run(ask_store(from, named_read{.kind = read_kind::strings, .keys = keys}, memory)).take().value();
    CHECK(items.of_key[0][0].text == "text");
    CHECK(!items.of_key[1][0].is_there);
    CHECK(memory.reserved() > 0);
  }
  CHECK(behind.asked.size() == 3);
  braid::arena memory;
  CHECK(on.run(ask_store(from, list_read{{"follow:", users}, 2}, memory)).take().value().lists[0].size() == 1);
  CHECK(behind.asked.size() == 4);
}
