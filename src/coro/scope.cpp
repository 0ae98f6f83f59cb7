// src/coro/scope.cpp: implements async scopes: handles the end of their tasks, and passes stops on to the tasks.
#include <braid/coro/scope.hpp>

#include <braid/coro/detail/departure.hpp>

#include <algorithm>

namespace braid {

scope::scope(home& home) noexcept : job(&stop_posted), stop_callback(&parent_stopped), home_(&home) {}

scope::scope(scope& parent, time_point deadline) : scope(*parent.home_) {
  BRAID_ASSERT(home_->is_current(), "a nested scope must be created on the home executor of the outer scope");
  parent_ = &parent;
  deadline_ = std::min(deadline, parent.deadline_);
  if (parent.stop_.requested()) {
    parent.keep(*this);
    stop_from_outside(parent.stop_.reason());
    return;
  }
  if (deadline < parent.deadline_) timer_.reset(new deadline_timer(*this));
  parent.link(*this);
  if (timer_ != nullptr) home_->arm(*timer_, deadline);
}

scope::~scope() {
  BRAID_EXPECTS(is_idle(), "a scope must be joined before it is destroyed");
  if (sent_.load(relaxed) != nullptr) free_sent();
  if (timer_ != nullptr && timer_->is_armed()) home_->disarm(*timer_);
  if (is_linked()) unlink();
}

void scope::sends(detail::departure& way) noexcept {
  if (sent_.load(relaxed) != nullptr) free_sent();
  link(way);
}

/// Marks a job as used up after it has moved a task to another executor. The calling thread must not change the list of
/// callbacks, so the object stays in the list until `free_sent`.
void scope::has_sent(detail::departure& way) noexcept {
  detail::departure* seen = sent_.load(relaxed);
  do {
    way.next = seen;
    // edge scope.sent: publish the last use of the object by the thread that the task has moved to
  } while (!sent_.compare_exchange_weak(seen, &way, release, relaxed));
}

void scope::free_sent() noexcept {
  // edge scope.sent: observe the other threads' last uses of the objects, which are then deleted
  job* at = sent_.exchange(nullptr, acquire);
  while (at != nullptr) delete static_cast<detail::departure*>(std::exchange(at, at->next));
}

void scope::spawn(task<void> child) {
  if (!stop_.requested()) return begin(std::move(child), *this);
  if (is_stopped_from_outside_) is_cut_short_ = true;
}

/// Handles the end of a spawned task. The function is inlined, because such a task takes eleven nanoseconds in total,
/// and a separate call would add one more.
[[gnu::always_inline]] inline void scope::root_ended(std::coroutine_handle<detail::task_promise<void>> frame) noexcept {
  std::exception_ptr error;
  if (frame.promise().result().has_exception()) error = frame.promise().result().exception();
  frame.destroy();

  if (error && error_) ++further_errors_;
  if (error && !error_) {
    error_ = std::move(error);
    stop_here(errc::stopped);
  }
}

auto scope::root_left() noexcept -> std::coroutine_handle<> {
  --tasks_;
  return idle_continuation();
}

/// Returns whether the scope has no task and no pending stop. The job of a stop that another thread has posted points
/// to the scope until the job has run.
auto scope::is_idle() const noexcept -> bool {
  const auto remote = remote_.load(acquire);  // edge scope.remote_stop: observe, the stopping thread has left the scope
  return tasks_ == 0 && (remote == remote_stop::none || remote == remote_stop::arrived);
}

auto scope::idle_continuation() noexcept -> std::coroutine_handle<> {
  if (idle_ == nullptr || tasks_ != 0 || !remote_is_over()) return {};
  return std::exchange(idle_, nullptr)(idle_context_);  // the scope may be destroyed after this
}

/// Returns whether no other thread refers to this scope. If a thread has posted a stop, marks the posted job as
/// awaited. The job then arrives even if the home executor refuses other work.
auto scope::remote_is_over() noexcept -> bool {
  auto seen = remote_stop::posted;
  // edge scope.remote_stop: observe that the stopping thread has left the scope
  if (remote_.compare_exchange_strong(seen, remote_stop::awaited, relaxed, acquire)) return false;
  return seen != remote_stop::awaited;
}

auto scope::bound(const void* key) const noexcept -> void* {
  const scope* at = this;
  while (at != nullptr && at->key_ != key) at = at->parent_;
  return at == nullptr ? nullptr : at->value_;
}

void scope::when_idle(idle_fn fn, void* context) noexcept {
  BRAID_EXPECTS(idle_ == nullptr, "only one task at a time may wait for a scope");
  idle_ = fn;
  idle_context_ = context;
  detail::resume(idle_continuation());
}

void scope::request_stop(errc reason) noexcept {
  if (home_->is_current()) return stop_here(reason);
  auto seen = remote_stop::none;
  if (!remote_.compare_exchange_strong(seen, remote_stop::posted, relaxed, relaxed)) return;
  stop_.request(reason);  // computations see it at once, tasks when the job has arrived
  post_stop();
}

/// Posts the stop to the scope's home executor. The scope may be destroyed when this returns.
void scope::post_stop() noexcept {
  if (home_->try_post(*this)) return;
  // The home executor has refused the job, because the executor does not run, or because it is stopping and therefore
  // stops its tasks itself. If a task already waits for this stop to arrive, the job is queued as a resumption, which
  // is never refused.
  auto seen = remote_stop::posted;
  // edge scope.remote_stop: publish this thread's last use of the scope, which may then be destroyed
  if (remote_.compare_exchange_strong(seen, remote_stop::arrived, release, relaxed)) return;
  home_->post_resumption(*this);
}

void scope::stop_posted(job& self, action /*what*/) {
  auto& stopped = static_cast<scope&>(self);
  stopped.remote_.store(remote_stop::arrived, relaxed);
  stopped.stop_here(stopped.stop_.reason());
  detail::resume(stopped.idle_continuation());
}

void scope::parent_stopped(stop_callback& self) noexcept {
  auto& child = static_cast<scope&>(self);
  child.parent_->keep(child);
  child.stop_from_outside(child.parent_->stop_.reason());
}

void detail::deaf_wait::no_stop(stop_callback& /*self*/) noexcept {}

void scope::deadline_passed(timer& self) noexcept {
  static_cast<deadline_timer&>(self).owner->stop_from_outside(errc::deadline_exceeded);
}

void scope::stop_from_outside(errc reason) noexcept {
  if (callback_state_ == callback_state::pending) is_stopped_from_outside_ = true;
  stop_here(reason);
}

void scope::stop_here(errc reason) noexcept {
  if (callback_state_ == callback_state::called) return;
  callback_state_ = callback_state::called;
  stop_.request(reason);
  if (timer_ != nullptr && timer_->is_armed()) home_->disarm(*timer_);
  while (stop_callback* waiting = callbacks_.pop_front()) waiting->call();
}

}  // namespace braid
