// rankd/server/traffic/http_load.hpp: a server elsewhere as the target of a load.
#pragma once

#include <rankd/engine/batch/closed_load.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rankd {

/// A server that receives requests over HTTP.
struct http_load_address {
  std::string url;         ///< `http://host:port`, or https; without a path
  std::string token = {};  ///< empty: no token
};

/// Sets this plan in requests that do not name one; others do not change.
/// Errors: json_syntax, wrong_type, with the number of the line.
auto requests_for_plan(std::vector<std::string> requests, const std::string& plan)
    -> braid::checked<std::vector<std::string>>;

/// Asks the server for a plan. Blocks: until it has answered.
/// Errors: server_unreachable, with the reason; server_refused, with the server's own words.
auto check_http_load(const http_load_address& address, const std::string& plan) -> braid::checked<void>;

/// Sends requests to `/v1/rank`, each client over its own connection, which is kept.
auto http_load_target(http_load_address address, unsigned clients) -> make_load_target;

/// Requests at a fixed rate, whatever becomes of earlier ones: requests from outside do not wait for answers.
struct open_load_options {
  double per_second = 1'000;
  unsigned connections = 512;  ///< the maximum number of requests that wait for an answer at a time
  std::chrono::nanoseconds warm_up = std::chrono::milliseconds(500);
  std::chrono::nanoseconds duration = std::chrono::seconds(1);
  /// A request that finds no free connection for this long is not sent; answers are awaited for twice as long after the
  /// end.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
};

/// The results of the requests that were due after the warm-up. Times are ascending.
struct open_load_result {
  std::chrono::nanoseconds total{};
  std::uint64_t due = 0;
  std::uint64_t unsent = 0;                         ///< no connection was free
  std::uint64_t without_hint = 0;                   ///< refusals without Retry-After
  std::vector<std::chrono::nanoseconds> good{};     ///< answers of 200, from the time when they were due
  std::vector<std::chrono::nanoseconds> refused{};  ///< answers of 503, from the time when they were due
  /// answers of 503, from the moment when the client turned to them
  std::vector<std::chrono::nanoseconds> refusals{};
  std::vector<std::chrono::nanoseconds> lateness{};  ///< how late the client sent requests

  /// Returns the number of other answers, and of requests without an answer.
  [[nodiscard]] auto failed() const noexcept -> std::uint64_t;
};

/// Sends each request at its time, all from one loop; a latency counts from then, so that it includes the time that a
/// slow server, or a slow client, makes others wait. `requests` name their plans. Requires requests, connections and a
/// rate.
/// Blocks: until the load is over. Errors: no_runtime, server_unreachable, no_tls_here.
auto run_open_load(const http_load_address& address, std::span<const std::string> requests,
                   const open_load_options& options) -> braid::checked<open_load_result>;

}  // namespace rankd
