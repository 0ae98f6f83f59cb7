// src/task/future.cpp: what futures do rarely: several continuations, waiting, and helping while a worker waits.
#include <braid/task/detail/future_core.hpp>

#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/futex.hpp>
#include <braid/task/detail/stand_ins.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>

#include <pthread.h>

namespace braid::detail {
namespace {

constexpr unsigned free_helps = 30;     // so many may be nested whatever happens
constexpr duration first_pause = 10us;  // of a worker that finds no job to help with
constexpr duration longest_pause = 1ms;
constexpr unsigned looks_before_sleep = 100;  // of a thread that is no worker: some microseconds
constexpr unsigned pauses_between_looks = 4;

constinit thread_local unsigned helps = 0;  // nested in each other on this thread

/// Whether less than half of the thread's stack is in use. Not on a stack that the system does not know.
auto has_stack() noexcept -> bool {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
  void* lowest = nullptr;
  std::size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto from = reinterpret_cast<std::uintptr_t>(lowest);
  return known && here > from + size / 2 && here <= from + size;
}

/// Beyond the nested helps that are free, a worker helps only when nothing has happened for long: somebody must, where
/// it is the last one and what it waits for needs a job that waits as well.
auto may_help(duration pause) noexcept -> bool { return helps < free_helps || (pause >= longest_pause && has_stack()); }

auto help(executor& own) noexcept -> bool {
  ++helps;
  const bool helped = own.run_one();
  --helps;
  return helped;
}

auto run_awaited(worker& self, job& awaited) noexcept -> bool {
  ++helps;
  const bool ran = self.substitutes->run_awaited(self, awaited);
  --helps;
  return ran;
}

/// How often a thread that is no worker looks again before it sleeps. A short job is done sooner than a sleeper runs
/// again, and its worker is spared the wake. Not at all where it would keep the only CPU from who is to do the job.
auto looks_outside() noexcept -> unsigned {
  static const unsigned looks = std::thread::hardware_concurrency() < 2 ? 0 : looks_before_sleep;
  return looks;
}

/// Whether `of` settles soon.
auto settles_soon(const future_core& of) noexcept -> bool {
  for (unsigned look = looks_outside(); look > 0; --look) {
    if (of.is_settled()) return true;
    for (unsigned pause = pauses_between_looks; pause > 0; --pause) cpu_pause();
  }
  return false;
}

/// Until the word is no longer 0, or `deadline`.
void sleep_while_zero(const atomic<std::uint32_t>& word, std::optional<time_point> deadline) noexcept {
  while (word.load(acquire) == 0)  // edge future.signal: observe
    if (futex_wait(word, 0, deadline) == futex_wait_status::timed_out) return;
}

/// Runs other jobs of the worker's executor until `wait` is over. Where there are none it sleeps, and looks for new
/// ones after pauses that grow. False at the deadline.
template <typename Wait>
auto help_until(executor& own, Wait& wait, std::optional<time_point> deadline) -> bool {
  duration pause = first_pause;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    if (may_help(pause) && help(own)) {
      pause = first_pause;
      continue;
    }
    const time_point until = steady_time().now() + pause;
    wait.sleep(deadline ? std::min(until, *deadline) : until);
    pause = std::min(2 * pause, longest_pause);
  }
  return true;
}

/// Sleeps until `wait` is over. False at the deadline.
template <typename Wait>
auto sleep_until(Wait& wait, std::optional<time_point> deadline) -> bool {
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    wait.sleep(deadline);
  }
  return true;
}

/// As `help_until`, where others can work at this worker's seat meanwhile: what is not awaited itself is for them,
/// since it may wait for the job that waits here. `awaited`: what it waits for, if that is a job.
template <typename Wait>
auto wait_at_seat(worker& self, Wait& wait, job* awaited, std::optional<time_point> deadline) -> bool {
  stand_ins& others = *self.substitutes;
  duration pause = first_pause;
  bool may_leave = false;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    if (awaited != nullptr && may_help(pause) && run_awaited(self, *awaited)) continue;
    if (self.wanted.load(relaxed) != 0 || (may_leave && others.has_work(self))) {
      if (others.try_leave(self)) {
        const bool in_time = sleep_until(wait, deadline);
        others.come_back(self);
        return in_time || wait.is_over();
      }
      if (may_help(pause) && help(*self.pool)) continue;
    }
    may_leave = true;
    const time_point until = steady_time().now() + pause;
    wait.sleep(deadline ? std::min(until, *deadline) : until);
    pause = std::min(2 * pause, longest_pause);
  }
  return true;
}

template <typename Wait>
auto wait_on(worker& self, Wait& wait, job* awaited, std::optional<time_point> deadline) -> bool {
  if (self.substitutes == nullptr) return help_until(*self.pool, wait, deadline);
  return wait_at_seat(self, wait, awaited, deadline);
}

