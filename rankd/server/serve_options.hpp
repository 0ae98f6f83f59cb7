// rankd/server/serve_options.hpp: how a server is to run.
#pragma once

#include <rankd/engine/options.hpp>
#include <rankd/server/endpoints/token_list.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_server.hpp>
#include <braid/trace/trace.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

struct serve_options {
  braid::socket_address listen = braid::socket_address::loopback(8080);  ///< port 0: one that is free
  unsigned loops = 1;    ///< each with its thread; the system spreads connections over them
  unsigned workers = 1;  ///< that compute, for each loop
  /// A loop or a worker that does not come back for so long is logged once, as `stalled`; zero: what BRAID_STALL says.
  braid::duration stall_limit = braid::duration::zero();
  /// A request that took so long asks for a file of the last seconds, where BRAID_TRACE=FILE,last=8s keeps them; zero:
  /// none does.
  braid::duration trace_slow = braid::duration::zero();
  /// What `/v1/trace` gives, on a thread that may block.
  std::function<braid::result<std::string>(braid::duration)> last_seconds = &braid::trace::last;
  engine_options engine = {.timed_of = 16};

  /// The options of each loop's HTTP server. `connections` is the sum over all loops; the loop sets the callbacks.
  /// Bodies are small here, so their timeout is shorter. The engine keeps the activities of requests.
  braid::http_server::options http = {.body_timeout = std::chrono::seconds(30), .activities = false};
  std::size_t body_memory = 256U * 1024 * 1024;  ///< bytes of bodies that are held at a time, by all loops together

  std::size_t max_in_flight = 256;  ///< requests that are ranked at a time, of all loops together
  std::size_t queue = 4096;         ///< requests that wait for that, of all loops together
  std::size_t max_batch = 100;      ///< requests in one call of `/v1/rank/batch`
  std::size_t max_events = 1000;    ///< in one call of `/v1/events`
  /// Requests of each client at a time, where there are tokens; nothing: as many as there is room for. What a plan may
  /// have is part of its budget.
  std::optional<std::size_t> client_in_flight = {};
  /// No request is queued after one that has waited so long.
  braid::duration max_wait = std::chrono::milliseconds(50);
  /// Of a loop's time, for refusals when the server is full. Connections that are refused beyond that are not read from
  /// before it is their turn again, or there is room. 1: no request waits.
  double refusal_share = 0.1;
  /// But no longer than that, which is what the answer says (`Retry-After`).
  braid::duration max_unread = std::chrono::seconds(1);
  /// Of a request that names none, counted from its arrival.
  std::chrono::milliseconds default_deadline = std::chrono::seconds(1);

  std::optional<braid::tls_context::identity> tls = {};  ///< connections are TLS, with this certificate and key
  std::optional<token_list> tokens = {};                 ///< tokens of clients; nothing: no client needs one
  /// Names for which a server without tokens answers, beside addresses and `localhost`; `*`: any (see `own_hosts`).
  std::vector<std::string> allowed_hosts = {};
  bool clients_change_plans = false;  ///< clients may also pin, roll back and reload
  bool shows_page = false;            ///< `/ui` is the page of plans; on loopback alone, unless there are tokens
};

}  // namespace rankd
