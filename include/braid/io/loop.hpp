// braid/io/loop.hpp: the event loop, and awaitables that wait for a descriptor on it.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/base/error.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/io/backend.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/remote_stack.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/job_times.hpp>
#include <braid/task/executor.hpp>
#include <braid/trace/detail/time_histogram.hpp>

#include <sys/types.h>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace braid {

namespace detail {
class loop_driver;
class open_descriptor;
struct metrics_reader;
}  // namespace detail

/// An event loop. It runs on the thread that calls `run`. Its states are idle → starting → running → stopping →
/// stopped.
/// Work that is posted or spawned before the loop runs is queued until the loop runs. `stop` stops the tasks, refuses
/// new posts, runs all accepted work, and ends `run`. A loop that is stopped or destroyed before it runs drops the
/// queued work.
/// Threads: the loop's thread. Other threads may call only `try_post`, `post_resumption`, `stop` and `status`.
class BRAID_API loop final : public home {
 public:
  /// The options of a loop.
  struct options {
    const clock_source* clock = nullptr;  ///< null: the system's monotonic clock
    io_backend::kind backend = io_backend::kind::automatic;
    /// The error callback, which receives exceptions of posted jobs and spawned tasks. Without a callback, the
    /// exception's message goes to stderr.
    error_callback on_error = {};
  };

  enum class state : std::uint8_t { idle, starting, running, stopping, stopped };

  /// Creates a loop. Errors: the errors of `io_backend::make`.
  [[nodiscard]] static auto create(options options) -> result<std::unique_ptr<loop>>;
  [[nodiscard]] static auto create() -> result<std::unique_ptr<loop>> { return create(options()); }
  /// Destroys the loop. Requires that it never ran, or that `run` has returned. Streams, listeners, datagram sockets
  /// and child processes of the loop must have been closed. Blocks: until calls of other threads, such as a post, a
  /// resumption or a stop, have returned, even if the loop has already processed them.
  ~loop() override;

  /// Runs the loop on the calling thread until it has stopped. Calls `running` once the loop is running. Blocks: until
  /// the loop has stopped. Call it once.
  void run(const std::function<void()>& running = {});

  /// Runs one iteration without blocking. The thread of the first iteration becomes the loop's own thread. Use this
  /// function in tests that set the clock themselves, and on threads that run the event loop of another library.
  /// Returns false once the loop has stopped.
  auto run_once() -> bool;

  /// Prepares the thread to sleep in the event loop of another library, after `run_once`. Returns how long the thread
  /// may sleep: zero if there is work now, or nothing if no timer is armed. The other event loop must wait until
  /// `backend().descriptor()` is readable or the returned time has passed, and then call `run_once` again. Posts and
  /// timers of the thread itself also make the descriptor readable. Requires the backend epoll.
  [[nodiscard]] auto prepare_sleep() noexcept -> std::optional<duration>;

  /// Requests a stop of the loop, without waiting for its end. Only the first call has an effect. The work that is
  /// stopped sees all writes that the first caller made before the call. Threads: any, including the loop's own.
  void stop() noexcept;

  [[nodiscard]] auto status() const noexcept -> state { return state_.load(relaxed); }
  /// Returns the loop of the calling thread, or null.
  [[nodiscard]] static auto current() noexcept -> loop*;
  /// Returns the number of tasks that were started by `spawn` and have not ended. On any thread but the loop's, the
  /// number is approximate.
  /// Threads: any.
  [[nodiscard]] auto spawned() const noexcept -> std::size_t { return spawned_.load(relaxed); }
  [[nodiscard]] auto backend() noexcept -> io_backend& { return *backend_; }

  /// Starts a task that belongs to the loop. Exceptions go to `on_error`. The task starts when the loop runs; if the
  /// loop is stopped or destroyed before that, the task never starts.
  /// Threads: the loop's thread. Before the loop runs, other threads may also call this, one at a time.
  void spawn(task<void> work);

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  void post_resumption(job& step) noexcept override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto root() noexcept -> scope& override { return root_; }
  [[nodiscard]] auto has_own_thread() const noexcept -> bool override { return true; }

  void arm(timer& item, time_point time) noexcept override;
  void disarm(timer& item) noexcept override;
  [[nodiscard]] auto now() const noexcept -> time_point override { return clock_->now(); }

 private:
  friend class detail::loop_driver;
  friend class detail::open_descriptor;
  friend struct detail::metrics_reader;
  friend class scope;
  enum class blocking : std::uint8_t { allowed, forbidden };

  loop(options options, std::unique_ptr<io_backend> backend);

  [[nodiscard]] auto ask(job& question) noexcept -> detail::asked override;
  [[nodiscard]] auto own_thread() const noexcept -> ::pid_t override { return thread_.load(relaxed); }
  void enter();
  void start_early_tasks();
  void drop_early_posts() noexcept;
  void drop_early_tasks() noexcept;
  void leave() noexcept;
  auto step(blocking wait) -> bool;
  void fire_timers(time_point start) noexcept;
  void run_ready(time_point start);
  void run_job(job& item) noexcept;
  auto finished() noexcept -> bool;
  void wait_for_work(blocking wait, time_point start) noexcept;
  void time_iteration(time_point start) noexcept;
  void time_next_iteration() noexcept;
  auto is_ready() const noexcept -> bool;
  auto try_arm() noexcept -> bool;
  void wait(time_point deadline) noexcept;
  void wake() noexcept;
  void wake_outer_loop() noexcept;
  void report(std::exception_ptr error) noexcept override;
  void root_ended(std::coroutine_handle<detail::task_promise<void>> frame) noexcept;

