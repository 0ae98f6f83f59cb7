// braid/io/resolver.hpp: addresses of names, and connecting to the first of them that answers.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/socket_address.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/shared_future.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace braid {

/// The addresses of a host, the best first.
using addresses = std::vector<socket_address>;

/// Asks the system (getaddrinfo) for the addresses of a host, in the order in which they are best tried; ports are 0.
/// Blocks: for seconds at times. Errors: errc::unknown_host; resource_unavailable_try_again; the system's.
[[nodiscard]] BRAID_API auto lookup_host(const std::string& name) -> result<addresses>;

/// What a resolver asks, and how long it remembers the answers.
struct resolver_options {
  duration lifetime = 30s;        ///< of an answer, from the moment it was asked for
  duration failed_lifetime = 1s;  ///< of an answer that is an error
  std::size_t max_names = 1024;   ///< that are remembered
  std::function<result<addresses>(const std::string&)> lookup = &lookup_host;
};

/// Asks for names on an executor whose jobs may block, one question at a time for each name, and remembers the answers.
/// Threads: the loop's own; callers are at home on it. Lifetime: outlives its calls.
class BRAID_API resolver {
 public:
  resolver(loop& on, executor& blocking, resolver_options options = {});

  /// Numbers are taken as they are, without a question. A stop or a deadline ends the wait at once; the question goes
  /// on, and its answer is remembered. Errors: as `lookup_host`; errc::closed where the executor takes nothing more.
  [[nodiscard]] auto resolve(std::string host, std::uint16_t port) -> task<result<addresses>>;

  /// Forgets all answers.
  void clear() noexcept { known_.clear(); }

 private:
  struct answer {
    shared_future<result<addresses>> future;
    time_point asked;
  };

  [[nodiscard]] auto is_fresh(const answer& known) const -> bool;
  [[nodiscard]] auto ask(const std::string& host) -> answer;
  void make_room();

  loop* on_;
  executor* blocking_;
  resolver_options options_;
  std::unordered_map<std::string, answer> known_;
};

/// Tries one address after the other, the next as soon as one has failed or has not answered within `head_start`, and
/// gives the first connection; the other tries are stopped. Errors: that of the first address that failed;
/// invalid_argument where there is none. Use it with a deadline.
[[nodiscard]] BRAID_API auto connect_to_first(loop& on, addresses to, stream_options options = {},
                                              duration head_start = 250ms) -> task<result<stream_socket>>;

}  // namespace braid
