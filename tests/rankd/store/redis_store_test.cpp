// tests/rankd/store/redis_store_test.cpp: a real server as a store: its answers, its refusals, and its absence.
#include <rankd/store/redis_store.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/store.hpp>

#include <tests/rankd/store/asking.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/scripted_server.hpp>
#include <tests/support/test_loop.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::redis_errc;
using braid::testing::eventually;
using braid::testing::redis_server;
using braid::testing::scratch_folder;
using braid::testing::watchdog;
using rankd::testing::ask_store;

namespace {

using ids = std::vector<std::int64_t>;

constexpr std::string_view data = R"({"hash":"user:1","fields":{"title":"One","country":"US"}}
{"hash":"user:2","fields":{"title":"Two"}}
{"list":"follow:1","values":[5,6,-7]}
{"list":"follow:2","values":["8","x",9," 1","99999999999999999999"]}
)";

auto at(const redis_server& server) -> braid::redis_options {
  braid::redis_options options;
  options.port = server.port();
  options.backoff = {.first = 1ms, .max_delay = 10ms, .seed = 1};
  options.request_timeout = 20s;  // a busy machine is no fault
  options.connect_timeout = 20s;
  return options;
}

auto store_at(const braid::redis_options& server, std::size_t connections = 1) -> redis_store {
  return redis_store({.endpoint_id = "ep_0001", .server = server, .connections = connections});
}

void fill(const braid::redis_options& server, std::string_view lines) {
  const scratch_folder folder;
  REQUIRE(load_redis(server, std::vector{folder.write("data.ndjson", lines)}, {}).has_value());
}

/// Runs a batch on a runtime that lives as long as this.
struct asker {
  std::unique_ptr<braid::runtime> on = braid::runtime::create({.workers = 1}).value();
  braid::arena arena;

  auto country(store& from, const ids& users) -> store_result<field_batch> {
    return on->run(ask_store(from, field_read{{"user:", users}, "country"}, arena));
  }
  auto follow(store& from, const ids& users, std::uint32_t first = 100) -> store_result<id_batch> {
    return on->run(ask_store(from, list_read{{"follow:", users}, first}, arena));
  }
};

auto code_of(store& from, const auto& failed) -> std::string {
  return failed ? "fine" : from.explain(failed.error()).code;
}

}  // namespace

TEST_CASE("a server answers all three commands as the embedded store does") {
  const redis_server server;
  fill(at(server), data);
  redis_store from = store_at(at(server), 2);
  asker ask;
  const ids users{2, 1, 3};

  const auto countries = ask.country(from, users);
  REQUIRE(countries.has_value());
  CHECK((*countries)[0] == std::nullopt);
  CHECK((*countries)[1] == "US");
  CHECK((*countries)[2] == std::nullopt);

  const auto hashes = ask.on->run(ask_store(from, hash_read{{"user:", users}}, ask.arena));
  REQUIRE(hashes.has_value());
  REQUIRE((*hashes)[1].size() == 2);
  CHECK((*hashes)[1][0] == hash_field{"country", "US"});
  CHECK((*hashes)[1][1] == hash_field{"title", "One"});
  CHECK((*hashes)[2].empty());

  const auto lists = ask.follow(from, users);
  REQUIRE(lists.has_value());
  CHECK(lists->malformed == 3);
  CHECK((ids(lists->lists[0].begin(), lists->lists[0].end()) == ids{8, 9}));
  CHECK((ids(lists->lists[1].begin(), lists->lists[1].end()) == ids{5, 6, -7}));
  CHECK(lists->lists[2].empty());
  CHECK(ask.follow(from, users, 2)->malformed == 1);
  CHECK(ask.follow(from, users, 0)->lists.size() == 3);
  CHECK(ask.country(from, {})->empty());
}

TEST_CASE("the second time a read is asked by a connection of its own") {
  const redis_server server;
  fill(at(server), data);
  redis_store from = store_at(at(server));
  asker ask;
  const ids users{1};
  const auto first = ask.on->run(
      ask_store(from, field_read{{.prefix = "user:", .ids = users, .hedge = {.after = 5ms}}, "country"}, ask.arena));
  REQUIRE(first.has_value());
  CHECK((*first)[0] == "US");
  const read_hedge again{.after = 5ms, .attempt = read_attempt::second};
  const auto second =
      ask.on->run(ask_store(from, list_read{{.prefix = "follow:", .ids = users, .hedge = again}, 1}, ask.arena));
  REQUIRE(second.has_value());
  CHECK((ids(second->lists[0].begin(), second->lists[0].end()) == ids{5}));

  std::string clients;  // each with its last command
  braid::testing::run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_connection redis(io, at(server));
    braid::arena memory;
    const std::array<std::string_view, 2> list{"CLIENT", "LIST"};
    clients = (co_await redis.command(list, memory)).value().text();
  });
  CHECK(clients.find("cmd=hget") != std::string::npos);
  CHECK(clients.find("cmd=lrange") != std::string::npos);
}

