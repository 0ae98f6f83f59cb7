// src/task/shared_timers.cpp: implements a timer wheel that several threads share under a lock; one thread at a time
// fires timers.
#include <braid/task/detail/shared_timers.hpp>

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/sync/detail/user_code.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace braid::detail {

detail::timer_keeper::~timer_keeper() = default;

/// The state of shared timers. The timers and all work that is scheduled on them own this state together.
struct shared_timers::state final : detail::timer_keeper {
  using lock_type = std::unique_lock<std::mutex>;

  state(const clock_source& source, wake_fn wake_server, void* of_server)
      : clock(source), wake(wake_server), context(of_server), wheel(source.now()) {}

  auto try_arm(timer& item, time_point time) noexcept -> bool override;
  auto retract(timer& item) noexcept -> bool override;
  auto now() const noexcept -> time_point override;

  auto run_once() noexcept -> std::optional<time_point>;
  auto close() noexcept -> result<std::size_t>;
  [[nodiscard]] auto is_closed() noexcept -> bool;

  void begin_serving(lock_type& lock);
  void end_serving(const std::optional<time_point>& next) noexcept;
  void hand_out(lock_type& lock, timer& item, void (timer::*what)() noexcept) noexcept;
  void wait(lock_type& lock);
  [[nodiscard]] auto is_served_here() const noexcept -> bool { return server == std::this_thread::get_id(); }

  const clock_source& clock;
  wake_fn wake;  // null: the server is the thread in `run`
  void* context;
  parker sleep;  // used by the thread in `run`

  mutable std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::size_t waiting = 0;                  // threads that wait for `changed`
  timer_wheel wheel;                        // pending timers
  intrusive_list<timer> due;                // timers that are about to fire
  timer* handed = nullptr;                  // the timer whose function `server` runs; it may be destroyed by then
  std::thread::id server;                   // the thread that fires timers; empty most of the time
  time_point looks_at = time_point::min();  // when a thread polls the wheel again without being woken
  bool closed = false;
};

auto shared_timers::state::try_arm(timer& item, time_point time) noexcept -> bool {
  {
    const std::lock_guard lock(mutex);
    if (closed) return item.is_armed();  // then `close` is about to drop it
    wheel.arm(item, time);
    const time_point next = *wheel.next_event();
    if (next >= looks_at) return true;
    looks_at = next;
    if (wake != nullptr) {
      wake(context);  // under the lock, because both may be destroyed after `close`
      return true;
    }
  }
  sleep.unpark();  // `item` may be destroyed by now
  return true;
}

/// Returns the current time. After `close`, returns the maximum time, because the clock may no longer exist.
auto shared_timers::state::now() const noexcept -> time_point {
  const std::lock_guard lock(mutex);
  return closed ? time_point::max() : clock.now();
}

auto shared_timers::state::retract(timer& item) noexcept -> bool {
  lock_type lock(mutex);
  bool pending = false;
  while (true) {
    pending = pending || item.is_armed();
    wheel.disarm(item);
    if (handed != &item || is_served_here()) return pending;
    wait(lock);  // its function may arm it again meanwhile
  }
}

void shared_timers::state::wait(lock_type& lock) {
  ++waiting;
  changed.wait(lock);
  --waiting;
}

void shared_timers::state::begin_serving(lock_type& lock) {
  BRAID_EXPECTS(!is_served_here(), "a function that a timer calls must not run the timers");
  while (server != std::thread::id()) wait(lock);
  server = std::this_thread::get_id();
  looks_at = time_point::min();
}

/// Lets another thread fire timers. No notification is needed: `hand_out` has notified the waiting threads, and these
/// threads get the lock only after this call.
void shared_timers::state::end_serving(const std::optional<time_point>& next) noexcept {
  server = std::thread::id();
  looks_at = next.value_or(time_point::max());
}

/// Calls the timer's function without the lock, because the function may arm and disarm timers. Other threads may have
/// to wait until this call has ended, so they are notified after the call.
void shared_timers::state::hand_out(lock_type& lock, timer& item, void (timer::*what)() noexcept) noexcept {
  handed = &item;
  lock.unlock();
  {
    const user_code_section section;
    (item.*what)();
  }
  lock.lock();
  handed = nullptr;
  if (waiting != 0) changed.notify_all();
}

auto shared_timers::state::run_once() noexcept -> std::optional<time_point> {
  const time_point now = clock.now();
  lock_type lock(mutex);
  begin_serving(lock);
  wheel.advance(now, due);
  if (!due.empty()) {
    const detail::trace_slice shown(detail::trace_group::io, "timers");
    while (!closed && !due.empty()) hand_out(lock, *due.pop_front(), &timer::fire);
  }
  const auto next = closed ? std::nullopt : wheel.next_event();
  end_serving(next);
  return next;
}

auto shared_timers::state::close() noexcept -> result<std::size_t> {
  lock_type lock(mutex);
  if (is_served_here()) return fail(errc::would_deadlock);
  closed = true;
  sleep.unpark();
  begin_serving(lock);
  wheel.take_all(due);
  std::size_t dropped = 0;
  for (; !due.empty(); ++dropped) hand_out(lock, *due.pop_front(), &timer::drop);
  end_serving(std::nullopt);
  return dropped;
}

auto shared_timers::state::is_closed() noexcept -> bool {
  const std::lock_guard lock(mutex);
  return closed;
}

shared_timers::shared_timers(const clock_source& clock) : shared_timers(clock, nullptr, nullptr) {}

shared_timers::shared_timers(const clock_source& clock, wake_fn wake, void* context)
    : state_(std::make_shared<state>(clock, wake, context)) {}

shared_timers::~shared_timers() { BRAID_EXPECTS(close(), "a function that a timer calls must not destroy the timers"); }

void shared_timers::arm(timer& item, time_point time) noexcept {
  if (!state_->try_arm(item, time)) item.drop();
}

void shared_timers::disarm(timer& item) noexcept { state_->retract(item); }

auto shared_timers::now() const noexcept -> time_point { return state_->clock.now(); }

void shared_timers::run() noexcept {
  BRAID_EXPECTS(&state_->clock == &steady_time(),
                "timers that do not use the system's clock must be served by run_once, not by run");
  while (true) {
    const auto next = state_->run_once();
    if (state_->is_closed()) return;
    if (!next)
      state_->sleep.park();
    else if (*next > state_->clock.now())
      static_cast<void>(state_->sleep.park_until(*next));
  }
}

auto shared_timers::run_once() noexcept -> std::optional<time_point> { return state_->run_once(); }

auto shared_timers::close() noexcept -> result<std::size_t> { return state_->close(); }

auto shared_timers::keeper() const noexcept -> std::shared_ptr<detail::timer_keeper> { return state_; }

}  // namespace braid::detail
