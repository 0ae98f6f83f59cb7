// src/task/future.cpp: implements the slow paths of futures: several continuations, and waiting.
#include <braid/task/detail/future_core.hpp>

#include <braid/base/detail/never_destroyed.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/detail/let_others_run.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/threadless.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>

namespace braid::detail {
namespace {

// docs/design/constants.md says what these values rest on.
#if defined(BRAID_MODEL)
constexpr unsigned looks_before_sleep = 1;  // each is a step that the explorer has to order
#else
constexpr unsigned looks_before_sleep = 100;  // for a thread that is not a worker: some microseconds
#endif
constexpr unsigned pauses_between_looks = 4;

/// Returns how often a thread that is not a worker polls a future before it sleeps. A short job ends sooner than a
/// sleeping thread wakes up, and polling spares the job's worker the work of waking it. Returns 0 on a machine with one
/// CPU, because polling would keep the CPU from the worker.
auto looks_outside() noexcept -> unsigned {
  static const unsigned looks = std::thread::hardware_concurrency() < 2 ? 0 : looks_before_sleep;
  return looks;
}

/// Calls `looks_outside` for the first time when the library is loaded. If a thread made the first call during a fork,
/// the guard of the static variable would stay locked in the child.
[[maybe_unused]] const unsigned asked_early = looks_outside();

/// Polls a future for a short time. Returns true if it has settled.
auto settles_soon(const future_core& core) noexcept -> bool {
  for (unsigned look = looks_outside(); look > 0; --look) {
    if (core.is_settled()) return true;
    for (unsigned pause = pauses_between_looks; pause > 0; --pause) cpu_pause();
  }
  return false;
}

/// Sleeps until the word is not 0, or until `deadline`.
void sleep_while_zero(const atomic<std::uint32_t>& word, std::optional<time_point> deadline) noexcept {
  while (word.load(acquire) == 0)  // edge future.signal: observe, the result is seen once the word is set
    if (futex_wait(word, 0, deadline) == futex_wait_status::timed_out) return;
}

/// The consumer of a future for a thread that blocks until all other readers are done.
class last_reader final : public continuation {
 public:
  last_reader() noexcept : continuation(nullptr) {}

  [[nodiscard]] auto end() noexcept -> end_signal& { return end_; }

 private:
  void fire(cascade& /*more*/) noexcept override { end_.set(); }  // the last access: the thread may continue

  end_signal end_;
};

}  // namespace

/// A thread that waits for the future.
class future_core::sleeper final : public blocking_wait {
 public:
  explicit sleeper(future_core& core) noexcept : core_(core) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override { return core_.is_settled(); }

  void sleep(std::optional<time_point> deadline) noexcept override {
    announced_ = announced_ || core_.announce_sleep();
    if (announced_) sleep_while_zero(core_.signal_, deadline);
  }