  options options_;
  const clock_source* clock_;
  std::unique_ptr<io_backend> backend_;
  detail::code_marker* marker_ = nullptr;  // the marker of the thread in `run`; null if user code is on its stack
  detail::job_times job_times_;
  detail::time_histogram iteration_times_;
  timer_wheel wheel_;
  intrusive_list<timer> due_;                // timers of this iteration that have not fired yet
  detail::intrusive_queue<job> ready_;       // jobs of the loop's own thread
  detail::remote_stack<job> inbox_;          // jobs from elsewhere; closed once the loop has stopped
  atomic<state> state_{state::idle};         // written by the loop's thread, and by stop
  atomic<std::size_t> spawned_{0};           // written by the loop's thread
  atomic<std::size_t> open_descriptors_{0};  // written by each thread that opens or closes a descriptor
  atomic<::pid_t> thread_{0};                // the id of the thread that runs the loop; written by that thread
  atomic<std::uint32_t> woken_{0};           // incremented by each waking thread, as its last access here
  std::uint64_t iterations_ = 0;             // these counts are read by other threads with `read_count`
  std::uint64_t timed_up_to_ = 0;            // the number of the last iteration that was timed
  std::uint32_t until_timed_ = 1;            // iterations until the next one that is timed
  std::uint64_t jobs_ = 0;                   // the number of begun jobs
  std::uint64_t fired_ = 0;                  // the number of fired timers
  std::uint64_t armed_ = 0;                  // the number of armed timers
  std::uint64_t waits_ = 0;                  // the number of calls of the backend that may block
  atomic<bool> is_in_iteration_{false};      // true in an iteration, outside of the wait; written by the loop's thread
  bool sleeps_outside_ = false;              // the thread may sleep in an event loop of another library
  std::uint32_t wakes_owed_ = 0;             // the final value of `woken_`; known when the loop has stopped
  std::vector<task<void>> early_;            // tasks that were spawned before the loop runs
  scope root_;
};

namespace detail {

/// Appends a description of a wait, such as "read of fd 9, 10.0.0.7:6379". Errors: std::bad_alloc.
BRAID_API void describe_descriptor(std::string& text, io_interest side, int number);

class [[nodiscard, gnu::warn_unused]] readiness_awaiter final : awaiter_base {
 public:
  readiness_awaiter(loop& loop, int number, io_interest interest) noexcept
      : awaiter_base(operations), loop_(&loop), watch_(*this) {
    watch_.descriptor = number;
    watch_.interest = interest;
  }
  /// Requires that `other` has not been awaited.
  readiness_awaiter(readiness_awaiter&& other) noexcept : awaiter_base(operations), loop_(other.loop_), watch_(*this) {
    watch_.descriptor = other.watch_.descriptor;
    watch_.interest = other.watch_.interest;
  }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }

  [[nodiscard]] auto await_resume() const noexcept -> result<void> { return started_; }

 private:
  struct wake_watch : io_watch {
    explicit wake_watch(readiness_awaiter& a) noexcept : owner(&a) { ready = &became_ready; }
    readiness_awaiter* owner;
  };

  static void became_ready(io_watch& self) noexcept { static_cast<wake_watch&>(self).owner->complete(); }
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<readiness_awaiter&>(self);
    BRAID_EXPECTS(&waiting.where() == waiting.loop_, "a descriptor may only be used by tasks of its own loop");
    waiting.started_ = waiting.loop_->backend().watch(waiting.watch_);
    return waiting.started_ ? std::coroutine_handle<>() : waiting.not_started();
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& waiting = static_cast<readiness_awaiter&>(self);
    waiting.loop_->backend().unwatch(waiting.watch_);
    return withdrawal::done;
  }
  static void describe(const awaiter_base& self, std::string& text) {
    const io_watch& watch = static_cast<const readiness_awaiter&>(self).watch_;
    describe_descriptor(text, watch.interest, watch.descriptor);
  }
  BRAID_API static const wait_layout layout;
  static constexpr operation operations{&start, &withdraw, "readiness", &describe, nullptr, &layout};

  loop* loop_;
  wake_watch watch_;
  result<void> started_;
};

}  // namespace detail

/// Waits until `descriptor` can be read without blocking, has reached its end, or has an error. One reader and one
/// writer may wait for a descriptor at a time. A regular file is always ready. Requires that the task's home is the
/// loop.
/// Errors: the errors of `io_backend::watch`.
[[nodiscard]] inline auto readable(loop& loop, int descriptor) noexcept {
  return detail::readiness_awaiter(loop, descriptor, io_interest::read);
}

/// Waits until `descriptor` can be written without blocking. In other respects, this works like `readable`.
[[nodiscard]] inline auto writable(loop& loop, int descriptor) noexcept {
  return detail::readiness_awaiter(loop, descriptor, io_interest::write);
}

}  // namespace braid
