// tests/net/redis_nodes.hpp: a cluster whose nodes the test plays: each answers by a function, is frozen, or is away.
#pragma once

#include <tests/net/redis_scene.hpp>
#include <tests/support/scripted_server.hpp>
#include <tests/support/test_loop.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::testing {

/// What CLUSTER SLOTS answers where one master has all slots; behind it its replicas. Nodes are paths.
inline auto slots_of(const std::vector<std::string>& master_and_replicas) -> std::string {
  std::string out = "*1\r\n*" + std::to_string(2 + master_and_replicas.size()) + "\r\n:0\r\n:16383\r\n";
  for (const std::string& path : master_and_replicas) out += "*2\r\n" + bulk(path) + ":1\r\n";
  return out;
}

/// A node at a Unix socket; it has one connection at a time.
class played_node {
 public:
  [[nodiscard]] auto path() const -> std::string { return server.path(); }

  /// Answers what has come.
  void serve() {
    if (frozen) return;
    if (server.accept()) commands_.clear();
    commands_ += server.take();
    while (!commands_.empty()) {
      arena memory;
      braid::detail::resp_parser parser;
      parser.begin(&memory);
      const auto [state, consumed] = parser.parse(commands_);
      if (state != braid::detail::resp_parser::status::complete) return;
      std::string words;
      for (const resp_value& each : parser.value().items())
        words += (words.empty() ? "" : " ") + std::string(each.text());
      commands_.erase(0, consumed);
      seen.push_back(words);
      server.send(answer(words));
    }
  }
  /// How often a command has come, and forgets it.
  auto times(const std::string& command) -> std::size_t { return std::erase(seen, command); }

  scripted_server server;
  bool frozen = false;
  std::vector<std::string> seen;
  /// The values of keys are their names with the node's before them; everything else is fine.
  std::string name;
  std::string slots;
  std::function<std::string(const std::string& words)> answer = [this](const std::string& words) -> std::string {
    if (words == "CLUSTER SLOTS") return slots;
    if (words.starts_with("GET ")) return bulk(name + words.substr(4));
    return "+OK\r\n";
  };

 private:
  std::string commands_;
};

class redis_nodes {
 public:
  /// The client knows the first `seeds` of them.
  explicit redis_nodes(std::size_t count, std::size_t seeds) : nodes_(count) {
    options.connection.backoff.seed = 1;
    for (std::size_t i = 0; i < count; ++i) {
      nodes_[i] = std::make_unique<played_node>();
      nodes_[i]->name = std::string(1, static_cast<char>('a' + i)) + ":";
      if (i < seeds) options.nodes.push_back({.host = nodes_[i]->path(), .port = 1});
    }
  }
  redis_nodes(const redis_nodes&) = delete;
  auto operator=(const redis_nodes&) -> redis_nodes& = delete;
  ~redis_nodes() {
    if (cluster_) cluster_->close();
    loop.run_once(200);
    loop.advance(std::chrono::seconds(1));
  }

  [[nodiscard]] auto node(std::size_t number) -> played_node& { return *nodes_[number]; }
  [[nodiscard]] auto cluster() -> redis_cluster& {
    if (!cluster_) cluster_.emplace(loop.io(), options);
    return *cluster_;
  }
  /// All nodes say that the first of these is the master, with the others as replicas.
  void say_master(const std::vector<std::size_t>& numbers) {
    std::vector<std::string> paths;
    for (const std::size_t each : numbers) paths.push_back(nodes_[each]->path());
    for (const auto& each : nodes_) each->slots = slots_of(paths);
  }

  /// With `in_scope` it is stopped by the deadline of a scope, as a request may be.
  auto get(std::string key, duration timeout = duration::zero(), duration in_scope = duration::max())
      -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    loop.io().spawn(limited(told, get_in(told, cluster(), std::move(key), timeout), in_scope));
    return told;
  }
  auto set(std::string key) -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    loop.io().spawn(set_in(told, cluster(), std::move(key)));
    return told;
  }
  /// The batch stays as it is until the end.
  auto run(const redis_batch& batch, duration timeout = duration::zero(), duration in_scope = duration::max())
      -> std::shared_ptr<call_end> {
    auto told = std::make_shared<call_end>();
    loop.io().spawn(limited(told, run_in(told, cluster(), batch, timeout), in_scope));
    return told;
  }

  /// Nodes answer what there is, and no time passes.
  void answer() {
    for (int i = 0; i < 30; ++i) {
      for (const auto& each : nodes_) each->serve();
      loop.run_once();
    }
  }
  void pass(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      for (const auto& each : nodes_) each->serve();
      loop.advance(std::chrono::milliseconds(1));
    }
    answer();
  }

  test_loop loop;
  redis_cluster::options options;

 private:
  static auto limited(std::shared_ptr<call_end> told, task<void> work, duration span) -> task<void> {
    if (span == duration::max()) {
      co_await std::move(work);
      co_return;
    }
    auto all = with_timeout(span, std::move(work));
    const auto ended = co_await std::move(all);
    if (ended) co_return;
    told->over = true;
    told->error = std::make_error_code(std::errc::operation_canceled);
  }
  static auto get_in(std::shared_ptr<call_end> told, redis_cluster& in, std::string key, duration timeout)
      -> task<void> {
    arena memory;
    auto asking = in.get(key, memory, timeout);
    const auto got = co_await std::move(asking);
    told->over = true;
    if (got) told->text = got->value_or("nothing");
    if (!got) told->error = got.error();
  }
  static auto set_in(std::shared_ptr<call_end> told, redis_cluster& in, std::string key) -> task<void> {
    auto asking = in.set(key, "v");
    const auto done = co_await std::move(asking);
    told->over = true;
    if (!done) told->error = done.error();
  }
  static auto run_in(std::shared_ptr<call_end> told, redis_cluster& in, const redis_batch& batch, duration timeout)
      -> task<void> {
    arena memory;
    auto asking = in.run(batch, memory, timeout);
    const auto got = co_await std::move(asking);
    told->over = true;
    if (!got) told->error = got.error();
    if (!got) co_return;
    for (const resp_value& each : *got) told->text += (each.has_text() ? std::string(each.text()) : "-") + " ";
  }

  std::vector<std::unique_ptr<played_node>> nodes_;
  std::optional<redis_cluster> cluster_;
};

}  // namespace braid::testing