/// The consumer that a blocked thread is.
class last_reader final : public continuation {
 public:
  last_reader() noexcept : continuation(nullptr) {}

  [[nodiscard]] auto is_over() const noexcept -> bool {
    return told_.load(acquire) != 0;  // edge future.signal: observe
  }
  void sleep(std::optional<time_point> deadline) const noexcept { sleep_while_zero(told_, deadline); }

 private:
  void fire(cascade& /*more*/) noexcept override {
    told_.store(1, release);  // edge future.signal: publish
    futex_wake(told_, 1);     // by its address only: the thread may have gone on
  }

  atomic<std::uint32_t> told_{0};  // written by who fires it
};

}  // namespace

/// A thread that waits for the future.
struct future_core::sleeper {
  [[nodiscard]] auto is_over() const noexcept -> bool { return of.is_settled(); }

  /// Returns also at a wake without a cause.
  void sleep(std::optional<time_point> deadline) noexcept {
    announced = announced || of.announce_sleep();
    if (announced) sleep_while_zero(of.signal_, deadline);
  }

  future_core& of;
  bool announced = false;
};

/// From now on the producer wakes who sleeps. False when it has settled already, as `is_settled` says then, too.
auto future_core::announce_sleep() noexcept -> bool { return (head_.fetch_or(watched, relaxed) & settled) == 0; }

void future_core::wake_sleepers() noexcept {
  signal_.store(1, release);  // edge future.signal: publish
  futex_wake(signal_, INT_MAX);
}

auto future_core::wait_slowly(std::optional<time_point> deadline) -> bool {
  sleeper here{*this};
  worker* const self = current_worker();
  // A worker helps its pool, but a strand whose job it runs would wait for that job.
  if (where_ != nullptr && (self == nullptr || self->pool != where_) && where_->is_current())
    throw std::system_error(make_error_code(errc::would_deadlock), "this thread is to do what it waits for");
  if (self != nullptr && self->has_own_work)
    throw std::system_error(make_error_code(errc::would_deadlock),
                            "this worker waits for I/O as well: co_await the future, or wait on the blocking lane");
  if (self != nullptr) return wait_on(*self, here, this, deadline);
  if (!deadline && settles_soon(*this)) return true;
  here.sleep(deadline);
  return is_settled();
}

auto future_core::wait_for(duration limit) -> bool {
  if (is_settled()) return true;
  const time_point now = steady_time().now();
  return wait(limit > time_point::max() - now ? time_point::max() : now + limit);
}

void future_core::wait_for_readers() noexcept {
  last_reader here;
  if (!try_defer(here)) return;
  if (worker* self = current_worker(); self != nullptr)
    wait_on(*self, here, nullptr, std::nullopt);
  else
    here.sleep(std::nullopt);
}

/// A settled future is to have its consumer told when all other references are gone. False when they are.
auto future_core::try_defer(continuation& node) noexcept -> bool {
  if (refs_.load(acquire) == 1) return false;  // edge future.reference: observe
  // Relaxed, because it is read by who gives up the last reference but one, after the next line.
  head_.store(reinterpret_cast<std::uintptr_t>(&node) | static_cast<std::uintptr_t>(how()), relaxed);
  if (refs_.fetch_add(deferred, acq_rel) != 1) return true;  // edge future.reference: both
  refs_.store(1, relaxed);
  return false;
}

/// There were several continuations, or threads that sleep.
void future_core::settle_many(std::uintptr_t before, verdict as, cascade& more) noexcept {
  if ((before & watched) != 0) wake_sleepers();
  continuation* at = node_of(before);
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
    refs_.store(1, relaxed);  // nobody else knows the object
    return more.add(*consumer);
  }
  head_.store(reinterpret_cast<std::uintptr_t>(consumer) | static_cast<std::uintptr_t>(as), relaxed);
  refs_.fetch_add(deferred - 1, relaxed);  // the others are readers that this thread tells after this
}

auto failure_of(errc code) noexcept -> const std::exception_ptr& {
  /// Never destroyed: futures may fail as late as they like.
  union failures {
    failures() noexcept : by_code() {
      for (std::size_t i = 1; i < by_code.size(); ++i)
        by_code[i] = std::make_exception_ptr(std::system_error(make_error_code(static_cast<errc>(i))));
    }
    ~failures() {}
    std::array<std::exception_ptr, static_cast<std::size_t>(errc::already_set) + 1> by_code;
  };
  static const failures all;
  return all.by_code[static_cast<std::size_t>(code)];
}

namespace {

/// Made when the library is loaded: whoever fails a future later may have no memory left.
[[maybe_unused]] const std::exception_ptr& made_early = failure_of(errc::closed);

}  // namespace

}  // namespace braid::detail
