// src/coro/schedule_on.cpp: moves a task to another executor, and handles a stop during the move.
#include <braid/coro/schedule_on.hpp>

#include <utility>

namespace braid::detail {

auto schedule_awaiter::leave() noexcept -> std::coroutine_handle<> {
  scope* const in = promise_->where();
  if (in != nullptr && in->stop().requested()) return promise_->stop();
  departure& way = *std::exchange(way_, nullptr);
  if (in != nullptr) in->sends(way);
  if (executor_->try_post(way)) return {};  // the coroutine may have ended
  delete &way;
  why_not_ = errc::closed;
  return promise_->self();
}

void schedule_awaiter::came_home(job& self, action /*what*/) {
  auto& hop = static_cast<schedule_awaiter&>(self);
  switch (hop.next_step_) {
    case step::leave: return resume(hop.leave());
    case step::stop: return resume(hop.promise_->stop());
    case step::go_on: return resume(hop.promise_->self());
  }
}

void departure::arrived(job& self, action requested) {
  auto& way = static_cast<departure&>(self);
  if (!way.try_begin()) {
    delete &way;
    return;
  }
  schedule_awaiter& hop = *way.hop_;
  scope* const in = hop.promise_->where();
  if (in != nullptr)
    in->has_sent(way);
  else
    delete &way;
  if (requested == action::run) return resume(hop.promise_->self());
  hop.why_not_ = errc::dropped;
  if (in == nullptr) return resume(hop.promise_->self());
  hop.come_home_for(schedule_awaiter::step::go_on);
}

/// Withdraws the move to another executor if it has not begun. The task is resumed later by a job, and not by this
/// call, because a running task of the same scope may have requested the stop.
void departure::stopped(stop_callback& self) noexcept {
  auto& way = static_cast<departure&>(self);
  schedule_awaiter* const hop = way.hop_;
  if (way.try_withdraw()) hop->come_home_for(schedule_awaiter::step::stop);
}

}  // namespace braid::detail
