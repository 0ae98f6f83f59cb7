// bench/latency/braid_io_system.hpp: a runtime of braid as a system that waits and computes: merged, with a loop in
// each worker, which it asks between jobs; or separate, with a loop on a thread beside the workers.
#pragma once

#include <bench/echo/braid_server.hpp>
#include <bench/latency/io_under_load.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bench {

template <braid::runtime_shape Shape>
class braid_io_system {
 public:
  explicit braid_io_system(unsigned workers)
      : all_(braid::runtime::create({.workers = workers, .shape = Shape}).value()) {}

  /// Each loop has a listener of the same port; the kernel spreads the connections.
  auto listen() -> std::uint16_t {
    auto at = braid::socket_address::loopback(0);
    for (braid::loop* const each : all_->loops()) at = braid::sync_wait(*each, begin_echo(*each, at));
    return at.port();
  }

  void keep_time(lateness& late) { static_cast<void>(all_->post(sleep_again(late))); }

  template <typename Fn>
  void post(Fn fn) {
    static_cast<void>(braid::post(all_->workers(), std::move(fn)));
  }

 private:
  static auto begin_echo(braid::loop& on, braid::socket_address at) -> braid::task<braid::socket_address> {
    auto listener = braid::stream_listener::listen(on, at, {.reuse_port = true}).value();
    const auto bound = listener.local_address().value();
    on.spawn(serve_echo(std::move(listener)));
    co_return bound;
  }

  static auto sleep_again(lateness& late) -> braid::task<void> {
    for (bool more = true; more;) {
      const std::int64_t armed_ns = now_ns();
      co_await braid::sleep_for(lateness::span);
      more = late.fired(armed_ns);
    }
  }

  std::unique_ptr<braid::runtime> all_;
};

}  // namespace bench
