// braid/task/detail/slab_slot.hpp: one slot of a job slab: the phases of a job, and the jobs that depend on its end.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/slab_lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace braid::detail {

/// The phase of a slot's job; the lowest bits of the slot's word.
enum class slab_phase : std::uint8_t {
  unused = 0,     ///< the slot was never used
  allocated = 1,  ///< a handle exists
  promised = 2,   ///< it continues another job
  queued = 3,     ///< scheduled, or running
  ran = 4,        ///< the callable has ended, and children have not finished
  making = 5,     ///< claimed for a new job, whose callable is not constructed yet
  followed = 8,   ///< finished; jobs that continue it are waiting or running
  done = 9,       ///< finished; the slot may be used again
};

enum class slab_action : std::uint8_t { run, destroy };

/// The kind of thread that locks a slot: the bias owner of its lock (`bias_owner`), or another thread.
enum class slab_access : std::uint8_t { bias_owner, other };

/// A number that no slot has. It stands for "no slot".
inline constexpr std::uint32_t no_slot = 0xffffffff;

/// The work that is left for the caller after a step of a job. At that time, the slot may already be reused.
struct slab_step {
  errc refused{};                                          ///< 0 if the step was made
  bool finished = false;                                   ///< true if this step has finished the job
  bool followed = false;                                   ///< true if the jobs that continue it must be queued
  bool waited = false;                                     ///< a thread sleeps until the job is finished
  std::array<std::uint32_t, 2> parents{no_slot, no_slot};  ///< the parents that a finished job kept from finishing

  [[nodiscard]] auto is_more() const noexcept -> bool {
    return followed || waited || parents[0] != no_slot || parents[1] != no_slot;
  }
};

/// A job, with room for its callable. All fields except `pending` change only under the lock. The word and the links
/// may be read without the lock. docs/design/job_slab.md describes the bias of the lock.
class alignas(cache_line) slab_slot {
 public:
  static constexpr std::size_t room = 80;
  static constexpr std::uint64_t failed = 0x10;   ///< a mark in the word: the callable has thrown
  static constexpr std::uint64_t dropped = 0x20;  ///< a mark in the word: the callable was not run
  static constexpr std::uint64_t taken = 0x40;    ///< a mark in the word: the callable was moved out as the result

  using act_fn = void (*)(slab_slot&, slab_action);

  /// Prepares a slot that several threads may allocate. Call it before other threads can access the slot.
  void share() noexcept { lock_.revoke(); }

  static auto phase_of(std::uint64_t word) noexcept -> slab_phase { return static_cast<slab_phase>(word & 0xf); }
  static auto generation_of(std::uint64_t word) noexcept -> std::uint64_t { return word >> 8U; }
  static auto is_finished(std::uint64_t word) noexcept -> bool { return (word & 0x8) != 0; }

  /// Returns the slot's word. If the word shows that the job has finished, everything that the job has written is
  /// visible.
  [[nodiscard]] auto word() const noexcept -> std::uint64_t {
    return word_.load(acquire);  // edge slab_slot.word: observe what the job has done, and the fields of its phase
  }

  [[nodiscard]] auto is_allocated(std::uint64_t generation) const noexcept -> bool {
    return word() == word_of(generation, slab_phase::allocated);
  }
  /// Returns whether the job has finished normally and has no continuation.
  [[nodiscard]] auto is_done(std::uint64_t generation) const noexcept -> bool {
    return word() == word_of(generation, slab_phase::done);
  }

  // --- Functions for the thread that allocates the slot. ---

  /// Claims the slot for a new job if the last job is done and no thread reads its result. Returns the new generation,
  /// or 0 if the slot cannot be claimed. After a success, the caller destroys the old callable, constructs the new
  /// callable, and calls `open`.
  [[nodiscard]] auto try_reuse(asymmetric_barrier& barrier, slab_access as) noexcept -> std::uint64_t;
  void open(std::uint64_t generation) noexcept { set(generation, slab_phase::allocated); }
  /// Releases a claimed slot without a callable. Called instead of `open`.
  void abandon(std::uint64_t generation) noexcept { set(generation, slab_phase::done); }

  // --- Functions for any holder of a handle. ---

  /// Changes a job from `allocated` to `queued` or `promised`.
  [[nodiscard]] auto claim(asymmetric_barrier& barrier, std::uint64_t generation, slab_phase to,
                           slab_access as) noexcept -> errc;
  /// Undoes `claim`.
  void unclaim(asymmetric_barrier& barrier) noexcept;

