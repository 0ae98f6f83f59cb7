// src/task/blocking_wait.cpp: helping, and leaving the seat, while a worker waits.
#include <braid/task/detail/blocking_wait.hpp>

#include <braid/base/error.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/stand_ins.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include <pthread.h>

namespace braid::detail {
namespace {

constexpr unsigned free_helps = 30;     // so many may be nested whatever happens
constexpr duration first_pause = 10us;  // of a worker that finds no job to help with
constexpr duration longest_pause = 1ms;

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

/// Runs other jobs of the worker's executor until `wait` is over. Where there are none it sleeps, and looks for new
/// ones after pauses that grow. False at the deadline.
auto help_until(executor& own, blocking_wait& wait, std::optional<time_point> deadline) noexcept -> bool {
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
auto sleep_until(blocking_wait& wait, std::optional<time_point> deadline) noexcept -> bool {
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    wait.sleep(deadline);
  }
  return true;
}

/// As `help_until`, where others can work at this worker's seat meanwhile: what is not awaited itself is for them,
/// since it may wait for the job that waits here. `awaited`: what it waits for, if that is a job.
auto wait_at_seat(worker& self, blocking_wait& wait, job* awaited, std::optional<time_point> deadline) noexcept
    -> bool {
  stand_ins& others = *self.substitutes;
  duration pause = first_pause;
  bool may_leave = false;
  while (!wait.is_over()) {
    if (deadline && steady_time().now() >= *deadline) return false;
    fork_exchange::answer_if_asked(self);  // what the job has forked may be what it waits for
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

/// What an end_signal tells.
class end_wait final : public blocking_wait {
 public:
  explicit end_wait(end_signal& of) noexcept : of_(of) {}

  [[nodiscard]] auto is_over() const noexcept -> bool override { return of_.is_set(); }
  void sleep(std::optional<time_point> deadline) noexcept override { of_.wait(deadline); }

 private:
  end_signal& of_;
};

}  // namespace

auto block(blocking_wait& wait, job* awaited, std::optional<time_point> deadline) noexcept -> bool {
  worker* const self = current_worker();
  if (self == nullptr) return sleep_until(wait, deadline);
  if (self->substitutes == nullptr) return help_until(*self->pool, wait, deadline);
  return wait_at_seat(*self, wait, awaited, deadline);
}

void block_until_set(end_signal& ended) noexcept {
  if (ended.is_set()) return;
  end_wait wait(ended);
  block(wait);
}

void expect_to_block(const char* sentence) {
  if (waits_for_io()) throw std::system_error(make_error_code(errc::would_deadlock), sentence);
}

}  // namespace braid::detail
