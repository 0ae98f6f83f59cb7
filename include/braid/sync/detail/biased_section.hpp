// braid/sync/detail/biased_section.hpp: a critical section that is cheap for its owner and expensive for all other
// threads.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/let_others_run.hpp>

#include <cstdint>
#include <utility>

namespace braid::detail {

/// A section that one thread at a time may enter: the owner, or another thread that holds the lock. The owner announces
/// itself and then checks whether another thread wants to enter. The other thread announces itself, calls the barrier's
/// `heavy`, and waits until the owner has left. An owner that finds another thread's announcement queues up for the
/// lock like any other thread. Blocks: `revoke` blocks while the owner is inside, and `own` blocks while another thread
/// is inside. Source: Kawachiya, Koseki, Onodera, "Lock reservation", 2002; the proof for this form is in
/// docs/design/inbox.md.
template <typename Lock>
class biased_section {
 public:
  explicit biased_section(asymmetric_barrier& barrier) noexcept : barrier_(barrier) {}

  /// Calls `fn` inside the section. Only the owner may call this.
  template <typename Fn>
  auto own(Fn&& fn) {
    inside_.store(1, relaxed);
    barrier_.light();
    // edge biased_section.revoked: observe what the last revoker wrote inside the section
    const bool reserved = wanted_.load(acquire) == 0;
    if (!reserved) {
      inside_.store(0, release);  // edge biased_section.owned: publish that nothing was done inside
      lock_.lock();
    }
    const leave_owned leaving{*this, reserved};
    return std::forward<Fn>(fn)();
  }

  /// Calls `fn` inside the section. Any thread except the owner may call this.
  template <typename Fn>
  auto revoke(Fn&& fn) {
    lock_.lock();
    wanted_.store(1, relaxed);
    barrier_.heavy();
    // edge biased_section.owned: observe what the owner wrote inside the section
    while (inside_.load(acquire) != 0) let_others_run();
    const leave_revoked leaving{*this};
    return std::forward<Fn>(fn)();
  }

 private:
  struct leave_owned {
    biased_section& section;
    const bool reserved;
    ~leave_owned() {
      if (reserved)
        // edge biased_section.owned: publish what the owner wrote inside the section, so that the next revoker sees it
        section.inside_.store(0, release);
      else
        section.lock_.unlock();
    }
  };

  struct leave_revoked {
    biased_section& section;
    ~leave_revoked() {
      section.wanted_.store(0, release);  // edge biased_section.revoked: publish what was done inside, for the owner
      section.lock_.unlock();
    }
  };

  asymmetric_barrier& barrier_;
  alignas(cache_line) atomic<std::uint32_t> inside_{0};  // 1 while the owner is inside, or about to; written by it
  alignas(cache_line) atomic<std::uint32_t> wanted_{0};  // 1 while another is inside, or about to; written under lock_
  Lock lock_;
};

}  // namespace braid::detail
