// rankd/server/admission/admission_gate.hpp: admits as many requests as the server can handle well, queues some more
// requests, and refuses all others.
#pragma once

#include <rankd/server/admission/concurrency_limit.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace rankd {

struct admission_options {
  std::size_t max_under_way = 256;  ///< the maximum of the adaptive limit
  std::size_t queue = 4096;         ///< the number of requests that wait for their turn; further requests are refused
  /// The maximum time that a request may wait. A new request is refused if the first request in the queue has already
  /// waited this long. It is also refused if it would probably wait this long itself.
  braid::duration max_wait = std::chrono::milliseconds(50);
};

/// The counts of a gate since its start, and the numbers of requests that are running and waiting now.
struct admission_counts {
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;  ///< requests for which the queue had no room
  std::uint64_t late = 0;     ///< requests whose deadline passed while they waited
  std::size_t under_way = 0;
  std::size_t waiting = 0;
  std::size_t limit = 0;
};

/// Admits the requests of one loop in the order of their arrival. docs/design/admission.md describes the protocol.
/// Threads: the loop's thread. Lifetime: outlives its passes and waiting requests.
class admission_gate {
  struct waiter;

 public:
  class pass;

  explicit admission_gate(admission_options options) noexcept : options_(options), limit_(options.max_under_way) {}
  admission_gate(const admission_gate&) = delete;
  auto operator=(const admission_gate&) -> admission_gate& = delete;

  /// Returns whether a request that arrives now would be refused. If so, counts the request as refused.
  [[nodiscard]] auto refuses(braid::time_point now) noexcept -> bool;

  /// Admits a request. If necessary, waits until it can be admitted, at most until `deadline`. Errors: errc::full,
  /// errc::deadline_exceeded.
  [[nodiscard]] auto enter(braid::time_point now, braid::time_point deadline) -> braid::task<braid::result<pass>>;

  /// Admits a request at once. Returns nothing if other requests are ahead in the queue, or if the limit is reached.
  [[nodiscard]] auto try_enter() noexcept -> std::optional<pass>;

  /// Returns the number of requests that would be admitted at once now.
  [[nodiscard]] auto free_permits() const noexcept -> std::size_t;

  /// Adjusts the limit according to the time that an ended request has taken (see `concurrency_limit`).
  void note(double slowdown, const pass& ended) noexcept;

  [[nodiscard]] auto counts() const noexcept -> admission_counts;

 private:
  void leave() noexcept;
  void let_in() noexcept;
  void learn_pace(braid::time_point now) noexcept;
  void nobody_waits() noexcept;

  admission_options options_;
  concurrency_limit limit_;
  braid::intrusive_list<waiter> queue_;
  std::size_t waiting_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t admitted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t late_ = 0;

  // The following members measure periods in which at least one request waits:
  std::uint64_t admissions_ = 0;         // admissions of requests that waited
  std::uint64_t admissions_before_ = 0;  // the value of `admissions_` at the start of this measurement
  braid::time_point measured_from_;      // when this measurement started
  bool measures_ = false;
  double time_per_admission_ = 0;  // nanoseconds; 0 while it is unknown
};

/// The permit of a running request. Destroying this object releases the permit.
class [[nodiscard]] admission_gate::pass {
 public:
  pass(pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)), beside_(other.beside_) {}
  auto operator=(pass&&) -> pass& = delete;
  ~pass() {
    if (gate_ != nullptr) gate_->leave();
  }

 private:
  friend class admission_gate;
  explicit pass(admission_gate& gate) noexcept : gate_(&gate), beside_(gate.under_way_) {}

  admission_gate* gate_;
  std::size_t beside_;  // the number of requests that ran when the permit was issued, including this one
};

struct admission_gate::waiter : braid::list_hook {
  waiter(admission_gate& g, braid::time_point now) noexcept : gate(&g), since(now) {
    gate->queue_.push_back(*this);
    ++gate->waiting_;
  }
  waiter(const waiter&) = delete;
  auto operator=(const waiter&) -> waiter& = delete;
  /// If the waiter was stopped after it had got the permit, passes the permit on.
  ~waiter() {
    if (is_linked()) {
      unlink();
      if (--gate->waiting_ == 0) gate->nobody_waits();
    } else if (holds_permit) {
      gate->leave();
    }
  }

  admission_gate* gate;
  braid::time_point since;
  braid::event granted;
  bool holds_permit = false;
};

}  // namespace rankd
