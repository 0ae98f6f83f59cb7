// braid/task/job_slab.hpp: a fixed number of preallocated job slots, with handles, continuations and parent jobs.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/detail/slab_context.hpp>
#include <braid/task/detail/slab_slot.hpp>
#include <braid/task/executor.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// A callable that a slab can run. It is called once, as an lvalue, and is kept so that `result` can read its state.
template <typename Fn>
concept slab_function = std::move_constructible<std::decay_t<Fn>> && std::invocable<std::decay_t<Fn>&>;

}  // namespace detail

/// A set of threads that run jobs, and a fixed number of job slots of 128 bytes. The slots are divided into rings, one
/// for each thread. A callable of up to 80 bytes is stored in its slot, a larger callable on the heap. Nothing else is
/// allocated after `start`. A callable is destroyed when its slot is used again, or with the slab.
/// Threads: any thread may call every member, but jobs must not call `start` and `join`. Threads with their own ring
/// (those of the slab, and the thread that created it) run other jobs while they wait. You may call `stop` and `join`
/// several times. Errors: errc::stale for a handle whose slot was used again; errc::closed after `stop`.
/// Protocol: docs/design/job_slab.md
class BRAID_API job_slab {
 public:
  /// Selects what happens to queued jobs when a slab stops.
  enum class stop_mode : std::uint8_t { drain, drop };

  /// The options of a slab: the numbers of slots and of threads.
  struct options {
    static constexpr unsigned all_threads = 0xffffffff;

    std::size_t jobs_per_thread = 2048;  ///< the number of slots of each thread, and of all foreign threads together
    unsigned threads = all_threads;      ///< the threads to start; all_threads: default_worker_count() less one
    duration idle_sleep = 50us;          ///< how long a thread without a job searches before it sleeps
    /// Selects what `allocate` does if the next slot is in use. A slot is in use until its job and all continuations
    /// have finished, and for a moment after `wait` returns. With `run_inline`, the callable runs at once, and the
    /// handle refers to a finished job whose state is not kept.
    when_full full = when_full::refuse;
  };

  /// A handle to a job of one slab. It may be copied and kept. Once the job's slot is reused, the handle is stale, and
  /// calls with it return errc::stale.
  class handle {
   public:
    handle() noexcept = default;
    [[nodiscard]] auto operator==(const job_slab::handle&) const noexcept -> bool = default;

   private:
    friend class job_slab;
    handle(std::uint32_t slot, std::uint64_t generation) noexcept : slot_(slot), generation_(generation) {}

    std::uint32_t slot_ = detail::no_slot;
    std::uint64_t generation_ = 0;  // without a slot: 0 for no job, 1 for a job that was run inline and has finished
  };

  /// Constructs a slab without starting a thread. The calling thread counts as the thread that created the slab.
  /// Errors: ends the program if there are fewer slots than threads or at least 2^31 slots, or if `full` is `wait`.
  explicit job_slab(options options);
  job_slab() : job_slab(options()) {}
  job_slab(const job_slab&) = delete;
  auto operator=(const job_slab&) -> job_slab& = delete;
  /// Calls `stop(job_slab::stop_mode::drop)` and `join()`.
  ~job_slab();

  /// Starts the threads, which also run jobs that were scheduled before. Errors: errc::closed; errc::invalid_argument
  /// if the slab was already started; throws std::system_error if a thread cannot be started; the slab is stopped then.
  [[nodiscard]] auto start() -> braid::result<void>;

  /// Stores a callable in the next slot of this thread's ring. Errors: errc::full, see `when_full`; exceptions of
  /// copying the callable, and with `run_inline` those of the callable itself. Cost: about 2 ns; a heap allocation if
  /// the callable is larger than 80 bytes.
  template <detail::slab_function Fn>
  [[nodiscard]] auto allocate(Fn&& fn) -> braid::result<handle>;

  /// Queues the job. Errors: errc::invalid_argument if the job is already queued or continues another job.
  /// Cost: about 2 ns; up to microseconds more for a job that another thread has allocated.
  [[nodiscard]] auto schedule(handle job) -> braid::result<void>;

  /// Discards a job that will not be scheduled. Its callable is destroyed at once, its slot may be reused, and its
  /// waiters and dependents get errc::dropped. If you do not call this, an unscheduled job keeps its slot in use until
  /// the end of the slab, and the ring cannot advance past that slot.
  /// Errors: errc::invalid_argument if the job is scheduled or continues another job; errc::finished if it ran inline.
  [[nodiscard]] auto discard(handle job) -> braid::result<void>;

  /// Blocks until the job and all its children have finished.
  /// Errors: exceptions of the job; errc::dropped if a stop came first, or if the job can never run because of a stop.
  [[nodiscard]] auto wait(handle job) -> braid::result<void>;

