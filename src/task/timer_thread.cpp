// src/task/timer_thread.cpp: starting and ending the thread that serves timers.
#include <braid/task/scheduled.hpp>

#include <braid/base/config.hpp>
#include <braid/thread/registry.hpp>

#include <system_error>
#include <utility>

#include <sys/prctl.h>

namespace braid {
namespace {

auto started(result<thread> thread) -> braid::thread {
  if (!thread) throw std::system_error(thread.error(), "the thread of timers cannot be started as wanted");
  return std::move(*thread);
}

/// The kernel wakes a thread up to this much later than it asked for, to save wakes: 50 µs, unless configured
/// otherwise.
void wake_on_time() noexcept { static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL)); }

}  // namespace

timer_thread::timer_thread(timer_thread_options options) : thread_(started(start(std::move(options)))) {}

auto timer_thread::start(timer_thread_options options) -> result<thread> {
  if (!options.thread.name) options.thread.name = "braid-timer";
  const auto serve = [this] {
    wake_on_time();
    run();
  };
  if (!options.label) return thread::create(std::move(options.thread), serve);
  return registered_thread::create({.label = *std::move(options.label),
                                    .thread = std::move(options.thread),
                                    .registry = std::move(options.registry)},
                                   serve);
}

timer_thread::~timer_thread() {
  BRAID_EXPECTS(close(), "the thread of timers is not ended by a function of one of them");
}

}  // namespace braid
