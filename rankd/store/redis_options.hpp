// rankd/store/redis_options.hpp: options for the Redis server that an endpoint or a URL names.
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

/// The address of Redis: one server, or a cluster that is found by some of its nodes.
struct redis_address : braid::redis_options {
  redis_address() = default;
  redis_address(braid::redis_options server) : redis_options(std::move(server)) {}

  [[nodiscard]] auto is_cluster() const noexcept -> bool { return !nodes.empty(); }
  /// Requires a cluster.
  [[nodiscard]] auto as_cluster() const -> braid::redis_cluster::options;

  std::vector<braid::redis_cluster::options::node> nodes;  ///< of a cluster, whose host and port are unused then
  braid::redis_cluster::reads reads = braid::redis_cluster::reads::masters;
};

/// Returns the address and the limits of an endpoint whose resolver is static or a cluster: at most `max_inflight`
/// commands are in flight on each connection. The registry holds no secrets: user, password and number of the database
/// come from the environment, RANKD_REDIS_USER, RANKD_REDIS_PASSWORD and RANKD_REDIS_DATABASE; with the suffix
/// `_EP_0001` they apply only to that endpoint. With TLS, the trusted authorities are those in the file that
/// RANKD_REDIS_AUTHORITIES names, or the system's; a server's certificate must be for the host as it is written, in a
/// cluster for the host of the first node.
/// Blocks: on the name resolver, if a host is not an address. Errors: unknown_host, bad_environment.
auto parse_redis_options(const endpoint_entry& endpoint) -> braid::checked<redis_address>;

/// Does the same for `redis://[[user]:password@]host[:port][/database]`, with %XX in user and password; missing parts
/// come from the environment. `rediss://` means TLS; `redis-cluster://` and `rediss-cluster://` name a cluster by some
/// of its nodes, `host[:port],host[:port]…`, and no database.
/// Errors: also bad_redis_url.
auto parse_redis_options(std::string_view url) -> braid::checked<redis_address>;

/// Returns whether a text looks like such a URL.
auto is_redis_url(std::string_view text) noexcept -> bool;

/// Checks a URL without resolving its host. Errors: bad_redis_url.
auto check_redis_url(std::string_view url) -> braid::checked<void>;

/// `redis://host:port/database` or `redis-cluster://host:port,host:port`, for people: no user, no password.
auto find_place(const redis_address& server) -> std::string;

}  // namespace rankd
