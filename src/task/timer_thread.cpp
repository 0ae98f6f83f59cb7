// src/task/timer_thread.cpp: starts and ends the thread that fires timers.
#include <braid/task/scheduled.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/thread/registry.hpp>

#include <memory>
#include <system_error>
#include <utility>

namespace braid {
namespace {

auto started(result<thread> thread) -> braid::thread {
  if (!thread) throw std::system_error(thread.error(), "the timer thread cannot be started with these settings");
  return std::move(*thread);
}

constinit atomic<timer_thread*> known_timers{nullptr};

/// Forgets the shared timers in the child of a fork, because the child has no timer thread, and the armed timers belong
/// to the parent.
void forget_timers_in_child() noexcept { known_timers.store(nullptr, relaxed); }

[[maybe_unused]] const int timers_fork_handler = detail::call_at_fork(nullptr, nullptr, &forget_timers_in_child);

}  // namespace

auto detail::timers_of_process() -> shared_timers& {
  timer_thread* known = known_timers.load(acquire);  // edge scheduled.timers: observe, the timers are seen constructed
  if (known != nullptr) return *known;
  timer_thread::options usual;  // named, because g++ 12 considers members of a temporary uninitialised
  auto mine = std::make_unique<timer_thread>(std::move(usual));
  // edge scheduled.timers: both, a thread that finds the shared timers sees them constructed
  if (known_timers.compare_exchange_strong(known, mine.get(), acq_rel, acquire)) return *mine.release();
  return *known;
}

timer_thread::timer_thread(timer_thread::options options) : thread_(started(start(std::move(options)))) {}

auto timer_thread::start(timer_thread::options options) -> result<thread> {
  const auto create = [this, &options]() -> result<thread> {
    const auto serve = [this] {
      detail::request_exact_wakeups();
      run();
    };
    if (!options.label) return thread::create(options.thread, serve);
    return registered_thread::create(
        {.label = *options.label, .thread = options.thread, .registry = options.registry.registry()}, serve);
  };
  if (options.thread.name) return create();
  options.thread.name = "braid-timer";
  if (auto made = create()) return made;
  options.thread.name.reset();  // the system may refuse the name, which the program has not asked for
  return create();
}

timer_thread::~timer_thread() {
  BRAID_EXPECTS(close(), "a function that a timer calls must not destroy the timer thread");
}

}  // namespace braid
