// rankd/server/http_load.hpp: a server somewhere, as what answers the clients of a load.
#pragma once

#include <rankd/engine/closed_load.hpp>

#include <braid/base/diagnostics.hpp>

#include <string>
#include <vector>

namespace rankd {

/// A server that is asked by HTTP.
struct http_load_address {
  std::string url;         ///< `http://host:port`, or https; without a path
  std::string token = {};  ///< empty: none
};

/// Requests that name no plan get this one; others are left as they are.
/// Errors: json_syntax, wrong_type, with the number of the line.
auto requests_for_plan(std::vector<std::string> requests, const std::string& plan)
    -> braid::checked<std::vector<std::string>>;

/// Asks the server for a plan. Blocks: until it has answered.
/// Errors: server_unreachable, with the reason; server_refused, with the server's own words.
auto check_http_load(const http_load_address& at, const std::string& plan) -> braid::checked<void>;

/// Sends requests to `/v1/rank`, each client over a connection of its own, which is kept.
auto http_load_target(http_load_address at, unsigned clients) -> make_load_target;

}  // namespace rankd
