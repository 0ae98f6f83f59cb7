// tests/net/redis_tracking_test.cpp: what servers report about changed keys, and what a client without reports learns.
#include <braid/net/redis_options.hpp>

#include <tests/net/redis_nodes.hpp>
#include <tests/net/redis_scene.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/net/redis_cluster.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using namespace braid::testing;
using namespace std::chrono_literals;

namespace {

struct noted_changes final : redis_tracker {
  void key_changed(std::string_view key) noexcept override { keys.emplace_back(key); }
  void all_changed() noexcept override { ++all; }

  std::vector<std::string> keys;
  int all = 0;
};

auto tracked_by(redis_tracker& tracker) -> redis_options {
  redis_options options;
  options.tracker = &tracker;
  options.silence_when_left = 500ms;
  return options;
}

const std::string greeting = command_bytes({"HELLO", "3"}) + command_bytes({"CLIENT", "TRACKING", "ON"});
constexpr std::string_view welcome = "%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n";

auto invalidate(const std::vector<std::string>& keys) -> std::string {
  std::string out = ">2\r\n" + bulk("invalidate") + "*" + std::to_string(keys.size()) + "\r\n";
  for (const std::string& key : keys) out += bulk(key);
  return out;
}

/// Waits for something that a server does on its own.
template <typename Holds>
auto until(Holds holds) -> task<void> {
  while (!holds()) co_await sleep_for(1ms);
}

}  // namespace

TEST_CASE("a connection with a tracker asks for reports and passes them on, also between the parts of a reply") {
  noted_changes seen;
  redis_scene scene(tracked_by(seen));
  scene.connect();
  CHECK(scene.server().take() == greeting);
  scene.send(welcome);
  CHECK(scene.redis().status() == redis_connection::state::ready);
  CHECK(seen.is_complete());
  const auto call = scene.get("k");
  scene.run_once();
  CHECK(scene.server().take() == command_bytes({"GET", "k"}));
  scene.send(invalidate({"a", "b"}) + bulk("v") + invalidate({"k"}).substr(0, 9));
  CHECK(call->text == "v");
  CHECK(seen.keys == std::vector<std::string>{"a", "b"});
  scene.send(invalidate({"k"}).substr(9));
  CHECK(seen.keys == std::vector<std::string>{"a", "b", "k"});
  CHECK(seen.all == 0);
}

TEST_CASE("a report without keys means all of them, and other messages mean nothing") {
  noted_changes seen;
  redis_scene scene(tracked_by(seen));
  scene.connect();
  scene.send(welcome);
  scene.send(">2\r\n" + bulk("invalidate") + "_\r\n");
  CHECK(seen.all == 1);
  scene.send(">3\r\n" + bulk("message") + bulk("channel") + bulk("text"));
  scene.send(">2\r\n" + bulk("tracking-redir-broken") + ":1\r\n");
  CHECK(seen.all == 1);
  CHECK(seen.keys.empty());
  CHECK(scene.redis().counts().pushed == 3);
  CHECK(scene.redis().status() == redis_connection::state::ready);
}

TEST_CASE("the end of a connection reports all keys, because reports may be lost") {
  noted_changes seen;
  redis_scene scene(tracked_by(seen));
  scene.connect();
  scene.send(welcome);
  scene.server().hang_up();
  scene.run_once();
  CHECK(seen.all == 1);
  scene.connect_again();
  CHECK(scene.server().take() == greeting);
  scene.send(welcome);
  scene.end();
  CHECK(seen.all == 2);
}

