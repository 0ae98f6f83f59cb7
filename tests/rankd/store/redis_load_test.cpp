// tests/rankd/store/redis_load_test.cpp: a real server is filled: whole, again, after a kill, and not by wrong data.
#include <rankd/store/redis_load.hpp>

#include <rankd/store/record_parser.hpp>
#include <rankd/store/redis_store.hpp>

#include <tests/support/child.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/base/arena.hpp>
#include <braid/net/redis_connection.hpp>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace rankd;
using braid::testing::redis_server;
using braid::testing::run_on_loop;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;
using files = std::vector<fs::path>;

auto at(const redis_server& server) -> braid::redis_options {
  braid::redis_options options;
  options.port = server.port();
  options.request_timeout = std::chrono::seconds(20);  // a busy machine is no fault
  options.connect_timeout = std::chrono::seconds(20);
  return options;
}

/// The reply to a command, as text: elements with a space behind each.
auto ask(const redis_server& server, std::vector<std::string_view> words) -> std::string {
  std::string out;
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_connection redis(io, at(server));
    braid::arena memory;
    const auto reply = co_await redis.command(words, memory);
    if (!reply)
      out = reply.error().message();
    else if (reply->has_text())
      out = reply->text();
    else if (reply->type() == braid::resp_type::integer)
      out = std::to_string(reply->integer());
    else if (reply->has_items())
      for (const braid::resp_value& each : reply->items()) out += std::string(each.text()) + " ";
    else
      out = "nothing";
  });
  return out;
}

auto many_lists(int count) -> std::string {
  std::string lines;
  for (int i = 1; i <= count; ++i)
    lines += R"({"list":"follow:)" + std::to_string(i) + R"(","values":[)" + std::to_string(i) + ",2,3]}\n";
  return lines;
}

auto code_of(const braid::checked<load_report>& made) -> std::string {
  return made ? "fine" : made.error().front().code;
}

}  // namespace

TEST_CASE("a load gives each key its value, and leaves the others") {
  const redis_server server;
  const scratch_folder folder;
  ask(server, {"SET", "other", "x"});
  ask(server, {"SET", "user:1", "of another kind"});
  ask(server, {"RPUSH", "follow:2", "9", "9"});
  ask(server, {"RPUSH", "follow:3", "9"});
  const files data{folder.write("a.ndjson", R"({"hash":"user:1","fields":{"b":"2","a":"\u0000ü"}}
{"list":"follow:1","values":[5,-6,"x","07"]}

)"),
                   folder.write("b.ndjson", R"({"list":"follow:2","values":[1,2]}
{"list":"follow:3","values":[]}
{"hash":"user:2","fields":{}}
)")};
  const auto loaded = load_redis(at(server), data, {});
  REQUIRE(loaded.has_value());
  CHECK(loaded->records == 5);
  CHECK(loaded->resumed_at == 0);
  CHECK(ask(server, {"HGET", "user:1", "a"}) == std::string("\0ü", 3));
  CHECK(ask(server, {"HLEN", "user:1"}) == "2");
  CHECK(ask(server, {"LRANGE", "follow:1", "0", "-1"}) == "5 -6 x 07 ");
  CHECK(ask(server, {"LRANGE", "follow:2", "0", "-1"}) == "1 2 ");
  CHECK(ask(server, {"EXISTS", "follow:3"}) == "0");
  CHECK(ask(server, {"GET", "other"}) == "x");
  CHECK(ask(server, {"DBSIZE"}) == "4");
}

TEST_CASE("a load that is refused once all records were seen sends nothing") {
  const redis_server server;
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_lists(3))};
  std::size_t seen = 0;
  redis_load_options options{.seen = [&](std::string_view, const record_view&) { ++seen; },
                             .refused = [&] { return braid::diagnostics(line_diagnostic(1, "no", "", "no", "")); }};
  CHECK(code_of(load_redis(at(server), data, options)) == "no");
  CHECK(seen == 3);
  CHECK(ask(server, {"DBSIZE"}) == "0");
  options.refused = [] { return braid::diagnostics(); };
  CHECK(code_of(load_redis(at(server), data, options)) == "fine");
}