TEST_CASE("a batch that is larger than what may be under way is answered in order") {
  const redis_server server;
  std::string lines;
  ids users;
  for (int user = 1; user <= 500; ++user) {
    lines +=
        R"({"hash":"user:)" + std::to_string(user) + R"(","fields":{"country":")" + std::to_string(user) + "\"}}\n";
    users.push_back(user);
  }
  fill(at(server), lines);
  braid::redis_options narrow = at(server);
  narrow.in_flight = 3;
  redis_store from = store_at(narrow);
  asker ask;
  const auto countries = ask.country(from, users);
  REQUIRE(countries.has_value());
  for (std::size_t i = 0; i < users.size(); ++i) CHECK((*countries)[i] == std::to_string(users[i]));
}

TEST_CASE("each loop has connections of its own, which end with it") {
  const redis_server server;
  fill(at(server), data);
  redis_store from = store_at(at(server));
  for (int round = 0; round < 3; ++round) {
    asker one;
    asker other;
    CHECK((*one.country(from, {1}))[0] == "US");
    CHECK((*other.country(from, {1}))[0] == "US");
  }
}

TEST_CASE("a key of another kind fails the batch, in the same words as with the embedded store") {
  const redis_server server;
  fill(at(server), data);
  redis_store from = store_at(at(server));
  asker ask;
  const auto wrong = ask.on->run(ask_store(from, field_read{{"follow:", ids{1}}, "country"}, ask.arena));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error() == store_errc::wrong_type);
  CHECK(code_of(from, ask.on->run(ask_store(from, list_read{{"user:", ids{9, 1}}, 3}, ask.arena))) ==
        "store_wrong_type");
  CHECK(from.explain(wrong.error()).message ==
        "endpoint `ep_0001`: the key holds a different kind of value than the command reads");
  redis_store frank({.endpoint_id = "ep_0001", .server = at(server), .words = server_messages::shown});
  asker again;  // its loop ends before the store
  const auto told = again.on->run(ask_store(frank, field_read{{"follow:", ids{1}}, "country"}, again.arena));
  REQUIRE_FALSE(told.has_value());
  CHECK(frank.explain(told.error())
            .message.starts_with(
                "endpoint `ep_0001`: the key holds a different kind of value than the command reads; the "
                "server says: WRONGTYPE "));
  CHECK(frank.explain(store_error(redis_errc::refused, std::string(1'000, 'x'))).message.size() < 500);
  CHECK((*ask.country(from, {1}))[0] == "US");
}

TEST_CASE("a password and a database are used, and missed where they are wanted") {
  const redis_server server({"--requirepass", "secret"});
  braid::redis_options with = at(server);
  with.password = "secret";
  with.database = 3;
  fill(with, data);
  braid::redis_options wrong = with;
  wrong.password = "guess";
  braid::redis_options other = with;
  other.database = 4;
  redis_store right = store_at(with);
  redis_store none = store_at(at(server));
  redis_store guess({.endpoint_id = "ep_0001", .server = wrong, .words = server_messages::shown});
  redis_store empty = store_at(other);
  asker ask;  // its loop ends before the stores
  CHECK((*ask.country(right, {1}))[0] == "US");
  CHECK(code_of(none, ask.country(none, {1})) == "store_unauthorized");
  CHECK(code_of(guess, ask.country(guess, {1})) == "store_unauthorized");
  const auto refused = ask.country(guess, {1, 2});
  REQUIRE_FALSE(refused.has_value());
  const std::string message = guess.explain(refused.error()).message;
  CHECK(message.find("; the server says: WRONGPASS ") != std::string::npos);
  CHECK(message.find(wrong.password) == std::string::npos);
  CHECK((*ask.country(empty, {1}))[0] == std::nullopt);
}

TEST_CASE("a server that takes no more clients says so, whatever was sent to it") {
  const watchdog guard(60s);
  const redis_server server({"--maxclients", "1"});
  redis_store first = store_at(at(server));
  redis_store next({.endpoint_id = "ep_0001", .server = at(server), .words = server_messages::shown});
  asker ask;                                                               // its loop ends before the stores
  CHECK(eventually([&] { return ask.country(first, {1}).has_value(); }));  // the clients before it have gone
  CHECK(eventually([&] { return code_of(next, ask.country(next, {1, 2, 3})) == "store_overloaded"; }));
  const auto refused = ask.country(next, {1, 2, 3});
  REQUIRE_FALSE(refused.has_value());
  CHECK(next.explain(refused.error()).message.ends_with("; the server says: ERR max number of clients reached"));
}

TEST_CASE("a server that is away is an error with its place, and answers once it is back") {
  const watchdog guard(60s);
  redis_server server;
  const braid::redis_options options = at(server);
  redis_store from = store_at(options);
  asker ask;
  CHECK(ask.country(from, {1}).has_value());
  server.kill();
  const auto away = ask.country(from, {1});
  REQUIRE_FALSE(away.has_value());
  const store_failure said = from.explain(away.error());
  CHECK(said.code == "store_unreachable");
  CHECK(said.message.starts_with("endpoint `ep_0001` at redis://127.0.0.1:" + std::to_string(options.port) + "/0: "));
  server.start();
  REQUIRE(server.port() == options.port);
  CHECK(eventually([&] { return ask.country(from, {1}).has_value(); }));
}

TEST_CASE("a server that stands still is given up by the endpoint's timeout, and by the deadline of a scope") {
  const watchdog guard(60s);
  const redis_server server;
  fill(at(server), data);
  braid::redis_options hasty = at(server);
  hasty.request_timeout = 20ms;
  braid::redis_options endless = at(server);
  endless.request_timeout = braid::duration::max();
  endless.connect_timeout = 1h;
  endless.silence = 1h;
  redis_store from = store_at(hasty);
  redis_store patient = store_at(endless);
  asker ask;  // its loop ends before the stores
  CHECK(eventually([&] { return ask.country(from, {1}).has_value(); }));
  server.freeze();
  CHECK(code_of(from, ask.country(from, {1})) == "store_timeout");

  const ids one{1};
  const auto limited = [&]() -> braid::task<bool> {
    auto asking = ask_store(patient, field_read{{"user:", one}, "country"}, ask.arena);
    co_return (co_await braid::with_timeout(20ms, std::move(asking))).has_value();
  };
  CHECK_FALSE(ask.on->run(limited()));
  server.thaw();
  CHECK(eventually([&] { return ask.country(from, {1}).has_value(); }));
  CHECK((*ask.country(patient, {1}))[0] == "US");
}

TEST_CASE("a policy without timeouts gives a server, and a cluster, the documented second") {
  endpoint_entry endpoint;
  endpoint.endpoint_id = "ep_0001";
  CHECK(endpoint.policy.request_timeout == 1s);  // docs/rankd.md
  endpoint.policy.connect_timeout = 10s;         // which of the two is over first is not asked here
  const braid::testing::scripted_server silent(braid::testing::scripted_server::place::port);
  const endpoint_entry::static_resolver one{"127.0.0.1", silent.port()};
  const endpoint_entry::cluster_resolver several{.nodes = {{"127.0.0.1", silent.port()}}};
  for (const bool is_cluster : {false, true}) {
    if (is_cluster)
      endpoint.resolver = several;
    else
      endpoint.resolver = one;
    const auto from = open_store(endpoint, ".").value();
    braid::testing::test_loop here;  // ends before the store
    braid::arena arena;
    const ids users{1};
    const braid::time_point begin = here.now();
    auto asked = here.run_through(ask_store(*from, field_read{{"user:", users}, "country"}, arena), 1ms).take();
    CHECK(code_of(*from, asked) == "store_timeout");
    CHECK(here.now() - begin >= 1s);
    CHECK(here.now() - begin <= 1010ms);
  }
}

TEST_CASE("refusals are sorted by what one can do about them") {
  redis_store from = store_at({});
  const std::vector<std::pair<std::error_code, std::string>> table{
      {redis_errc::loading, "store_not_ready"},
      {redis_errc::master_down, "store_not_ready"},
      {redis_errc::wrong_password, "store_unauthorized"},
      {redis_errc::no_permission, "store_unauthorized"},
      {redis_errc::too_many_clients, "store_overloaded"},
      {redis_errc::connection_lost, "store_unreachable"},
      {redis_errc::unexpected_reply, "store_bad_reply"},
      {braid::resp_errc::bad_number, "store_bad_reply"},
      {redis_errc::moved, "store_error"},
      {braid::errc::full, "store_overloaded"},
      {braid::errc::deadline_exceeded, "store_timeout"},
      {std::make_error_code(std::errc::connection_refused), "store_unreachable"},
      {std::make_error_code(std::errc::timed_out), "store_unreachable"},
      {store_errc::wrong_type, "store_wrong_type"},
  };
  for (const auto& [why, code] : table) {
    CAPTURE(why.message());
    CHECK(from.explain(why).code == code);
    CHECK(from.explain(why).message.find("`ep_0001`") != std::string::npos);
    const bool is_late = why == braid::errc::deadline_exceeded;
    CHECK(from.explain(why).message.ends_with(is_late ? "took longer than `request_timeout_ms`" : why.message()));
  }
}
