// src/task/timer_thread.cpp: starting and ending the thread that serves timers.
#include <braid/task/scheduled.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/thread/registry.hpp>

#include <memory>
#include <system_error>
#include <utility>

#include <sys/prctl.h>
#include <unistd.h>

namespace braid {
namespace {

auto started(result<thread> thread) -> braid::thread {
  if (!thread) throw std::system_error(thread.error(), "the thread of timers cannot be started as wanted");
  return std::move(*thread);
}

/// The kernel wakes a thread up to this much later than it asked for, to save wakes: 50 µs, unless configured
/// otherwise.
void wake_on_time() noexcept { static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL)); }

/// Timers, and the process that their thread is in.
struct made_timers {
  explicit made_timers(timer_thread::options&& how) : made(std::move(how)) {}

  const ::pid_t process = ::getpid();
  timer_thread made;
};

constinit atomic<made_timers*> known_timers{nullptr};

}  // namespace

auto detail::timers_of_process() -> shared_timers& {
  made_timers* known = known_timers.load(acquire);  // edge scheduled.timers: observe, the timers are seen made
  while (known == nullptr || known->process != ::getpid()) {
    timer_thread::options usual;  // with a name: g++ 12 takes members of a temporary for uninitialised
    auto mine = std::make_unique<made_timers>(std::move(usual));
    // edge scheduled.timers: publish, observe, the timers are seen made
    if (known_timers.compare_exchange_strong(known, mine.get(), acq_rel, acquire)) return mine.release()->made;
  }
  return known->made;
}

timer_thread::timer_thread(timer_thread::options options) : thread_(started(start(std::move(options)))) {}

auto timer_thread::start(timer_thread::options options) -> result<thread> {
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
