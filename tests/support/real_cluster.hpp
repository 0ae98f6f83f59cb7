// tests/support/real_cluster.hpp: a Redis cluster of real servers, which a test starts and which end with it.
#pragma once

#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace braid::testing {

/// Three masters and a replica of the first, with the slots spread over them.
class real_cluster {
 public:
  real_cluster() {
    for (const held_port& bus : buses_)
      nodes_.push_back(std::make_unique<redis_server>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number()), "--cluster-node-timeout", "3000",
          "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"}));
    run_on_loop([this](loop& io) { return meet(io); });
  }

  [[nodiscard]] auto node(std::size_t number) -> redis_server& { return *nodes_[number]; }
  [[nodiscard]] auto id(std::size_t number) const -> const std::string& { return ids_[number]; }
  [[nodiscard]] auto options() const -> redis_cluster::options {
    redis_cluster::options out;
    out.nodes = {{.host = "127.0.0.1", .port = nodes_[0]->port()}, {.host = "127.0.0.1", .port = nodes_[2]->port()}};
    out.connection.request_timeout = std::chrono::seconds(20);
    out.connection.connect_timeout = std::chrono::seconds(20);
    out.connection.silence_when_left = out.connection.silence;
    return out;
  }

  /// A command to one node, whatever the cluster thinks, its words apart by spaces; gives its reply as text.
  auto tell(loop& io, std::size_t number, std::string command) -> task<std::string> {
    redis_options at;
    at.port = nodes_[number]->port();
    at.request_timeout = std::chrono::seconds(20);
    at.connect_timeout = std::chrono::seconds(20);
    redis_connection redis(io, at);
    arena memory;
    std::vector<std::string_view> words;
    for (std::string_view rest = command; !rest.empty();) {
      const std::size_t size = std::min(rest.find(' '), rest.size());
      words.push_back(rest.substr(0, size));
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
    const auto got = co_await redis.command(words, memory);
    if (!got) throw std::runtime_error("a node of a cluster does not answer");
    co_return got->has_text() ? std::string(got->text()) : std::string();
  }

 private:
  static void must(const std::string& reply) {
    if (reply != "OK") throw std::runtime_error("a cluster is not made: " + reply);
  }

  auto meet(loop& io) -> task<void> {
    constexpr std::array<const char*, 3> first{"0", "5461", "10923"};
    constexpr std::array<const char*, 3> last{"5460", "10922", "16383"};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ids_.push_back(co_await tell(io, i, "CLUSTER MYID"));
      static_cast<void>(co_await tell(io, i, "CLUSTER SET-CONFIG-EPOCH " + std::to_string(i + 1)));
      if (i < 3) must(co_await tell(io, i, std::string("CLUSTER ADDSLOTSRANGE ") + first[i] + " " + last[i]));
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const std::string bus = co_await bus_port(io, i);
      must(co_await tell(io, 0, "CLUSTER MEET 127.0.0.1 " + std::to_string(nodes_[i]->port()) + " " + bus));
    }
    while (co_await tell(io, 3, "CLUSTER REPLICATE " + ids_[0]) != "OK")
      co_await sleep_for(std::chrono::milliseconds(5));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (;;) {
        const std::string info = co_await tell(io, i, "CLUSTER INFO");
        const std::string known = co_await tell(io, i, "CLUSTER NODES");
        const bool complete = info.find("cluster_state:ok") != std::string::npos &&
                              info.find("cluster_known_nodes:4") != std::string::npos &&
                              info.find("cluster_size:3") != std::string::npos &&
                              known.find("slave " + ids_[0]) != std::string::npos;
        if (complete) break;
        co_await sleep_for(std::chrono::milliseconds(5));
      }
    }
    while ((co_await tell(io, 3, "INFO replication")).find("master_link_status:up") == std::string::npos)
      co_await sleep_for(std::chrono::milliseconds(5));
  }

  auto bus_port(loop& io, std::size_t number) -> task<std::string> {
    const std::string myself = co_await tell(io, number, "CLUSTER NODES");
    const std::size_t at = myself.find('@') + 1;
    co_return myself.substr(at, myself.find_first_of(", ", at) - at);
  }

  std::array<held_port, 4> buses_;
  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace braid::testing
