// tests/sim/programs/services.cpp: braid's HTTP and Redis clients with a server in the same process, or with Redis
// servers on other machines. Calls may fail when the network does, but none gets the answer of another one, and none is
// answered twice.
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/runtime/runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;

namespace {

constexpr int tasks = 4;
constexpr int calls_of_a_task = 8;

int problems = 0;
int answers = 0;

void check(bool holds, const std::string& what) {
  if (holds) return;
  ++problems;
  std::printf("FAILED: %s\n", what.c_str());
}

// --- HTTP ---

std::map<std::string, int> served;

auto echo(http_exchange& exchange) -> task<void> {
  const auto body = co_await exchange.read_all();
  if (!body) co_return;
  ++served[*body];
  exchange.reply(http_status::ok, "answer to " + *body);
}

auto ask_http(http_client& client, std::string url, int number) -> task<void> {
  for (int each = 0; each < calls_of_a_task; ++each) {
    const std::string body = std::to_string(number) + "." + std::to_string(each);
    auto call = client.fetch({.method = http_method::post, .url = url, .body = body});
    const auto answer = co_await with_timeout(2s, std::move(call));
    if (!answer) continue;
    ++answers;
    check(answer->body == "answer to " + body, "call " + body + " was answered by: " + answer->body);
    check(served[body] == 1, "call " + body + " was served " + std::to_string(served[body]) + " times");
  }
}

auto serve(http_server& server, stream_listener listener) -> task<void> {
  or_throw(co_await server.serve(std::move(listener)));
}

auto run_http(loop& io) -> task<void> {
  stream_listener listener = or_throw(stream_listener::listen(io, socket_address::loopback(8080)));
  http_router routes;
  routes.post("/echo", &echo);
  http_server server(io, routes);
  http_client client(io, {.connections_per_host = 2});
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve(server, std::move(listener)));
    auto callers = [&](scope& asking) -> task<void> {
      for (int each = 0; each < tasks; ++each) asking.spawn(ask_http(client, "http://127.0.0.1:8080/echo", each));
      co_return;
    };
    co_await with_scope(callers);
    co_await server.stop(1s);
  };
  co_await with_scope(all);
  for (const auto& [body, count] : served) check(count == 1, "call " + body + " was served more than once");
}

// --- Redis ---

/// Parses a command: an array of texts. Returns false if it has not arrived completely.
auto take_command(std::string& input, std::vector<std::string>& words) -> bool {
  words.clear();
  std::size_t at = 0;
  const auto number = [&](char kind) -> std::size_t {
    const std::size_t end = input.find("\r\n", at);
    if (end == std::string::npos || input[at] != kind) return std::string::npos;
    const std::size_t value = std::stoul(input.substr(at + 1, end - at - 1));
    at = end + 2;
    return value;
  };
  const std::size_t count = number('*');
  for (std::size_t each = 0; count != std::string::npos && each < count; ++each) {
    const std::size_t size = number('$');
    if (size == std::string::npos || input.size() < at + size + 2) return false;
    words.push_back(input.substr(at, size));
    at += size + 2;
  }
  if (words.empty()) return false;
  input.erase(0, at);
  return true;
}

/// Answers GET with a text that names the key; every fifth key takes longer than its caller waits.
auto answer_redis(stream_socket client) -> task<void> {
  std::string input;
  std::vector<std::string> words;
  std::array<std::byte, 512> room;
  for (;;) {
    const auto got = co_await client.read_some(room);
    if (!got || *got == 0) co_return;
    input.append(reinterpret_cast<const char*>(room.data()), *got);
    while (take_command(input, words)) {
      std::string reply = "+OK\r\n";
      if (words[0] == "HELLO") reply = "%1\r\n+proto\r\n:3\r\n";
      if (words[0] == "GET") {
        if (words[1].back() == '4') co_await sleep_for(30ms);
        const std::string value = "value of " + words[1];
        reply = "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
      }
      if (!co_await client.write_all(reply)) co_return;
    }
  }
}

auto serve_redis(stream_listener listener) -> task<void> {
  auto accept_all = [&](scope& clients) -> task<void> {
    while (auto accepted = co_await listener.accept()) clients.spawn(answer_redis(std::move(*accepted)));
  };
  co_await with_scope(accept_all);
}

auto ask_redis(redis_connection& redis, int number) -> task<void> {
  for (int each = 0; each < calls_of_a_task; ++each) {
    const std::string key = std::to_string(number) + "." + std::to_string(each);
    arena memory;
    const auto value = co_await redis.get(key, memory, 20ms);
    if (!value) continue;
    ++answers;
    check(value->has_value() && **value == "value of " + key,
          "key " + key + " was answered by: " + std::string(value->value_or("nothing")));
  }
}

auto run_redis(loop& io) -> task<void> {
  stream_listener listener = or_throw(stream_listener::listen(io, socket_address::loopback(6379)));
  auto all = [&](scope& children) -> task<void> {
    children.spawn(serve_redis(std::move(listener)));
    {
      redis_connection redis(io, {.backoff = {.seed = 1}});
      auto callers = [&](scope& asking) -> task<void> {
        for (int each = 0; each < tasks; ++each) asking.spawn(ask_redis(redis, each));
        co_return;
      };
      co_await with_scope(callers);
    }
    children.request_stop();
  };
  co_await with_scope(all);
}

// --- Redis servers on other machines ---

constexpr int rounds = 100;

using shards = std::vector<std::unique_ptr<redis_connection>>;

/// Writes values that name their keys, and reads them. A server that restarts has lost its values.
auto ask_shards(shards& servers, int number) -> task<void> {
  for (int round = 0; round < rounds; ++round) {
    const std::string key = std::to_string(number) + "." + std::to_string(round % 5);
    redis_connection& redis = *servers[static_cast<std::size_t>(number + round % 5) % servers.size()];
    arena memory;
    const auto stored = co_await redis.set(key, key + ":" + std::to_string(round), 300ms);
    const auto value = co_await redis.get(key, memory, 300ms);
    answers += stored && value ? 1 : 0;
    if (value && value->has_value()) {
      const std::string text(**value);
      const std::size_t colon = text.find(':');
      check(text.substr(0, colon) == key, "key " + key + " was answered by: " + text);
      check(colon != std::string::npos && std::stoi(text.substr(colon + 1)) <= round, "a value comes from the future");
    }
    co_await sleep_for(200ms);
  }
}

auto run_shards(loop& io, std::span<char*> hosts) -> task<void> {
  shards servers;
  for (const char* host : hosts)
    servers.push_back(std::make_unique<redis_connection>(io, redis_options{.host = host, .backoff = {.seed = 1}}));
  auto callers = [&](scope& asking) -> task<void> {
    for (int each = 0; each < tasks; ++each) asking.spawn(ask_shards(servers, each));
    co_return;
  };
  co_await with_scope(callers);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "http";
  {
    const auto both = or_throw(runtime::create({.workers = 2}));
    both->run(kind == "shards"  ? run_shards(both->io(), std::span(argv, static_cast<std::size_t>(argc)).subspan(2))
              : kind == "redis" ? run_redis(both->io())
                                : run_http(both->io()));
  }
  std::printf("%d of %d calls were answered\n", answers, tasks * (kind == "shards" ? rounds : calls_of_a_task));
  return problems == 0 ? 0 : 1;
}
