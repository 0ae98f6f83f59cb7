// rankd/store/redis_options.hpp: connection options for the Redis server that an endpoint or a URL names.
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

/// The address of a Redis server, or of some nodes of a cluster.
struct redis_address : braid::redis_options {
  redis_address() = default;
  redis_address(braid::redis_options server) : redis_options(std::move(server)) {}

  [[nodiscard]] auto is_cluster() const noexcept -> bool { return !nodes.empty(); }
  /// Returns the options for a cluster. Requires that this is the address of a cluster.
  [[nodiscard]] auto as_cluster() const -> braid::redis_cluster::options;

  /// The nodes of a cluster. `host` and `port` are not used for a cluster. Empty for a single server.
  std::vector<braid::redis_cluster::options::node> nodes;
  braid::redis_cluster::reads reads = braid::redis_cluster::reads::masters;
};

/// Returns the address and the limits of an endpoint with a resolver for a server or a cluster. At most `max_inflight`
/// commands are in flight on each connection. The registry contains no secrets. The user, the password and the database
/// number are read from the variables RANKD_REDIS_USER, RANKD_REDIS_PASSWORD and RANKD_REDIS_DATABASE. With the suffix
/// `_EP_0001`, a variable applies only to that endpoint. RANKD_REDIS_AUTHORITIES names a file of certificate
/// authorities that TLS trusts. Without this variable, TLS trusts the authorities of the system. A server's certificate
/// must be for the host name in the registry; in a cluster, for the host name of the first node. Blocks: on name
/// resolution, if a host is not an address. Errors: unknown_host, bad_environment.
auto parse_redis_options(const endpoint_entry& endpoint) -> braid::checked<redis_address>;

/// Returns the address and the limits for `redis://[[user]:password@]host[:port][/database]`, with %XX in user and
/// password. Missing parts are taken from the environment variables. `rediss://` means TLS. `redis-cluster://` and
/// `rediss-cluster://` name a cluster by some of its nodes, `host[:port],host[:port]…`, without a database.
/// Errors: unknown_host, bad_environment, bad_redis_url.
auto parse_redis_options(std::string_view url) -> braid::checked<redis_address>;

/// Returns whether a text begins like the URL of a Redis server or cluster.
auto is_redis_url(std::string_view text) noexcept -> bool;

/// Checks a URL without resolving its host. Errors: bad_redis_url.
auto check_redis_url(std::string_view url) -> braid::checked<void>;

/// Returns the address as text for messages, without user and password: `redis://host:port/database` or
/// `redis-cluster://host:port,host:port`.
auto find_place(const redis_address& server) -> std::string;

}  // namespace rankd