  /// Returns a copy of the callable after its run. A callable that cannot be copied is moved out, which is possible
  /// only once. Errors: errc::unfinished if the job has not finished; errc::invalid_argument if the callable is not a
  /// `T`; errc::finished if another call has already moved it out; exceptions of the job; errc::dropped. Cost: 0.1 to 2
  /// µs if another thread has allocated the job, or if a `T` is moved.
  template <typename T>
  [[nodiscard]] auto result(handle job) -> braid::result<T>;

  /// Calls `wait`, then `result`.
  template <typename T>
  [[nodiscard]] auto wait_result(handle job) -> braid::result<T>;

  /// Makes `next` run when `first` has finished. `next` must not be scheduled. Jobs that continue the same job run one
  /// after the other in the order of these calls, on one thread. This also applies to continuations that are added
  /// before the last continuation has ended.
  /// Errors: errc::invalid_argument if `next` is scheduled or continues a job; errc::cycle if a search of at most 64
  /// jobs finds that the two jobs would wait for each other.
  [[nodiscard]] auto continue_with(handle first, handle next) -> braid::result<void>;

  /// Makes `child` a child of `parent`: `parent` does not finish before `child` has finished. Both jobs must be
  /// scheduled separately. A child has at most two parents. Errors: errc::finished if the parent has finished;
  /// errc::full if the child already has two parents; errc::cycle under the same condition as for `continue_with`.
  [[nodiscard]] auto finish_with(handle child, handle parent) -> braid::result<void>;

  /// Refuses new jobs. With `drain`, queued jobs are run; with `drop`, they are dropped together with all jobs that
  /// continue them. Returns the number of jobs that have been dropped so far. Running jobs continue. Does not wait for
  /// the threads. With `drain`, if the slab has no threads, `join` runs the jobs that are still queued. A concurrent
  /// call of `schedule` may run jobs itself.
  auto stop(stop_mode mode) -> std::size_t;

  /// Blocks until `stop` was called and the threads have ended. Errors: errc::would_deadlock from a job.
  [[nodiscard]] auto join() -> braid::result<void>;

  /// Returns the number of dropped jobs. The number is final after `join`.
  [[nodiscard]] auto dropped() const noexcept -> std::size_t { return dropped_.load(relaxed); }

  /// Returns the number of threads that the slab starts.
  [[nodiscard]] auto threads() const noexcept -> unsigned { return threads_; }

  /// Returns the number of jobs that a thread has begun. Threads of the slab are numbered from 0; the thread that
  /// created the slab has the last number.
  [[nodiscard]] auto jobs_begun_by(std::size_t thread) const noexcept -> std::uint64_t {
    return contexts_[thread]->ran.load(relaxed);
  }

 private:
  enum class mode : std::uint8_t { open, draining, dropping };
  struct reserved {
    detail::slab_slot* slot = nullptr;  // null if the ring is full
    job_slab::handle handle;
  };
  enum class poll_result : std::uint8_t { nothing, job, finished };
  class looking;

  [[nodiscard]] auto is_closed() const noexcept -> bool { return mode_.load(relaxed) != mode::open; }
  [[nodiscard]] auto find_context() const noexcept -> detail::slab_context* {
    return detail::known_context.slab == id_ ? detail::known_context.context : look_up_context();
  }
  [[nodiscard]] auto look_up_context() const noexcept -> detail::slab_context*;
  [[nodiscard]] auto standing(std::uint32_t slot) const noexcept -> detail::slab_access;
  [[nodiscard]] auto check(handle job) const noexcept -> std::error_code;
  [[nodiscard]] static auto was_inline(handle job) noexcept -> bool { return job.slot_ == detail::no_slot; }
  [[nodiscard]] static auto outcome(std::uint64_t word, const detail::slab_slot& slot) -> braid::result<void>;
  [[nodiscard]] auto leads_to(std::uint32_t from, std::uint32_t to) const noexcept -> bool;

  auto reserve() noexcept -> reserved;
  auto reserve_shared() noexcept -> reserved;
  [[nodiscard]] auto schedule_slowly(handle job) -> braid::result<void>;
  [[nodiscard]] auto wait_slowly(handle job) -> braid::result<void>;
  void push(detail::slab_context* self, std::uint32_t slot) noexcept;
  void push_shared(std::uint32_t slot) noexcept;
  auto take_shared(std::uint32_t& slot) noexcept -> bool;
  auto take_own(detail::slab_context& self, std::uint32_t& slot) noexcept -> bool;
  auto find(detail::slab_context& self, std::uint32_t& slot) noexcept -> bool;
  auto steal(detail::slab_context& self, std::uint32_t& slot) noexcept -> bool;
  auto take_anything(std::uint32_t& slot) noexcept -> bool;
  auto anything_queued() noexcept -> bool;
  auto nothing_will_come() noexcept -> bool;