 private:
  future_core& core_;
  bool announced_ = false;
};

/// Marks the future so that its producer wakes sleeping threads. Returns false if the future has settled already.
auto future_core::announce_sleep() noexcept -> bool { return (head_.fetch_or(watched, relaxed) & settled) == 0; }

void future_core::wake_sleepers() noexcept {
  signal_.store(1, release);  // edge future.signal: publish, the woken thread sees the result
  futex_wake(signal_, INT_MAX);
}

auto future_core::wait_slowly(std::optional<time_point> deadline) -> bool {
  const worker* const self = current_worker();
  // A worker may wait for work of its own pool. A job of a serial executor must not wait for work of the same executor,
  // because that work could never begin.
  const executor_id where = self != nullptr && self->pool->has_id(executor_) ? executor_id() : executor_;
  // A job of a manual executor may wait for work of the same executor, because the job polls the executor while it
  // waits.
  const executor* const polled = threadless_here();
  const bool can_poll = polled != nullptr && polled->needs_polls() && polled->has_id(executor_);
  if (const executor_use use(where); !can_poll && use && use->is_current())
    throw std::system_error(
        make_error_code(errc::would_deadlock),
        "this thread would wait for work that only it can run: use `then`, or co_await the future in a task");
  expect_to_block(
      "this thread also waits for I/O, and must not block: co_await the future, or wait on the blocking pool");
  sleeper here(*this);
  if (self != nullptr) return block(here, this, deadline, where);
  if (!deadline && !runs_while_waiting(where) && settles_soon(*this)) return true;
  return block(here, nullptr, deadline, where);
}

auto future_core::wait_for(duration limit) -> bool {
  if (is_settled()) return true;
  const time_point now = steady_time().now();
  return wait(limit > time_point::max() - now ? time_point::max() : now + limit);
}

/// Waits briefly until this future is the only reference to the shared state, and returns whether it is. The thread
/// that settled the future drops its reference a few steps later, and that short delay must not cause a refusal.
auto future_core::is_alone_soon() const noexcept -> bool {
  // docs/design/constants.md says what this value rests on.
  constexpr duration patience = 100ms;
  const time_point limit = steady_time().now() + patience;
  while (refs_.load(acquire) != 1) {  // edge future.reference: observe, the readers are done with the value
    if (steady_time().now() >= limit) return false;
    let_others_run();
  }
  return true;
}

/// Waits until all continuations that read the value have returned. If this function throws, it has not changed the
/// future, because it throws only before it registers a consumer.
void future_core::wait_for_readers() {
  if (refs_.load(relaxed) != 1 && waits_for_io() && !is_alone_soon())
    expect_to_block("this thread also waits for I/O, and a continuation that reads the value has not returned yet");
  last_reader here;
  if (try_defer(here)) block_until_set(here.end(), executor_);
}

/// Defers the notification of a settled future's consumer until all other references are gone. Returns false if all
/// other references are gone already.
auto future_core::try_defer(continuation& node) noexcept -> bool {
  if (refs_.load(acquire) == 1) return false;  // edge future.reference: observe, the readers are done with the value
  // A relaxed store suffices. The thread that drops the second-to-last reference reads this value, and the operation on
  // the reference count below orders the store before that read.
  head_.store(reinterpret_cast<std::uintptr_t>(&node) | static_cast<std::uintptr_t>(how()), relaxed);
  // edge future.reference: both, the readers are done with the value; the last reader sees the consumer
  if (refs_.fetch_add(deferred, acq_rel) != 1) return true;
  refs_.store(1, relaxed);
  return false;
}

/// Settles a future that had several continuations or sleeping threads.
void future_core::settle_many(std::uintptr_t before, verdict as, cascade& more) noexcept {
  if ((before & watched) != 0) wake_sleepers();
  continuation* at = find_node(before);
  continuation* consumer = nullptr;
  if ((before & claimed) != 0) {
    consumer = at;
    at = static_cast<continuation*>(at->next);
  }
  const bool is_read = at != nullptr;
  continuation* oldest = nullptr;
  while (at != nullptr) {
    auto* const older = static_cast<continuation*>(at->next);
    at->next = oldest;
    oldest = std::exchange(at, older);
  }
  while (oldest != nullptr) more.add(*std::exchange(oldest, static_cast<continuation*>(oldest->next)));

  if (consumer == nullptr) return drop_reference(more);
  if (!is_read) {
    refs_.store(1, relaxed);  // no other thread knows the object
    return more.add(*consumer);
  }
  head_.store(reinterpret_cast<std::uintptr_t>(consumer) | static_cast<std::uintptr_t>(as), relaxed);
  refs_.fetch_add(deferred - 1, relaxed);  // the others are readers that this thread notifies after this
}

auto failure_of(errc code) noexcept -> const std::exception_ptr& {
  /// An exception for each error code. The table is never destroyed, because futures may fail while the process exits.
  struct failures {
    failures() noexcept {
      for (std::size_t i = 1; i < by_code.size(); ++i)
        by_code[i] = std::make_exception_ptr(std::system_error(make_error_code(static_cast<errc>(i))));
    }
    std::array<std::exception_ptr, static_cast<std::size_t>(errc::status_lost) + 1> by_code{};  // the last code
  };
  static const never_destroyed<failures> all;
  return all.value.by_code[static_cast<std::size_t>(code)];
}

namespace {

/// Creates the exceptions when the library is loaded, because a thread that fails a future later may be out of memory.
[[maybe_unused]] const std::exception_ptr& errors_made_early = failure_of(errc::closed);

}  // namespace

}  // namespace braid::detail
