// rankd/server/serve_options.hpp: the options of a server.
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
  braid::socket_address listen = braid::socket_address::loopback(8080);  ///< port 0: a free one
  unsigned loops = 1;    ///< each with its thread; the system spreads connections over them
  unsigned workers = 1;  ///< worker threads of each loop
  /// A loop or a worker that does not return for this long is logged once, as `stalled`; zero: the value of
  /// BRAID_STALL.
  braid::duration stall_limit = braid::duration::zero();
  /// A request that takes this long requests a file of the last seconds, if BRAID_TRACE=FILE,last=8s keeps them; zero:
  /// no request does.
  braid::duration trace_slow = braid::duration::zero();
  /// Returns the answer of `/v1/trace`, on a thread that may block.
  std::function<braid::result<std::string>(braid::duration)> last_seconds = &braid::trace::last;
  engine_options engine = {.timed_of = 16};

  /// The options of each loop's HTTP server. `connections` is the sum over all loops; the loop sets the callbacks.
  /// Bodies are small here, so their timeout is shorter. The engine keeps the activities of requests.
  braid::http_server::options http = {.body_timeout = std::chrono::seconds(30), .activities = false};
  std::size_t body_memory = 256U * 1024 * 1024;  ///< bytes of bodies in memory at a time, in all loops together

  std::size_t max_in_flight = 256;  ///< requests that are ranked at a time, in all loops together
  std::size_t queue = 4096;         ///< requests that wait for that, in all loops together
  std::size_t max_batch = 100;      ///< requests in one call of `/v1/rank/batch`
  std::size_t max_events = 1000;    ///< in one call of `/v1/events`
  /// Requests of each client at a time, if there are tokens; nothing: no limit except the server's. The limit of a plan
  /// is part of its budget.
  std::optional<std::size_t> client_in_flight = {};
  /// No request is queued behind a request that has waited this long.
  braid::duration max_wait = std::chrono::milliseconds(50);
  /// The share of a loop's time for refusals when the server is full. Connections that are refused beyond that are not
  /// read from before it is their turn again, or there is room. 1: no request waits.
  double refusal_share = 0.1;
  /// The longest such wait, which is what the answer says (`Retry-After`).
  braid::duration max_unread = std::chrono::seconds(1);
  /// For a request that does not set a deadline, counted from its arrival.
  std::chrono::milliseconds default_deadline = std::chrono::seconds(1);

  std::optional<braid::tls_context::identity> tls = {};  ///< connections are TLS, with this certificate and key
  std::optional<token_list> tokens = {};                 ///< tokens of clients; nothing: no client needs one
  /// Names for which a server without tokens answers, in addition to addresses and `localhost`; `*`: any (see
  /// `own_hosts`).
  std::vector<std::string> allowed_hosts = {};
  bool clients_change_plans = false;  ///< clients may also pin, roll back and reload
  bool shows_page = false;            ///< `/ui` is the page of plans; only on loopback, unless there are tokens
};

}  // namespace rankd