TEST_CASE("a record of more words than a command takes is whole all the same") {
  const redis_server server;
  const scratch_folder folder;
  std::string list = R"({"list":"follow:1","values":[0)";
  std::string hash = R"({"hash":"user:1","fields":{"f0":"0")";
  for (int i = 1; i < 5'000; ++i) {
    list += "," + std::to_string(i);
    hash += ",\"f" + std::to_string(i) + "\":\"" + std::to_string(i) + "\"";
  }
  const files data{folder.write("a.ndjson", list + "]}\n" + hash + "}}\n")};
  REQUIRE(load_redis(at(server), data, {}).has_value());
  CHECK(ask(server, {"LLEN", "follow:1"}) == "5000");
  CHECK(ask(server, {"LRANGE", "follow:1", "998", "1001"}) == "998 999 1000 1001 ");
  CHECK(ask(server, {"HLEN", "user:1"}) == "5000");
  CHECK(ask(server, {"HGET", "user:1", "f499"}) == "499");
}

TEST_CASE("the same load again ends in the same database") {
  const redis_server server;
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_lists(100))};
  for (int round = 0; round < 2; ++round) {
    REQUIRE(load_redis(at(server), data, {.piece_bytes = 500}).has_value());
    CHECK(ask(server, {"DBSIZE"}) == "100");
    CHECK(ask(server, {"LRANGE", "follow:70", "0", "-1"}) == "70 2 3 ");
  }
}

TEST_CASE("wrong data changes nothing, and is complained about as by the embedded store") {
  const redis_server server;
  const scratch_folder folder;
  const auto diagnostics = [&](std::string_view lines) {
    const files data{folder.write("good.ndjson", many_lists(50)), folder.write("bad.ndjson", lines)};
    const auto loaded = load_redis(at(server), data, {.piece_bytes = 100});
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().front().source.ends_with("bad.ndjson"));
    CHECK(ask(server, {"DBSIZE"}) == "0");
    return loaded.error();
  };
  CHECK(diagnostics("nonsense\n").size() == 1);
  const auto twin = diagnostics("\n{\"list\":\"follow:7\",\"values\":[]}\n");
  CHECK(twin.front().code == "duplicate_key");
  CHECK(twin.front().message.find("in line 7 of ") != std::string::npos);
  CHECK(diagnostics("{\"list\":\"rankd:load\",\"values\":[]}\n").front().code == "reserved_key");
  std::string many;
  for (int i = 0; i < 200; ++i) many += "nonsense\n";
  CHECK(diagnostics(many).size() == max_load_diagnostics + 1);
  CHECK(code_of(load_redis(at(server), files{"absent.ndjson"}, {})) == "data_unreadable");
}

TEST_CASE("a load that was killed is gone on with where its last transaction ended") {
  const redis_server server;
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_lists(300)),
                   folder.write("b.ndjson", R"({"hash":"user:1","fields":{"a":"b"}})")};
  int transactions = 0;
  const auto killed = braid::testing::run_in_child([&] {
    load_redis(at(server), data, {.piece_bytes = 1'000, .progress = [&](const load_progress& now) {
                                    if (now.stage == load_stage::switching && ++transactions == 4)
                                      ::kill(::getpid(), SIGKILL);
                                  }});
  });
  CHECK(killed.signal == SIGKILL);
  const int there = std::stoi(ask(server, {"DBSIZE"})) - 1;  // one key is the mark
  CHECK(there > 0);
  CHECK(there < 300);
  CHECK(ask(server, {"EXISTS", redis_load_key}) == "1");

  ask(server, {"DEL", "follow:1"});  // shows that what was done is not done again
  const auto loaded = load_redis(at(server), data, {.piece_bytes = 1'000});
  REQUIRE(loaded.has_value());
  CHECK(loaded->records == 301);
  CHECK(loaded->resumed_at > 0);
  CHECK(ask(server, {"EXISTS", "follow:1"}) == "0");
  CHECK(ask(server, {"DBSIZE"}) == "300");
  CHECK(ask(server, {"LRANGE", "follow:300", "0", "-1"}) == "300 2 3 ");
  CHECK(ask(server, {"EXISTS", redis_load_key}) == "0");
}

TEST_CASE("an interrupted load of other files, or a mark that is none, is no place to go on from") {
  const redis_server server;
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_lists(40))};
  for (const std::string_view mark :
       {"", "x", "{}\n", R"({"made_from":"y","file":0,"bytes":9,"lines":1,"records":1,"kept":0}
)"}) {
    ask(server, {"SET", redis_load_key, mark});
    const auto loaded = load_redis(at(server), data, {});
    REQUIRE(loaded.has_value());
    CHECK(loaded->resumed_at == 0);
    CHECK(ask(server, {"DBSIZE"}) == "40");
  }
}