  /// Adds `next`, whose phase must be `promised`, to the jobs that continue this job. If `followed` is set in the
  /// result, the caller must queue the slot, because the earlier continuations have already run.
  [[nodiscard]] auto append(asymmetric_barrier& barrier, std::uint64_t generation, std::uint32_t next, slab_slot* slots,
                            slab_access as) noexcept -> slab_step;

  /// Adds a child. This job will not finish before the child has ended.
  [[nodiscard]] auto add_child(asymmetric_barrier& barrier, std::uint64_t generation, slab_access as) noexcept -> errc;
  /// Makes this job a child of `parent`, whose count of children already includes this job. Returns errc::finished if
  /// this job has finished.
  [[nodiscard]] auto add_parent(asymmetric_barrier& barrier, std::uint64_t generation, std::uint32_t parent,
                                slab_access as) noexcept -> errc;

  /// Prevents reuse of the slot. Returns 0, or errc::stale for an old handle.
  [[nodiscard]] auto pin(asymmetric_barrier& barrier, std::uint64_t generation, slab_access as) noexcept -> errc;
  void unpin(asymmetric_barrier& barrier) noexcept;
  /// Records that a thread waits for the job. The thread that finishes the job will then wake waiters. Returns false if
  /// the job has already finished. Requires that the slot is pinned.
  [[nodiscard]] auto announce_waiter(asymmetric_barrier& barrier) noexcept -> bool;

  /// Passes the callable of a finished, pinned job to the caller. Returns false if an earlier call has already done so.
  [[nodiscard]] auto try_take(asymmetric_barrier& barrier) noexcept -> bool;

  // --- Functions for the thread that runs or drops the job. ---

  /// Records that the callable has returned or will not run. `marks` is `failed`, `dropped` or 0.
  [[nodiscard]] auto end_body(asymmetric_barrier& barrier, std::uint64_t marks) noexcept -> slab_step;
  /// Records that a child has ended.
  [[nodiscard]] auto end_child(asymmetric_barrier& barrier) noexcept -> slab_step;
  /// Removes the continuations that were added since the last call, and returns them as a list linked by `link`. If
  /// there are no such continuations, returns `no_slot`; the phase of the slot is then `done`, and the slot no longer
  /// belongs to the caller.
  [[nodiscard]] auto take_followers(asymmetric_barrier& barrier) noexcept -> std::uint32_t;

  // --- The links, which are used for lists and for the search for cycles. ---

  [[nodiscard]] auto link() const noexcept -> std::uint32_t { return link_.load(relaxed); }
  void set_link(std::uint32_t next) noexcept { link_.store(next, relaxed); }
  [[nodiscard]] auto first_follower() const noexcept -> std::uint32_t { return first_.load(relaxed); }
  [[nodiscard]] auto parent(std::size_t index) const noexcept -> std::uint32_t { return parents_[index].load(relaxed); }

 private:
  class section;
  static constexpr std::uint64_t kept_marks = failed | dropped | taken;

  static auto word_of(std::uint64_t generation, slab_phase phase) noexcept -> std::uint64_t {
    return generation << 8U | static_cast<std::uint64_t>(phase);
  }
  void set(std::uint64_t generation, slab_phase phase, std::uint64_t marks = 0) noexcept {
    // edge slab_slot.word: publish the fields of the phase and what the job has written
    word_.store(word_of(generation, phase) | marks, release);
  }
  [[nodiscard]] auto refusal(std::uint64_t generation) const noexcept -> errc;
  auto end_alone(asymmetric_barrier& barrier) noexcept -> bool;
  auto end_tied(asymmetric_barrier& barrier, std::uint64_t marks) noexcept -> slab_step;
  auto finish(std::uint64_t marks) noexcept -> slab_step;

  atomic<std::uint64_t> word_{0};  // 56 bits of generation, 4 bits of marks, 4 bits of phase
  slab_lock lock_;
  std::uint16_t pins_ = 0;     // threads that wait for the job or copy its result
  std::uint8_t waited_ = 0;    // 1 once a thread sleeps until the job is finished
  std::uint8_t has_more_ = 0;  // 1 once there is a waiter, a parent, or a child

 public:
  std::uint8_t owns = 0;  ///< 1: `act` has something to destroy; written by the allocating and the running thread
  act_fn act = nullptr;   ///< runs or destroys the content of `payload`; written by the same threads

 private:
  atomic<std::uint32_t> pending_{1};  // the callable and the children that have not ended; 1 again when it is finished
  atomic<std::uint32_t> link_{no_slot};   // the next slot in the only list that contains it
  atomic<std::uint32_t> first_{no_slot};  // the list of the jobs that continue this job and have not been removed
  atomic<std::uint32_t> last_{no_slot};
  std::array<atomic<std::uint32_t>, 2> parents_{no_slot, no_slot};

