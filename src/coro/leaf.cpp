// src/coro/leaf.cpp: the race between a wait's completion and a stop, both on the home's thread.
#include <braid/coro/detail/leaf.hpp>

namespace braid::detail {

auto leaf::begin(promise_base& promise, std::coroutine_handle<> self) noexcept -> bool {
  scope* in = promise.where();
  BRAID_EXPECTS(in != nullptr, "this task has no home: spawn it into a scope, or sync_wait for it on a home");
  BRAID_ASSERT(in->where().is_current(), "a task waits on its home only");
  promise_ = &promise;
  handle_ = self;
  if (in->stop().requested()) return false;
  in->link(*this);
  return true;
}

auto leaf::not_started() noexcept -> std::coroutine_handle<> {
  unlink();
  state_ = state::done;
  return handle_;
}

void leaf::complete() noexcept {
  if (is_linked()) unlink();
  state_ = state::done;
  resume(handle_);
}

void leaf::complete_later() noexcept {
  if (is_linked()) unlink();
  state_ = state::done;
  where().post_resumption(*this);
}

void leaf::stopped(stop_callback& self) noexcept {
  auto& waiting = static_cast<leaf&>(self);
  waiting.withdraw_(waiting);
  waiting.state_ = state::stopped;
  // Not at once: the stop may come from the middle of a task of the same scope.
  waiting.where().post_resumption(waiting);
}

void leaf::resumed(job& self, action /*what*/) {
  auto& waited = static_cast<leaf&>(self);
  resume(waited.state_ == state::stopped ? waited.promise_->stop() : waited.handle_);
}

}  // namespace braid::detail
