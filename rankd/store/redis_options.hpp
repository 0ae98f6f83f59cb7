// rankd/store/redis_options.hpp: how to reach the Redis server that an endpoint or a URL names.
#pragma once

#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_options.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// Where Redis is: one server, or a cluster that is found by some of its nodes.
struct redis_address : braid::redis_options {
  redis_address() = default;
  redis_address(braid::redis_options server) : redis_options(std::move(server)) {}

  [[nodiscard]] auto is_cluster() const noexcept -> bool { return !nodes.empty(); }
  /// Requires a cluster.
  [[nodiscard]] auto as_cluster() const -> braid::redis_cluster::options;

  std::vector<braid::redis_cluster::options::node> nodes;  ///< of a cluster, whose host and port then mean nothing
  braid::redis_cluster::reads reads = braid::redis_cluster::reads::masters;
};

/// How to reach an endpoint whose resolver is static or a cluster, and how hard to use it: at most `max_inflight`
/// commands are in flight on each connection. The registry holds no secrets: user, password and number of the database
/// come from the environment, RANKD_REDIS_USER, RANKD_REDIS_PASSWORD and RANKD_REDIS_DATABASE; with the suffix
/// `_EP_0001` they apply to that endpoint alone. With TLS, the trusted authorities are those in the file that
/// RANKD_REDIS_AUTHORITIES names, or the system's; a server's certificate must be for the host as it is written, in a
/// cluster for that of the first node. Blocks: on the name resolver, if a host is not an address. Errors: unknown_host,
/// bad_environment.
auto redis_options_of(const endpoint_entry& endpoint) -> braid::checked<redis_address>;

/// The same for `redis://[[user]:password@]host[:port][/database]`, with %XX in user and password; what it leaves open
/// comes from the environment. `rediss://` is by TLS; `redis-cluster://` and `rediss-cluster://` name a cluster by some
/// of its nodes, `host[:port],host[:port]…`, and no database. Errors: also bad_redis_url.
auto redis_options_of(std::string_view url) -> braid::checked<redis_address>;

/// Whether a text claims to be such a URL.
auto is_redis_url(std::string_view text) noexcept -> bool;

/// Checks a URL without resolving its host. Errors: bad_redis_url.
auto check_redis_url(std::string_view url) -> braid::checked<void>;

/// `redis://host:port/database` or `redis-cluster://host:port,host:port`, for people: no user, no password.
auto place_of(const redis_address& server) -> std::string;

}  // namespace rankd