 public:
  /// The callable, the address of the callable on the heap, or the exception that it has thrown.
  alignas(16) std::array<std::byte, room> payload;
};

#if !defined(BRAID_MODEL)
static_assert(sizeof(slab_slot) == 128, "a slot must have the size of two cache lines of 64 bytes");
#endif

/// A guard that holds the lock of a slot.
class slab_slot::section {
 public:
  [[gnu::always_inline]] section(slab_slot& slot, asymmetric_barrier& barrier, slab_access as) noexcept
      : lock_(slot.lock_) {
    if (as == slab_access::bias_owner)
      by_bias_ = lock_.enter(barrier);
    else
      lock_.lock(barrier);
  }
  section(const section&) = delete;
  auto operator=(const section&) -> section& = delete;
  [[gnu::always_inline]] ~section() {
    if (by_bias_)
      lock_.leave();
    else
      lock_.unlock();
  }

 private:
  slab_lock& lock_;
  bool by_bias_ = false;
};

[[gnu::always_inline]] inline auto slab_slot::try_reuse(asymmetric_barrier& barrier, slab_access as) noexcept
    -> std::uint64_t {
  const std::uint64_t seen = word();
  const slab_phase phase = phase_of(seen);
  if (phase != slab_phase::done && phase != slab_phase::unused) return 0;
  while (!lock_.is_left()) let_others_run();  // the thread that set `done` will leave soon
  bool by_bias = false;
  if (as == slab_access::bias_owner)
    by_bias = lock_.enter(barrier);
  else
    lock_.lock(barrier);
  // The phase is checked again under the lock, because another thread may have added a continuation to the finished
  // job.
  const bool free = pins_ == 0 && word_.load(relaxed) == seen;
  const std::uint64_t generation = generation_of(seen) + 1;
  if (free) set(generation, slab_phase::making);
  if (by_bias)
    lock_.leave();
  else if (free && as == slab_access::bias_owner)
    lock_.unlock_and_rebias();
  else
    lock_.unlock();
  return free ? generation : 0;
}

/// Returns errc::stale if the generation of a handle is not the generation of the slot. Called under the lock.
inline auto slab_slot::refusal(std::uint64_t generation) const noexcept -> errc {
  return generation_of(word_.load(relaxed)) == generation ? errc{} : errc::stale;
}

[[gnu::always_inline]] inline auto slab_slot::claim(asymmetric_barrier& barrier, std::uint64_t generation,
                                                    slab_phase to, slab_access as) noexcept -> errc {
  const section inside(*this, barrier, as);
  if (refusal(generation) != errc{}) return errc::stale;
  if (phase_of(word_.load(relaxed)) != slab_phase::allocated) return errc::invalid_argument;
  set(generation, to);
  if (to == slab_phase::promised) lock_.revoke();
  return {};
}

/// Finishes the job. Called under the lock when the callable and all children have ended. Resets the fields for the
/// next job, and returns the work that remains for the caller.
inline auto slab_slot::finish(std::uint64_t marks) noexcept -> slab_step {
  slab_step left{.finished = true, .followed = first_.load(relaxed) != no_slot};
  const std::uint64_t seen = word_.load(relaxed);
  if (has_more_) [[unlikely]] {
    has_more_ = 0;
    left.waited = std::exchange(waited_, 0) != 0;
    for (std::size_t i = 0; i < left.parents.size(); ++i) left.parents[i] = parents_[i].exchange(no_slot, relaxed);
    pending_.store(1, relaxed);
  }
  set(generation_of(seen), left.followed ? slab_phase::followed : slab_phase::done, marks | (seen & kept_marks));
  return left;
}

/// Finishes a job on which no other job depends. If a job depends on it, returns false and changes nothing.
[[gnu::always_inline]] inline auto slab_slot::end_alone(asymmetric_barrier& barrier) noexcept -> bool {
  if (!lock_.enter(barrier)) [[unlikely]] {
    lock_.unlock();
    return false;
  }
  const bool alone = has_more_ == 0 && first_.load(relaxed) == no_slot;
  if (alone) set(generation_of(word_.load(relaxed)), slab_phase::done);
  lock_.leave();
  return alone;
}

[[gnu::always_inline]] inline auto slab_slot::end_body(asymmetric_barrier& barrier, std::uint64_t marks) noexcept
    -> slab_step {
  if (marks == 0 && end_alone(barrier)) [[likely]]
    return {.finished = true};
  return end_tied(barrier, marks);
}