  void run(std::uint32_t slot) noexcept;
  void run_body(std::uint32_t slot) noexcept;
  void run_followers(std::uint32_t slot) noexcept;
  void settle(std::uint32_t slot, const detail::slab_step& step) noexcept;
  void count_ended_child(std::uint32_t parent) noexcept;

  void work(detail::slab_context& self) noexcept;
  auto look_around(detail::slab_context& self, const detail::slab_slot* until, std::uint32_t& slot,
                   unsigned looks) noexcept -> poll_result;
  auto await_work(detail::slab_context& self, detail::slab_slot* until, std::uint32_t& slot) noexcept -> bool;
  void end_search() noexcept;
  void help_until(detail::slab_context& self, detail::slab_slot& slot) noexcept;
  void block_until(detail::slab_slot& slot) noexcept;
  void run_what_is_left() noexcept;
  void finish_late() noexcept;

  const unsigned threads_;
  const std::uint32_t per_thread_;
  const std::uint32_t slot_count_;
  const duration idle_sleep_;
  const when_full full_;
  const std::uint64_t id_;
  const std::unique_ptr<detail::asymmetric_barrier> own_barrier_;  // on the heap, as a slab may be in a coroutine frame
  detail::asymmetric_barrier& barrier_;
  std::unique_ptr<detail::slab_slot[]> slots_;
  // The contexts of the slab's threads, followed by the context of the thread that created the slab.
  std::vector<std::unique_ptr<detail::slab_context>> contexts_;
  detail::slab_sleepers sleepers_;

  // Padding keeps the following word on its own cache line. An alignment would not work, because a slab may be in the
  // frame of a coroutine.
  [[maybe_unused]] std::array<std::byte, cache_line> before_mode_;
  atomic<mode> mode_{mode::open};  // open, draining, dropping, in this order; written by `stop`
  [[maybe_unused]] std::array<std::byte, cache_line> behind_mode_;
  atomic<std::size_t> dropped_{0};
  atomic<unsigned> sweepers_{0};  // threads in `stop` or `join` that process the queued jobs
  std::mutex shared_ring_;        // serialises allocation by threads that have no ring of their own
  std::uint32_t shared_next_;     // the slot for the next job of those threads
  std::mutex shared_queue_;       // guards jobs of threads without a context, and jobs for which a deque had no room
  std::uint32_t shared_first_ = detail::no_slot;
  std::uint32_t shared_last_ = detail::no_slot;
  atomic<std::size_t> shared_size_{0};  // the number of these jobs; written under the lock
  std::mutex join_lock_;                // guards `join` and the start of the threads
  bool started_ = false;
  std::vector<std::thread> running_;
};

namespace detail {

/// Runs or destroys a callable that is stored in its slot.
template <typename T>
void act_in_slot(slab_slot& slot, slab_action request) {
  T& fn = *std::launder(reinterpret_cast<T*>(slot.payload.data()));
  if (request == slab_action::run)
    static_cast<void>(std::invoke(fn));
  else
    std::destroy_at(&fn);
}

/// Runs or destroys a callable that is stored on the heap.
template <typename T>
void act_on_heap(slab_slot& slot, slab_action request) {
  T* const fn = *std::launder(reinterpret_cast<T**>(slot.payload.data()));
  if (request == slab_action::run)
    static_cast<void>(std::invoke(*fn));
  else
    delete fn;
}

template <typename T>
inline constexpr bool fits_in_slot = sizeof(T) <= slab_slot::room && alignof(T) <= 16;

/// Constructs the callable in an empty slot.
template <typename T, typename Fn>
void fill_slot(slab_slot& slot, Fn&& fn) {
  if constexpr (fits_in_slot<T>) {
    std::construct_at(reinterpret_cast<T*>(slot.payload.data()), std::forward<Fn>(fn));
    slot.act = &act_in_slot<T>;
    slot.owns = std::is_trivially_destructible_v<T> ? 0 : 1;
  } else {
    std::construct_at(reinterpret_cast<T**>(slot.payload.data()), new T(std::forward<Fn>(fn)));
    slot.act = &act_on_heap<T>;
    slot.owns = 1;
  }
}

/// Returns the callable if it is a `T`, otherwise null.
template <typename T>
auto find_callable(slab_slot& slot) noexcept -> T* {
  if constexpr (fits_in_slot<T>)
    return slot.act == &act_in_slot<T> ? std::launder(reinterpret_cast<T*>(slot.payload.data())) : nullptr;
  else
    return slot.act == &act_on_heap<T> ? *std::launder(reinterpret_cast<T**>(slot.payload.data())) : nullptr;
}

}  // namespace detail