TEST_CASE("what a server refuses is said in its words, with its place") {
  const scratch_folder folder;
  const files data{folder.write("a.ndjson", many_lists(2'000))};
  {
    const redis_server full({"--maxmemory", "1mb"});
    const auto loaded = load_redis(at(full), data, {});
    REQUIRE(code_of(loaded) == "store_overloaded");
    CHECK(loaded.error().front().message.find("OOM") != std::string::npos);
    CHECK(loaded.error().front().hint.find("continues from here") != std::string::npos);
    CHECK(loaded.error().front().source == "redis://127.0.0.1:" + std::to_string(full.port()) + "/0");
  }
  {
    const redis_server closed({"--requirepass", "secret"});
    const auto loaded = load_redis(at(closed), data, {});
    REQUIRE(code_of(loaded) == "store_unauthorized");
    CHECK(loaded.error().front().message.find("the server says: NOAUTH ") != std::string::npos);
    CHECK(loaded.error().front().hint.starts_with("nothing was written: "));
    braid::redis_options guess = at(closed);
    guess.password = "guess";
    const auto refused = load_redis(guess, data, {});
    REQUIRE(code_of(refused) == "store_unauthorized");
    CHECK(refused.error().front().message.find("the server says: WRONGPASS ") != std::string::npos);
  }
  {
    const redis_server other;
    REQUIRE(ask(other, {"RPUSH", redis_load_key, "1"}) == "1");
    const auto loaded = load_redis(at(other), data, {});
    REQUIRE(code_of(loaded) == "store_error");
    CHECK(loaded.error().front().message.find("the server says: WRONGTYPE ") != std::string::npos);
  }
  const braid::testing::held_port gone;
  braid::redis_options nobody;
  nobody.port = gone.number();
  CHECK(code_of(load_redis(nobody, data, {})) == "store_unreachable");
  redis_address cluster;
  cluster.nodes = {{.host = "127.0.0.1", .port = nobody.port}};
  CHECK(code_of(load_redis(cluster, data, {})) == "store_unreachable");
  {
    const braid::testing::held_port bus;
    const redis_server closed(
        {"--requirepass", "secret", "--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())});
    cluster.nodes = {{.host = "127.0.0.1", .port = closed.port()}};
    CHECK(code_of(load_redis(cluster, data, {})) == "store_unauthorized");
    cluster.password = "another";
    CHECK(code_of(load_redis(cluster, data, {})) == "store_unauthorized");
    cluster.password = "secret";  // it has no slots yet, and may get some
    const auto begin = std::chrono::steady_clock::now();
    CHECK(code_of(load_redis(cluster, data, {})) == "store_not_ready");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50));
  }
  const redis_server plain;
  redis_address no_cluster;
  no_cluster.nodes = {{.host = "127.0.0.1", .port = plain.port()}};
  const auto loaded = load_redis(no_cluster, data, {});
  REQUIRE(code_of(loaded) == "store_error");
  CHECK(loaded.error().front().message.find("the server is not a node of a cluster") != std::string::npos);
}

TEST_CASE("progress goes from nothing to all that is read and sent") {
  const redis_server server;
  const scratch_folder folder;
  std::uint64_t last = 0;
  const load_progress* end = nullptr;
  load_progress at_end;
  const files data{folder.write("a.ndjson", many_lists(200))};
  const auto loaded = load_redis(at(server), data, {.piece_bytes = 500, .progress = [&](const load_progress& now) {
                                                      CHECK(now.bytes_done >= last);
                                                      last = now.bytes_done;
                                                      at_end = now;
                                                      end = &at_end;
                                                    }});
  REQUIRE(loaded.has_value());
  REQUIRE(end != nullptr);
  CHECK(end->bytes_done == end->bytes_total);
}

TEST_CASE("a line deletes a key or fields of a hash on the server") {
  const redis_server server;
  const scratch_folder folder;
  ask(server, {"HSET", "item:1", "a", "1", "b", "2"});
  ask(server, {"SET", "item:2", "x"});
  const files data{folder.write("data", R"({"delete":"item:1","fields":["a","absent"]}
{"delete":"item:2"}
{"delete":"absent"}
{"hash":"item:3","fields":{"a":"3"}}
)")};
  const auto done = load_redis(at(server), data, {});
  REQUIRE(code_of(done) == "fine");
  CHECK(done->records == 1);
  CHECK(ask(server, {"HGETALL", "item:1"}) == "b 2 ");
  CHECK(ask(server, {"EXISTS", "item:2"}) == "0");
  CHECK(ask(server, {"HGETALL", "item:3"}) == "a 3 ");
  const files twice{folder.write("twice", "{\"delete\":\"item:1\"}\n{\"delete\":\"item:1\",\"fields\":[\"b\"]}\n")};
  CHECK(code_of(load_redis(at(server), twice, {})) == "duplicate_key");
  CHECK(ask(server, {"HGETALL", "item:1"}) == "b 2 ");
}
