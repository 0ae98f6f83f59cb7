// tests/sim/programs/services.cpp: braid's HTTP and Redis clients with a server in the same process, or with Redis
// servers on other machines. Calls may fail when the network does, but none gets the answer of another one, and none is
// answered twice.
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

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

/// Checks that a call has ended at its timeout at the latest. The clock is that of the simulated machine, which moves
/// only if no thread can run, so the allowance can be small.
class time_limit {
 public:
  explicit time_limit(duration timeout) : end_(now() + timeout + allowance) {}
  void check_end(const std::string& call) const {
    check(now() <= end_, call + " has ended " + std::to_string((now() - end_ + allowance) / 1ms) + " ms too late");
  }

 private:
  static constexpr duration allowance = 50ms;
  [[nodiscard]] static auto now() -> std::chrono::steady_clock::time_point { return std::chrono::steady_clock::now(); }

  std::chrono::steady_clock::time_point end_;
};

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

// --- HTTP between machines ---

constexpr int http_rounds = 40;

/// The calls that the machine has served, also before its program was killed or the machine crashed.
class served_calls {
 public:
  served_calls() : file_(::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    const int folder = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(file_ >= 0 && folder >= 0 && ::fsync(folder) == 0, "the file of served calls cannot be created");
    ::close(folder);
    std::ifstream known(name);
    for (std::string line; std::getline(known, line);) calls_.insert(line);
  }
  /// Adds a call durably. Returns false if it was added before.
  auto add(const std::string& call) -> bool {
    const std::string line = call + "\n";
    const bool is_written =
        ::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fdatasync(file_) == 0;
    check(is_written, "call " + call + " cannot be stored");
    return calls_.insert(call).second;
  }

 private:
  static constexpr const char* name = "served";
  int file_;
  std::set<std::string> calls_;
};

/// Fails if a call is served twice, because a client must not repeat a POST by itself.
auto echo_once(http_exchange& exchange, served_calls& calls) -> task<void> {
  const auto body = co_await exchange.read_all();
  if (!body) co_return;
  if (!calls.add(*body)) {
    std::printf("call %s was served twice\n", body->c_str());
    std::exit(1);
  }
  exchange.reply(http_status::ok, "answer to " + *body);
}

/// Serves until the process is ended from outside.
auto serve_machine(loop& io) -> task<void> {
  served_calls calls;
  http_router routes;
  routes.post("/echo", [&calls](http_exchange& exchange) { return echo_once(exchange, calls); });
  routes.get("/item/{name}", [](http_exchange& exchange) {
    exchange.reply(http_status::ok, "item " + std::string(exchange.value("name")));
  });
  http_server server(io, routes);
  stream_listener listener = or_throw(stream_listener::listen(io, socket_address::any(80)));
  co_await serve(server, std::move(listener));
}

/// Sends each request until it is answered. Each attempt of a POST has a body of its own.
auto ask_machine(http_client& client, std::string host, int number) -> task<void> {
  for (int round = 0; round < http_rounds; ++round) {
    const std::string call = std::to_string(number) + "." + std::to_string(round);
    for (int attempt = 0;; ++attempt) {
      const bool is_post = round % 2 == 0;
      const std::string body = is_post ? call + "." + std::to_string(attempt) : "";
      const std::string url = "http://" + host + (is_post ? "/echo" : "/item/" + call);
      auto asked = client.fetch({.method = is_post ? http_method::post : http_method::get, .url = url, .body = body});
      const time_limit limit(1s);
      const auto answer = co_await with_timeout(1s, std::move(asked));
      limit.check_end("call " + call);
      if (answer) {
        check(answer->body == (is_post ? "answer to " + body : "item " + call),
              "call " + call + " was answered by: " + answer->body);
        ++answers;
        break;
      }
      co_await sleep_for(200ms);
    }
    co_await sleep_for(300ms);
  }
}