TEST_CASE("an attempt to connect that fails reports nothing") {
  noted_changes seen;
  redis_options options = tracked_by(seen);
  options.password = "wrong";
  redis_scene scene(options);
  scene.connect();
  CHECK(scene.server().take() ==
        command_bytes({"HELLO", "3", "AUTH", "default", "wrong"}) + command_bytes({"CLIENT", "TRACKING", "ON"}));
  scene.send("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  CHECK(scene.redis().status() == redis_connection::state::backing_off);
  CHECK(scene.redis().last_error() == redis_errc::wrong_password);
  CHECK(seen.all == 0);
  CHECK(seen.is_complete());
}

TEST_CASE("a server that refuses tracking is used without, and calls that wait do not notice") {
  for (const std::string_view refusal :
       {"-ERR unknown command 'HELLO', with args beginning with: '3' \r\n", "-NOPROTO unsupported protocol version\r\n",
        "%1\r\n$5\r\nproto\r\n:3\r\n-NOPERM this user has no permissions to run the 'client|tracking' command\r\n"}) {
    CAPTURE(refusal);
    noted_changes seen;
    redis_options options = tracked_by(seen);
    options.database = 2;
    redis_scene scene(options);
    scene.connect();
    const auto call = scene.get("k");
    scene.run_once();
    if (refusal.starts_with('%'))
      scene.send(std::string(refusal).insert(refusal.find('-'), "+OK\r\n"));
    else
      scene.send(refusal);
    scene.connect();  // at once
    CHECK(scene.server().take() == command_bytes({"SELECT", "2"}));
    CHECK(seen.is_complete());
    scene.send("+OK\r\n");
    CHECK_FALSE(seen.is_complete());
    CHECK(scene.server().take() == command_bytes({"GET", "k"}));
    scene.send(bulk("v"));
    CHECK(call->text == "v");
    CHECK(seen.all == 0);
    scene.server().hang_up();
    scene.run_once();
    CHECK(seen.is_complete());
    CHECK(seen.all == 1);  // a reply that was read untracked must not count as tracked now
    scene.connect_again();
    CHECK(scene.server().take().starts_with(command_bytes({"HELLO", "3"})));  // it may be another server by now
  }
}

TEST_CASE("a silent server is asked whether it is there, and given up if it does not answer") {
  noted_changes seen;
  redis_scene scene(tracked_by(seen));
  scene.connect();
  scene.send(welcome);
  scene.server().take();
  scene.loop().advance(900ms);
  CHECK(scene.server().take().empty());
  scene.loop().advance(200ms);
  CHECK(scene.server().take() == command_bytes({"PING"}));
  scene.send("+PONG\r\n");
  scene.loop().advance(1100ms);
  CHECK(scene.server().take() == command_bytes({"PING"}));
  scene.loop().advance(400ms);
  CHECK(seen.all == 0);
  scene.loop().advance(150ms);
  scene.loop().advance(20ms);  // the second look
  CHECK(seen.all == 1);
  CHECK(scene.redis().status() != redis_connection::state::ready);
}

TEST_CASE("a slot that moves reports all keys, by a redirection and by a new map") {
  noted_changes seen;
  redis_nodes in(2, 1);
  in.options.connection.tracker = &seen;
  in.say_master({0});
  const auto first = in.get("k");
  in.answer();
  CHECK(first->text == "a:k");
  CHECK(in.node(0).times("CLIENT TRACKING ON") == 1);
  CHECK(seen.all == 0);
  SUBCASE("by a redirection") {
    for (const std::size_t number : {0U, 1U})
      in.node(number).answer = [&, number](const std::string& words) -> std::string {
        if (words == "CLUSTER SLOTS") return "-ERR not now\r\n";
        if (!words.starts_with("GET ")) return "+OK\r\n";
        return number == 1 ? bulk("moved") : "-MOVED 7629 " + in.node(1).path() + ":1\r\n";
      };
    const auto second = in.get("k");
    in.answer();
    CHECK(second->text == "moved");
  }
  SUBCASE("by a new map, in which the former owner is a replica") {
    in.say_master({1, 0});
    const auto refreshing = [&]() -> task<void> { CHECK((co_await in.cluster().refresh()).has_value()); };
    in.loop.io().spawn(refreshing());
    in.answer();
  }
  CHECK(seen.all == 1);
}

TEST_CASE("a real server reports writes, deletions, expiry and FLUSHALL of keys that were read") {
  const redis_server server;
  noted_changes seen;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = tracked_by(seen);
    options.port = server.port();
    options.request_timeout = options.connect_timeout = options.silence = options.silence_when_left = 20s;
    redis_connection reader(io, options);
    options.tracker = nullptr;
    redis_connection writer(io, options);
    arena memory;
    for (const char* key : {"a", "b", "absent"}) CHECK((co_await reader.get(key, memory)).has_value());
    CHECK((co_await writer.set("unread", "1")).has_value());
    CHECK((co_await writer.set("a", "1")).has_value());
    co_await until([&] { return seen.keys.size() == 1; });
    CHECK((co_await writer.set("absent", "1")).has_value());
    co_await until([&] { return seen.keys.size() == 2; });
    CHECK(seen.keys == std::vector<std::string>{"a", "absent"});
    CHECK((co_await reader.get("a", memory)).has_value());
    CHECK(seen.all == 0);
    redis_batch flush;
    flush.add("FLUSHALL");
    CHECK((co_await writer.run(flush, memory)).has_value());
    co_await until([&] { return seen.all == 1; });
  });
}

TEST_CASE("a real server without HELLO is used without tracking") {
  const redis_server server({"--rename-command", "HELLO", ""});
  noted_changes seen;
  run_on_loop([&](loop& io) -> task<void> {
    redis_options options = tracked_by(seen);
    options.port = server.port();
    options.request_timeout = options.connect_timeout = options.silence = options.silence_when_left = 20s;
    redis_connection reader(io, options);
    arena memory;
    CHECK((co_await reader.set("a", "1")).has_value());
    CHECK(**co_await reader.get("a", memory) == "1");
    CHECK_FALSE(seen.is_complete());
  });
}
