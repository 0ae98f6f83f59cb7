// rankd/server/traffic/http_load.hpp: load tests against a remote server over HTTP.
#pragma once

#include <rankd/engine/batch/closed_load.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rankd {

/// A remote server that receives requests over HTTP.
struct http_load_address {
  std::string url;         ///< `http://host:port` or `https://host:port`, without a path
  std::string token = {};  ///< empty: no token
};

/// Adds a plan to all requests that do not name one.
/// Errors: json_syntax and wrong_type, both with the line number.
auto requests_for_plan(std::vector<std::string> requests, const std::string& plan)
    -> braid::checked<std::vector<std::string>>;

/// Requests the description of a plan, to check that the server is reachable and has the plan. Blocks: until the server
/// has answered.
/// Errors: server_unreachable, with the reason; server_refused, with the server's own message.
auto check_http_load(const http_load_address& address, const std::string& plan) -> braid::checked<void>;

/// Sends requests to `/v1/rank`. Each client keeps its own connection.
auto http_load_target(http_load_address address, unsigned clients) -> make_load_target;

/// Options of an open load: requests are sent at a fixed rate, even if earlier requests have no answer yet. This is
/// realistic, because real clients do not wait for each other.
struct open_load_options {
  double per_second = 1'000;
  unsigned connections = 512;  ///< the maximum number of requests that wait for an answer at a time
  std::chrono::nanoseconds warm_up = std::chrono::milliseconds(500);
  std::chrono::nanoseconds duration = std::chrono::seconds(1);
  /// If no connection is free for a request during this time, the request is not sent. After the end of the load, the
  /// client waits twice this time for the last answers.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
};

/// The results of the requests that were due after the warm-up. Times are ascending.
struct open_load_result {
  std::chrono::nanoseconds total{};
  std::uint64_t due = 0;
  std::uint64_t unsent = 0;        ///< requests that were not sent, because no connection was free
  std::uint64_t without_hint = 0;  ///< refusals without Retry-After
  /// The times until answers with status 200, measured from the time when the requests were due.
  std::vector<std::chrono::nanoseconds> good{};
  /// The times until answers with status 503, measured from the time when the requests were due.
  std::vector<std::chrono::nanoseconds> refused{};
  /// The times until answers with status 503, measured from the moment at which a connection was free for the request.
  std::vector<std::chrono::nanoseconds> refusals{};
  std::vector<std::chrono::nanoseconds> lateness{};  ///< the delays with which the client sent requests

  /// Returns the number of answers with a status other than 200 and 503, and of requests without an answer.
  [[nodiscard]] auto failed() const noexcept -> std::uint64_t;
};

/// Sends each request when it is due, all from one loop. A latency is measured from the due time, so it includes the
/// time by which a slow server or client delays the request. Each of `requests` must name its plan. Requires at least
/// one request, one connection and a rate.
/// Blocks: until the load is over. Errors: no_runtime, server_unreachable, no_tls_here.
auto run_open_load(const http_load_address& address, std::span<const std::string> requests,
                   const open_load_options& options) -> braid::checked<open_load_result>;

}  // namespace rankd
