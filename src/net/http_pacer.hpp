// src/net/http_pacer.hpp: implements back pressure, which limits the share of a loop's time that is spent on refusing
// requests.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/http_server.hpp>

#include <cstddef>

namespace braid::detail {

/// An account of time. A fixed share of the elapsed time is added to it, and the time of each refusal is subtracted.
/// While the account is negative, a connection whose request was refused waits before it is read again. Design:
/// docs/design/http.md, "Back pressure".
/// Threads: only the loop's thread.
class http_pacer {
 public:
  class waiter;

  http_pacer(loop& loop, const http_server::pacing& options) noexcept;
  http_pacer(const http_pacer&) = delete;
  auto operator=(const http_pacer&) -> http_pacer& = delete;

  /// Subtracts the time of the refusals that a connection sent with one write. Returns true if the connection must wait
  /// before it is read again.
  [[nodiscard]] auto charge(duration took, time_point now) noexcept -> bool;
  /// Releases all waiting connections, and lets no connection wait from now on.
  void open() noexcept;
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return waiting_; }

 private:
  struct tick_timer : timer {
    explicit tick_timer(http_pacer& p) noexcept : timer(&fired), owner(&p) {}
    static void fired(timer& self) noexcept { static_cast<tick_timer&>(self).owner->tick(); }
    http_pacer* owner;
  };

  void refill(time_point now) noexcept;
  void tick() noexcept;
  [[nodiscard]] auto due(time_point now) noexcept -> std::size_t;
  void leave(waiter& one) noexcept;

  loop* loop_;
  const http_server::pacing* pacing_;
  double account_;  // the balance in nanoseconds; below zero: overdrawn
  double mean_;     // the mean cost of the last refusals in nanoseconds
  time_point refilled_;
  bool is_open_ = false;
  intrusive_list<waiter> queue_;  // connections in the order in which they began to wait
  std::size_t waiting_ = 0;       // the number of connections in the queue
  tick_timer tick_{*this};        // armed while a task waits
};

/// A connection that waits until it may be read again.
class http_pacer::waiter : public list_hook {
 public:
  waiter(http_pacer& pacer, time_point now) noexcept;
  waiter(const waiter&) = delete;
  auto operator=(const waiter&) -> waiter& = delete;
  ~waiter();

  event comes;

 private:
  friend class http_pacer;
  http_pacer* pacer_;
  time_point since_;
};

}  // namespace braid::detail
