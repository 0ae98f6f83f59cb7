// rankd/server/traffic/http_load.hpp: a server somewhere, as what answers the clients of a load.
#pragma once

#include <rankd/engine/batch/closed_load.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <span>
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

/// Requests at a rate, whatever becomes of those before: what comes from outside does not wait for answers.
struct open_load_options {
  double per_second = 1'000;
  unsigned connections = 512;  ///< so many requests at most wait for an answer at a time
  std::chrono::nanoseconds warm_up = std::chrono::milliseconds(500);
  std::chrono::nanoseconds duration = std::chrono::seconds(1);
  /// A request that finds no connection free for so long is not sent; an answer twice as long after the end is not
  /// awaited.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
};

/// What came of the requests that were due in the time that counts. Times are ascending.
struct open_load_result {
  std::chrono::nanoseconds total{};
  std::uint64_t due = 0;
  std::uint64_t unsent = 0;                          ///< no connection was free
  std::uint64_t without_hint = 0;                    ///< refusals without Retry-After
  std::vector<std::chrono::nanoseconds> good{};      ///< answers of 200, from the time that was due
  std::vector<std::chrono::nanoseconds> refused{};   ///< answers of 503, from the time that was due
  std::vector<std::chrono::nanoseconds> refusals{};  ///< answers of 503, from the moment when the client turned to them
  std::vector<std::chrono::nanoseconds> lateness{};  ///< how late the client was with what it sent

  /// Other answers, and none.
  [[nodiscard]] auto failed() const noexcept -> std::uint64_t;
};

/// Sends each request at its time, all from one loop; a latency counts from then, so that it holds what a slow server,
/// or a slow client, makes others wait. `requests` name their plans. Requires requests, connections and a rate.
/// Blocks: until the load is over. Errors: no_runtime, server_unreachable, no_tls_here.
auto run_open_load(const http_load_address& at, std::span<const std::string> requests, const open_load_options& how)
    -> braid::checked<open_load_result>;

}  // namespace rankd