auto ask_machines(loop& io, std::string host) -> task<void> {
  http_client client(io, {.connections_per_host = 2});
  auto callers = [&](scope& asking) -> task<void> {
    for (int each = 0; each < tasks; ++each) asking.spawn(ask_machine(client, host, each));
    co_return;
  };
  co_await with_scope(callers);
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

/// The writes of a key: the last one that was acknowledged, and those without an answer, which may still take effect.
struct written_key {
  int acknowledged = -1;
  std::set<int> unanswered;

  [[nodiscard]] auto may_be(int round) const -> bool { return round == acknowledged || unanswered.contains(round); }
};

/// Writes values that name their keys, and reads them. A server that restarts has lost its values unless `keeps` is
/// set: it writes each command to its disk before it answers.
auto ask_shards(shards& servers, int number, bool keeps) -> task<void> {
  std::map<std::string, written_key> keys;
  for (int round = 0; round < rounds; ++round) {
    const std::string key = std::to_string(number) + "." + std::to_string(round % 5);
    written_key& written = keys[key];
    redis_connection& redis = *servers[static_cast<std::size_t>(number + round % 5) % servers.size()];
    arena memory;
    const time_limit limit_of_get(300ms);
    const auto value = co_await redis.get(key, memory, 300ms);  // before the next value replaces a lost one
    limit_of_get.check_end("GET of key " + key);
    if (value && value->has_value()) {
      const std::string text(**value);
      const std::size_t colon = text.find(':');
      check(text.substr(0, colon) == key, "key " + key + " was answered by: " + text);
      check(colon != std::string::npos && std::stoi(text.substr(colon + 1)) < round, "a value comes from the future");
      check(!keeps || written.may_be(std::stoi(text.substr(colon + 1))), "key " + key + " has an old value: " + text);
    } else if (value) {
      check(!keeps || written.acknowledged < 0, "key " + key + " has lost its value");
    }
    const time_limit limit_of_set(300ms);
    const auto stored = co_await redis.set(key, key + ":" + std::to_string(round), 300ms);
    limit_of_set.check_end("SET of key " + key);
    answers += stored && value ? 1 : 0;
    check(!keeps || round < rounds - 5 || stored, "call " + std::to_string(round) + " has no answer after the faults");
    if (stored)
      written.acknowledged = round;
    else
      written.unanswered.insert(round);
    co_await sleep_for(200ms);
  }
}

auto run_shards(loop& io, std::span<char*> hosts, bool keeps) -> task<void> {
  shards servers;
  for (const char* host : hosts)
    servers.push_back(std::make_unique<redis_connection>(io, redis_options{.host = host, .backoff = {.seed = 1}}));
  auto callers = [&](scope& asking) -> task<void> {
    for (int each = 0; each < tasks; ++each) asking.spawn(ask_shards(servers, each, keeps));
    co_return;
  };
  co_await with_scope(callers);
}

// --- a Redis Cluster on other machines ---

constexpr int cluster_rounds = 70;  // until after the second failover, even if each call ends at once

/// Writes values that name their keys, and reads them, through failovers. A failover may lose the last values, because
/// replicas lag behind. When the faults have ended, each call is answered.
auto ask_cluster(redis_cluster& redis, int number) -> task<void> {
  for (int round = 0; round < cluster_rounds; ++round) {
    const std::string key = std::to_string(number) + "." + std::to_string(round % 5);
    arena memory;
    const time_limit limit(2s);
    const auto stored = co_await redis.set(key, key + ":" + std::to_string(round), 1s);
    const auto value = co_await redis.get(key, memory, 1s);
    limit.check_end("round " + std::to_string(round) + " of key " + key);
    answers += stored && value ? 1 : 0;
    check(round < cluster_rounds - 5 || (stored && value),
          "call " + std::to_string(round) + " has no answer after the failovers");
    if (value && value->has_value()) {
      const std::string text(**value);
      const std::size_t colon = text.find(':');
      check(text.substr(0, colon) == key, "key " + key + " was answered by: " + text);
      check(colon != std::string::npos && std::stoi(text.substr(colon + 1)) <= round, "a value comes from the future");
    }
    co_await sleep_for(500ms);
  }
}

auto to_cluster(std::span<char*> hosts) -> redis_cluster::options {
  redis_cluster::options options;
  for (const char* host : hosts) options.nodes.push_back({.host = host, .port = 6379});
  options.connection.backoff.seed = 1;
  return options;
}

auto run_cluster(loop& io, std::span<char*> hosts) -> task<void> {
  redis_cluster redis(io, to_cluster(hosts));
  auto callers = [&](scope& asking) -> task<void> {
    for (int each = 0; each < tasks; ++each) asking.spawn(ask_cluster(redis, each));
    co_return;
  };
  co_await with_scope(callers);
}

// --- rankd on other machines, with a Redis Cluster ---

constexpr int servers = 3;
constexpr int users = 6;  // the lists of some of them are on the same node of the cluster
constexpr int first_item = 11;
constexpr int items_of_a_user = 4;

/// Executes a command until it is answered.
auto store(redis_cluster& redis, std::vector<std::string> words) -> task<void> {
  const std::vector<std::string_view> views(words.begin(), words.end());
  for (arena memory;;) {
    const auto reply = co_await redis.command(views, memory, 1s);
    if (reply && !reply->is_error()) co_return;
    co_await sleep_for(100ms);
  }
}

/// Stores the items of each user: the next user has other items. Items with larger numbers have better ratings.
auto store_shop(redis_cluster& redis) -> task<void> {
  for (int user = 1; user <= users; ++user) {
    co_await store(redis, {"HSET", "user:" + std::to_string(user), "country", "FR"});
    std::vector<std::string> words = {"RPUSH", "recommendation:" + std::to_string(user)};
    for (int item = 0; item < items_of_a_user; ++item) words.push_back(std::to_string(first_item + user + item));
    co_await store(redis, std::move(words));
  }
  for (int item = 1; item < users + items_of_a_user; ++item)
    co_await store(redis, {"HSET", "features:" + std::to_string(first_item + item), "price", "5", "rating",
                           std::to_string(1 + item / 2.0)});
}

/// Returns the ids of the candidates of an answer.
auto read_ids(const std::string& answer) -> std::vector<int> {
  std::vector<int> ids;
  constexpr std::string_view begin = R"({"id":)";
  for (std::size_t at = 0; (at = answer.find(begin, at)) != std::string::npos; ++at)
    ids.push_back(std::atoi(answer.c_str() + at + begin.size()));
  return ids;
}

/// Asks one server for one user. An answer has the best items of this user, or is an error.
auto ask_ranking(http_client& client, std::string host, int user) -> task<void> {
  const std::string body = R"({"plan":"first","output_keys":[],"user_id":)" + std::to_string(user) + "}";
  const int best = first_item + user + items_of_a_user - 1;
  for (int round = 0; round < cluster_rounds; ++round) {
    auto call = client.fetch({.method = http_method::post,
                              .url = "http://" + host + "/v1/rank",
                              .fields = {{"content-type", "application/json"}},
                              .body = body});
    const time_limit limit(2s);
    const auto answer = co_await with_timeout(2s, std::move(call));
    limit.check_end("call " + std::to_string(round) + " for user " + std::to_string(user));
    const bool is_good = answer && answer->status == http_status::ok;
    answers += is_good ? 1 : 0;
    check(!is_good || read_ids(answer->body) == std::vector{best, best - 1, best - 2},
          "user " + std::to_string(user) + " was answered by: " + (answer ? answer->body : ""));
    check(is_good || round < cluster_rounds - 5,
          "call " + std::to_string(round) + " has no answer after the failovers");
    co_await sleep_for(500ms);
  }
}

/// The first three hosts are servers of rankd, and the others nodes of the cluster.
auto run_rankings(loop& io, std::span<char*> hosts) -> task<void> {
  redis_cluster redis(io, to_cluster(hosts.subspan(servers)));
  co_await store_shop(redis);
  http_client client(io, {.connections_per_host = 2});
  auto callers = [&](scope& asking) -> task<void> {
    for (int user = 1; user <= users; ++user)
      for (const char* host : hosts.first(servers)) asking.spawn(ask_ranking(client, host, user));
    co_return;
  };
  co_await with_scope(callers);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "http";
  const auto hosts =
      std::span(argv, static_cast<std::size_t>(argc)).subspan(static_cast<std::size_t>(std::min(argc, 2)));
  const std::map<std::string_view, std::function<task<void>(loop&)>> kinds = {
      {"http", [](loop& io) { return run_http(io); }},
      {"http_server", [](loop& io) { return serve_machine(io); }},
      {"http_client", [&](loop& io) { return ask_machines(io, hosts.front()); }},
      {"redis", [](loop& io) { return run_redis(io); }},
      {"shards", [&](loop& io) { return run_shards(io, hosts, false); }},
      {"kept_shards", [&](loop& io) { return run_shards(io, hosts, true); }},
      {"cluster", [&](loop& io) { return run_cluster(io, hosts); }},
      {"rankings", [&](loop& io) { return run_rankings(io, hosts); }},
  };
  const auto chosen = kinds.find(kind);
  if (chosen == kinds.end()) return 2;
  {
    const auto both = or_throw(runtime::create({.workers = 2}));
    both->run(chosen->second(both->io()));
  }
  std::printf("%d calls were answered\n", answers);
  return problems == 0 ? 0 : 1;
}