/// A guard that keeps the slot of a job unchanged while this thread reads it.
class BRAID_API job_slab::looking {
 public:
  looking(job_slab& slab, job_slab::handle job) noexcept;
  looking(const looking&) = delete;
  auto operator=(const looking&) -> looking& = delete;
  ~looking();

  [[nodiscard]] auto refused() const noexcept -> errc { return refused_; }
  [[nodiscard]] auto slot() const noexcept -> detail::slab_slot& { return slab_.slots_[frame_.slot]; }

 private:
  job_slab& slab_;
  detail::slab_context* const own_;  // set if the slot belongs to this thread's ring
  detail::slab_frame frame_;
  errc refused_{};
};

inline auto job_slab::reserve() noexcept -> reserved {
  detail::slab_context* const self = find_context();
  if (self == nullptr) [[unlikely]]
    return reserve_shared();
  const std::uint32_t number = self->next;
  for (const auto* frame = self->frames; frame != nullptr; frame = frame->outer)
    if (frame->slot == number) return {};
  detail::slab_slot& slot = slots_[number];
  const std::uint64_t generation = slot.try_reuse(barrier_, detail::slab_access::bias_owner);
  if (generation == 0) return {};
  self->next = number + 1 == self->end ? self->first : number + 1;
  detail::destroy_callable(slot);  // may allocate, so the ring was advanced before
  return {&slot, {number, generation}};
}

inline void job_slab::push(detail::slab_context* self, std::uint32_t slot) noexcept {
  if (self == nullptr || !self->jobs.try_push(slot)) [[unlikely]]
    push_shared(slot);
  barrier_.light();
  if (sleepers_.wants_wake()) [[unlikely]]
    sleepers_.wake_one();
}

inline auto job_slab::schedule(job_slab::handle job) -> braid::result<void> {
  detail::slab_context* const self = find_context();
  if (self == nullptr || !self->owns(job.slot_) || is_closed()) [[unlikely]]
    return schedule_slowly(job);
  detail::slab_slot& slot = slots_[job.slot_];
  if (!slot.is_allocated(job.generation_)) [[unlikely]]
    return schedule_slowly(job);
  const auto as = detail::slab_access::bias_owner;
  const errc refused = slot.claim(barrier_, job.generation_, detail::slab_phase::queued, as);
  if (refused != errc{}) [[unlikely]]
    return fail(refused);
  push(self, job.slot_);
  if (is_closed()) [[unlikely]]
    finish_late();
  return {};
}

inline auto job_slab::wait(job_slab::handle job) -> braid::result<void> {
  if (job.slot_ < slot_count_ && slots_[job.slot_].is_done(job.generation_)) [[likely]]
    return {};
  return wait_slowly(job);
}

template <detail::slab_function Fn>
auto job_slab::allocate(Fn&& fn) -> braid::result<job_slab::handle> {
  using callable = std::decay_t<Fn>;
  if (is_closed()) [[unlikely]]
    return fail(errc::closed);
  const reserved place = reserve();
  if (place.slot == nullptr) [[unlikely]] {
    if (full_ == when_full::refuse) return fail(errc::full);
    callable inlined(std::forward<Fn>(fn));
    static_cast<void>(std::invoke(inlined));
    return job_slab::handle(detail::no_slot, 1);
  }
  try {
    detail::fill_slot<callable>(*place.slot, std::forward<Fn>(fn));
  } catch (...) {
    place.slot->abandon(place.handle.generation_);
    throw;
  }
  place.slot->open(place.handle.generation_);
  return place.handle;
}

template <typename T>
auto job_slab::result(job_slab::handle job) -> braid::result<T> {
  if (const std::error_code wrong = check(job)) return fail(wrong);
  if (was_inline(job)) return fail(errc::stale);
  const looking place(*this, job);
  if (place.refused() != errc{}) return fail(place.refused());
  const std::uint64_t word = place.slot().word();
  if (!detail::slab_slot::is_finished(word)) return fail(errc::unfinished);
  if (const auto ended = outcome(word, place.slot()); !ended) return fail(ended.error());
  T* const state = detail::find_callable<T>(place.slot());
  if (state == nullptr) return fail(errc::invalid_argument);
  if constexpr (std::copy_constructible<T>) {
    return std::as_const(*state);
  } else {
    if (!place.slot().try_take(barrier_)) return fail(errc::finished);
    return std::move(*state);
  }
}

template <typename T>
auto job_slab::wait_result(job_slab::handle job) -> braid::result<T> {
  if (const std::error_code wrong = check(job)) return fail(wrong);
  if (was_inline(job)) return fail(errc::stale);
  const looking place(*this, job);  // no thread uses the slot again between the two
  if (const auto ended = wait(job); !ended) return fail(ended.error());
  return result<T>(job);
}

}  // namespace braid
