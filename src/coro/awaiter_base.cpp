// src/coro/awaiter_base.cpp: the race between a wait's completion and a stop, which the home's thread decides.
#include <braid/coro/detail/awaiter_base.hpp>

namespace braid::detail {
namespace {

constinit thread_local int ready_awaits_left __attribute__((tls_model("initial-exec"))) = ready_awaits_in_succession;
constinit thread_local bool completes_later __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

later_completions::later_completions() noexcept { completes_later = true; }
later_completions::~later_completions() { completes_later = false; }

auto may_go_on() noexcept -> bool {
  if (ready_awaits_left > 0) {
    --ready_awaits_left;
    return true;
  }
  ready_awaits_left = ready_awaits_in_succession;
  return false;
}

auto awaiter_base::suspend(promise_base& promise, std::coroutine_handle<> self) noexcept -> std::coroutine_handle<> {
  scope* const in = promise.where();
  BRAID_EXPECTS(in != nullptr, "this task has no home: spawn it into a scope, or sync_wait for it on a home");
  promise_ = &promise;
  handle_ = self;
  if (in->where().is_current()) return begin();
  state_ = state::comes_home;
  in->where().post_resumption(*this);
  return {};
}

auto awaiter_base::begin() noexcept -> std::coroutine_handle<> {
  state_ = state::waiting;
  scope& in = *promise_->where();
  if (in.stop().requested()) return promise_->stop();
  in.link(*this);
  return how_->start(*this);
}

auto awaiter_base::not_started() noexcept -> std::coroutine_handle<> {
  unlink();
  state_ = state::done;
  return handle_;
}

void awaiter_base::complete() noexcept {
  if (completes_later) return complete_later();
  if (is_linked()) unlink();
  state_ = state::done;
  resume(handle_);
}

void awaiter_base::complete_later() noexcept {
  if (is_linked()) unlink();
  state_ = state::done;
  where().post_resumption(*this);
}

void awaiter_base::stopped(stop_callback& self) noexcept {
  auto& waiting = static_cast<awaiter_base&>(self);
  if (waiting.how_->withdraw(waiting) == withdrawal::done) waiting.stop_later();
}

void awaiter_base::stop_later() noexcept {
  state_ = state::stopped;
  // Not at once: the stop may come from the middle of a task of the same scope.
  where().post_resumption(*this);
}

void awaiter_base::resumed(job& self, action /*what*/) {
  auto& waited = static_cast<awaiter_base&>(self);
  ready_awaits_left = ready_awaits_in_succession;
  switch (waited.state_) {
    case state::comes_home: return resume(waited.begin());
    case state::stopped: return resume(waited.promise_->stop());
    default: return waited.complete();
  }
}

}  // namespace braid::detail
