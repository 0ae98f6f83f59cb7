// braid/task/detail/slab_context.hpp: the data of each thread of a job slab, and the list of its sleeping threads.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/event_count.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/detail/slab_deque.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace braid::detail {

/// A guard that prevents reuse of a slot of the thread's own ring while a call on this thread still reads the slot. No
/// other thread allocates slots from that ring, so no lock is needed.
struct slab_frame {
  std::uint32_t slot;
  slab_frame* outer;
};

/// Decides whether to steal jobs from another thread. A thread is quick if it begins jobs at short intervals. Jobs of a
/// quick thread are not stolen: a short job ends earlier on its own thread, because moving it to another processor
/// takes longer than running it. A thread that queues jobs still counts as quick if it has begun no job for a few
/// microseconds. Only one thread is watched at a time. When it is known whether this thread is quick, the next thread
/// is watched.
class slab_watch {
 public:
  /// Returns the index at which a sweep over `others` contexts begins.
  [[nodiscard]] auto find_first(std::size_t others) const noexcept -> std::size_t {
    return (other_ + (is_known_ ? 1 : 0)) % others;
  }

  /// Returns true if the other thread has begun jobs, or queued jobs, at short intervals since the last call. Also
  /// returns true if it is not known yet whether this is the case.
  [[nodiscard]] auto is_quick(std::size_t other, std::uint64_t begun, std::uint64_t queued) noexcept -> bool;

  /// Records that the thread has stolen jobs and runs them next. The steal lasted from `begin` until now.
  void has_stolen(time_point begin) noexcept;

 private:
  auto pays(time_point now) noexcept -> bool;

  static constexpr duration between_looks = 1us;
  static constexpr duration short_job = 100ns;
  static constexpr duration patience = 20us;  // the time for which a thread counts as quick after its last begun job
  static constexpr duration max_backoff = 200us;

  std::size_t other_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t queued_ = 0;
  time_point looked_;      // when `begun_` and `queued_` were read
  time_point worked_;      // when the thread was last seen to begin jobs
  bool answer_ = false;    // valid until the next poll
  bool is_known_ = false;  // the same thread was watched twice in a row
  time_point stole_;       // when this thread last stole jobs; unset once the benefit of that steal was judged
  duration way_{};         // the duration of that steal
  duration backoff_{};     // how long this thread steals no jobs from active threads; 0 if the last steal paid off
  time_point backs_off_until_;
};

/// The data of one thread of the slab, or of the thread that created the slab.
struct alignas(cache_line) slab_context {
  slab_context(std::uint32_t first_slot, std::uint32_t slots, asymmetric_barrier& barrier)
      : first(first_slot), end(first_slot + slots), next(first_slot), jobs(slots, barrier) {}

  [[nodiscard]] auto owns(std::uint32_t slot) const noexcept -> bool { return slot >= first && slot < end; }

  const std::uint32_t first;  // the first slot of the thread's ring [first, end)
  const std::uint32_t end;
  std::uint32_t next;                // the slot of the next job
  std::uint32_t depth = 0;           // the number of calls on this thread's stack that run jobs
  slab_frame* frames = nullptr;      // the slots that calls on this thread's stack are reading
  atomic<std::uint64_t> ran{0};      // the number of jobs that this thread has begun; written by it
  atomic<std::uint32_t> working{0};  // 1 while this thread searches for jobs or runs one; written by it
  slab_watch watch;                  // watches the context from which this thread may steal
  bool leaves_alone = false;         // true if this thread has just not stolen the short jobs of another thread
  slab_deque<> jobs;
  alignas(cache_line) parker place;
  atomic<std::uint64_t> thread{0};    // the number of the thread, which writes it before it runs any job
  slab_context* next_idle = nullptr;  // guarded by the lock of slab_sleepers, like `listed`
  bool listed = false;
};

/// The result of a thread's last lookup of its context: the number of the slab, and the context. The context is null if
/// the thread has no context in that slab.
struct known_slab_context {
  std::uint64_t slab;
  slab_context* context;
};
extern BRAID_API constinit thread_local known_slab_context known_context __attribute__((tls_model("initial-exec")));

/// The idle list of a slab, which stores whether its threads sleep, search or are busy. Threads do the following steps:
///
///   to post a job: queue the job; light(); wake a thread if `wants_wake` returns true
///   to sleep: add the thread to the list; heavy(); poll again; sleep
///   when a search has found a job: end the search; heavy(); wake a thread if there are more jobs
///
/// Protocol: docs/design/job_slab.md
class BRAID_API slab_sleepers {
 public:
  /// Returns whether a thread sleeps and no searching thread would find a new job.
  [[nodiscard]] auto wants_wake() const noexcept -> bool { return wants_wake_.load(relaxed) != 0; }

  void wake_one() noexcept;
  /// Wakes all threads. Each thread then checks its condition again.
  void wake_all() noexcept;

  /// Counts the calling thread as searching, because it has no job.
  void begin_search() noexcept;
  /// Ends the search of a thread that has found a job. Returns true if other threads sleep.
  [[nodiscard]] auto end_search() noexcept -> bool;

  /// Puts a searching thread to sleep. `stays()` is called after the thread has been added to the list; if it returns
  /// true, the thread does not sleep. When this function returns, the thread counts as searching again.
  template <typename Fn>
  void sleep(slab_context& self, asymmetric_barrier& barrier, Fn&& stays) {
    list(self);
    self.working.store(0, release);  // edge slab_context.working: publish what this thread did before it went idle
    barrier.heavy();
    if (!stays()) self.place.park();
    self.working.store(1, relaxed);
    barrier.light();  // before this thread searches for jobs
    unlist(self);
  }

  event_count outside;  ///< wakes threads that have no context

 private:
  void list(slab_context& self) noexcept;
  void unlist(slab_context& self) noexcept;
  void update() noexcept { wants_wake_.store(idle_ != nullptr && searching_ == 0 ? 1 : 0, relaxed); }

  // Padding keeps the following word on its own cache line. An alignment would not work, because a slab may be in the
  // frame of a coroutine.
  [[maybe_unused]] std::array<std::byte, cache_line> before_wakes_;
  atomic<std::uint32_t> wants_wake_{0};  // written under the lock
  [[maybe_unused]] std::array<std::byte, cache_line> behind_wakes_;
  std::mutex lock_;
  slab_context* idle_ = nullptr;  // threads that sleep or are about to sleep, and were not woken
  unsigned searching_ = 0;        // the number of awake threads without a job, including woken threads
};

}  // namespace braid::detail