[[gnu::noinline]] inline auto slab_slot::end_tied(asymmetric_barrier& barrier, std::uint64_t marks) noexcept
    -> slab_step {
  {
    const section inside(*this, barrier, slab_access::bias_owner);
    // If the count is 1, no children are pending, and no thread can add a child, because that requires the lock.
    // edge slab_slot.ended: observe what the children have written
    if (pending_.load(acquire) == 1) return finish(marks);
    set(generation_of(word_.load(relaxed)), slab_phase::ran, marks);
  }
  return end_child(barrier);  // outside, because the thread that ends last is the bias owner from then on
}

inline auto slab_slot::end_child(asymmetric_barrier& barrier) noexcept -> slab_step {
  if (pending_.fetch_sub(1, acq_rel) != 1) return {};  // edge slab_slot.ended: both, the last one sees all results
  const section inside(*this, barrier, slab_access::bias_owner);
  return finish(0);
}

inline auto slab_slot::take_followers(asymmetric_barrier& barrier) noexcept -> std::uint32_t {
  const section inside(*this, barrier, slab_access::bias_owner);
  const std::uint32_t first = first_.load(relaxed);
  first_.store(no_slot, relaxed);
  const std::uint64_t seen = word_.load(relaxed);
  if (first == no_slot) set(generation_of(seen), slab_phase::done, seen & kept_marks);
  return first;
}

inline void slab_slot::unclaim(asymmetric_barrier& barrier) noexcept {
  const section inside(*this, barrier, slab_access::other);
  set(generation_of(word_.load(relaxed)), slab_phase::allocated);
}

inline auto slab_slot::append(asymmetric_barrier& barrier, std::uint64_t generation, std::uint32_t next,
                              slab_slot* slots, slab_access as) noexcept -> slab_step {
  const section inside(*this, barrier, as);
  if (refusal(generation) != errc{}) return {.refused = errc::stale};
  slots[next].set_link(no_slot);
  if (first_.load(relaxed) == no_slot)
    first_.store(next, relaxed);
  else
    slots[last_.load(relaxed)].set_link(next);
  last_.store(next, relaxed);
  const std::uint64_t seen = word_.load(relaxed);
  if (phase_of(seen) != slab_phase::done) return {};
  set(generation, slab_phase::followed, seen & kept_marks);
  return {.followed = true};
}

inline auto slab_slot::add_child(asymmetric_barrier& barrier, std::uint64_t generation, slab_access as) noexcept
    -> errc {
  const section inside(*this, barrier, as);
  if (refusal(generation) != errc{}) return errc::stale;
  if (is_finished(word_.load(relaxed))) return errc::finished;
  // The count may be 0 before the phase is `done`: the last child has ended, and its thread is about to lock the slot.
  std::uint32_t seen = pending_.load(relaxed);
  do {
    if (seen == 0) return errc::finished;
  } while (!pending_.compare_exchange_weak(seen, seen + 1, relaxed, relaxed));
  has_more_ = 1;
  return {};
}

inline auto slab_slot::add_parent(asymmetric_barrier& barrier, std::uint64_t generation, std::uint32_t parent,
                                  slab_access as) noexcept -> errc {
  const section inside(*this, barrier, as);
  if (refusal(generation) != errc{}) return errc::stale;
  if (is_finished(word_.load(relaxed))) return errc::finished;
  for (auto& place : parents_) {
    if (place.load(relaxed) != no_slot) continue;
    place.store(parent, relaxed);
    has_more_ = 1;
    return {};
  }
  return errc::full;
}

inline auto slab_slot::pin(asymmetric_barrier& barrier, std::uint64_t generation, slab_access as) noexcept -> errc {
  const section inside(*this, barrier, as);
  if (refusal(generation) != errc{}) return errc::stale;
  if (pins_ == 0xffff) return errc::full;
  ++pins_;
  return {};
}

inline void slab_slot::unpin(asymmetric_barrier& barrier) noexcept {
  const section inside(*this, barrier, slab_access::other);
  --pins_;
}

inline auto slab_slot::try_take(asymmetric_barrier& barrier) noexcept -> bool {
  const section inside(*this, barrier, slab_access::other);
  const std::uint64_t seen = word_.load(relaxed);
  if ((seen & taken) != 0) return false;
  set(generation_of(seen), phase_of(seen), (seen & kept_marks) | taken);
  return true;
}

inline auto slab_slot::announce_waiter(asymmetric_barrier& barrier) noexcept -> bool {
  const section inside(*this, barrier, slab_access::other);
  if (is_finished(word_.load(relaxed))) return false;
  waited_ = 1;
  has_more_ = 1;
  return true;
}

inline void destroy_callable(slab_slot& slot) noexcept {
  if (slot.owns == 0) return;
  slot.owns = 0;
  slot.act(slot, slab_action::destroy);
}

}  // namespace braid::detail
