// rankd/store/redis_options.hpp: how to reach the Redis server that an endpoint or a URL names.
#pragma once

#include <rankd/registry/registries.hpp>

#include <braid/base/diagnostics.hpp>
#include <braid/net/redis_options.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// How to reach an endpoint whose resolver is static, and how hard to use it: `max_inflight` commands are under way on
/// each connection. The registry holds no secrets: user, password and number of the database come from the environment,
/// RANKD_REDIS_USER, RANKD_REDIS_PASSWORD and RANKD_REDIS_DATABASE; with `_EP_0001` behind, for that endpoint alone.
/// Blocks: on the resolver of names, where the host is no address. Errors: unknown_host, bad_environment.
auto redis_options_of(const endpoint_entry& endpoint) -> braid::checked<braid::redis_options>;

/// The same for `redis://[[user]:password@]host[:port][/database]`, with %XX in user and password; what it leaves open
/// comes from the environment. Errors: also bad_redis_url.
auto redis_options_of(std::string_view url) -> braid::checked<braid::redis_options>;

/// Whether a text claims to be such a URL.
auto is_redis_url(std::string_view text) noexcept -> bool;

/// What is wrong with a URL, without asking anybody for an address. Errors: bad_redis_url.
auto check_redis_url(std::string_view url) -> braid::checked<void>;

/// `redis://host:port/database`, for people: no user, no password.
auto place_of(const braid::redis_options& server) -> std::string;

}  // namespace rankd
