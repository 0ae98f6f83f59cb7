// braid/task/detail/region_offer.hpp: a job that its poster can withdraw as long as it has not begun.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/job.hpp>

#include <cstdint>
#include <exception>
#include <utility>

namespace braid::detail {

/// Work that a thread outside of a pool offers to share with a worker. The thread or the worker frees the offer,
/// whichever uses it last. If a worker finds that the offer was withdrawn, it accesses nothing but the offer. So the
/// thread that has withdrawn the offer need not wait for the worker.
/// Threads: only the thread that takes the job may call `run` and `drop`; only the thread that created the offer may
/// call the other functions. Protocol: docs/design/fork_join.md, "Loops that begin outside"
class region_offer final : public job {
 public:
  using help_fn = void (*)(void* work);

  /// Constructs the offer. `queued` counts the offers that are still in the queue. The counter must outlive these
  /// offers.
  region_offer(help_fn help, void* work, atomic<std::int32_t>& queued) noexcept
      : job(&act), help_(help), work_(work), queued_(queued) {
    queued_.fetch_add(1, relaxed);
  }

  /// Frees the offer, because the pool has refused it.
  void refused() noexcept {
    queued_.fetch_sub(1, relaxed);
    delete this;
  }

  /// Withdraws the offer. Returns true if `help` was not called and will not be called; the queue then frees the offer.
  /// Returns false if `ended` is set or will be set.
  [[nodiscard]] auto try_withdraw() noexcept -> bool {
    return state_.exchange(withdrawn, release) == open;  // edge region_offer.withdrawn: publish, it may be freed
  }

  /// Returns the signal that is set when `help` has returned or the job was dropped.
  [[nodiscard]] auto ended() noexcept -> end_signal& { return ended_; }

  /// Returns the exception that `help` has thrown, or null, and frees the offer. Requires that `ended` is set.
  [[nodiscard]] auto take_failure() noexcept -> std::exception_ptr {
    std::exception_ptr thrown = std::move(thrown_);
    delete this;
    return thrown;
  }

 private:
  static constexpr std::uint32_t open = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t withdrawn = 2;

  static void act(job& self, action request) noexcept {
    auto& mine = static_cast<region_offer&>(self);
    mine.queued_.fetch_sub(1, relaxed);
    // edge region_offer.withdrawn: observe the poster's last use of the offer
    if (mine.state_.exchange(taken, acquire) == withdrawn) return delete &mine;
    if (request == action::run) mine.help();
    mine.ended_.set();
  }

  void help() noexcept {
    try {
      help_(work_);
    } catch (...) {
      thrown_ = std::current_exception();
    }
  }

  const help_fn help_;
  void* const work_;
  atomic<std::int32_t>& queued_;
  std::exception_ptr thrown_;
  // The thread that runs or drops the job writes `taken`; the poster writes `withdrawn`.
  atomic<std::uint32_t> state_{open};
  end_signal ended_;
};

}  // namespace braid::detail
