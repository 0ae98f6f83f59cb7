// src/coro/awaiter_base.cpp: ends a wait by its completion or by a stop, whichever comes first, on the thread of the
// task's home executor.
#include <braid/coro/detail/awaiter_base.hpp>

#include "../platform/system.hpp"

#include <braid/coro/scope.hpp>

namespace braid::detail {
namespace {

constinit thread_local int ready_awaits_left __attribute__((tls_model("initial-exec"))) = ready_awaits_in_succession;
constinit thread_local bool completes_later __attribute__((tls_model("initial-exec"))) = false;

/// Resets the state of waits in the child of a fork. The parent may have forked while a loop waited for I/O, but the
/// child's own loops must resume their tasks at once.
void forget_waits_in_child() noexcept {
  ready_awaits_left = ready_awaits_in_succession;
  completes_later = false;
}

[[maybe_unused]] const int waits_fork_handler = call_at_fork(nullptr, nullptr, &forget_waits_in_child);

void trace_task(trace_kind kind, const scope& scope) noexcept {
  if (const std::uint64_t task = task_number(&scope); task != 0) trace_note(trace_group::tasks, kind, task);
}

/// Returns the address of the function that resumes a suspended coroutine. Every compiler stores this address at the
/// start of the coroutine's frame.
auto code_of(std::coroutine_handle<> suspended) noexcept -> std::uint64_t {
  return trace_number(*static_cast<void* const*>(suspended.address()));
}

}  // namespace

auto task_number(const scope* scope) noexcept -> std::uint64_t {
  const auto* const info = scope != nullptr ? static_cast<const task_info*>(scope->bound(&task_info_key)) : nullptr;
  return info != nullptr ? info->id.number : 0;
}

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

auto awaiter_base::connect(promise_base& promise, await_place place) noexcept -> home& {
  scope* const in = promise.where();
  BRAID_EXPECTS(in != nullptr, "this task has no home executor: spawn it into a scope, or pass it to sync_wait");
  promise.suspends_at(place);
  promise_ = &promise;
  return in->where();
}

auto awaiter_base::suspend(promise_base& promise, await_place place) noexcept -> std::coroutine_handle<> {
  if (connect(promise, place).is_current()) return begin();
  return come_home();
}

auto awaiter_base::yield_first(promise_base& promise, await_place place) noexcept -> std::coroutine_handle<> {
  connect(promise, place);
  return come_home();
}

auto awaiter_base::come_home() noexcept -> std::coroutine_handle<> {
  state_ = state::comes_home;
  where().post_resumption(*this);
  return {};
}

auto awaiter_base::begin() noexcept -> std::coroutine_handle<> {
  state_ = state::waiting;
  scope& in = *promise_->where();
  if (in.stop().requested()) return promise_->stop();
  in.link(*this);
  if (is_traced()) [[unlikely]]
    trace_begin(in);
  return operation_->start(*this);
}

auto awaiter_base::not_started() noexcept -> std::coroutine_handle<> {
  unlink();
  state_ = state::done;
  if (is_traced()) [[unlikely]]
    trace_end();
  return promise_->self();
}

void awaiter_base::complete() noexcept {
  if (completes_later) return complete_later();
  if (is_linked()) unlink();
  state_ = state::done;
  if (is_traced()) [[unlikely]]
    return resume_traced();
  resume(promise_->self());
}

void awaiter_base::trace_begin(const scope& scope) const noexcept {
  if (const std::uint64_t task = task_number(&scope); task != 0)
    trace_note(trace_group::tasks, trace_kind::task_waits, task, trace_number(operation_->name));
  trace_note(trace_group::tasks, trace_kind::wait_begin, trace_wait_number(this), trace_number(operation_->name));
}

void awaiter_base::trace_due(time_point time) const noexcept {
  const time_point now = where().now();
  if (time > now)
    trace_note(trace_group::tasks, trace_kind::wait_due, trace_wait_number(this),
               static_cast<std::uint64_t>(duration(time - now).count()));
}

void awaiter_base::trace_end() const noexcept {
  trace_task(trace_kind::task_runs, *promise_->where());
  trace_note(trace_group::tasks, trace_kind::wait_end, trace_wait_number(this));
}

/// Resumes the coroutine within a slice of the trace. The awaiter may be destroyed before the slice ends.
void awaiter_base::resume_traced() noexcept {
  trace_task(trace_kind::task_runs, *promise_->where());
  const trace_slice slice(trace_group::tasks, trace_kind::coroutine_begin, trace_wait_number(this),
                          code_of(promise_->self()));
  resume(state_ == state::stopped ? promise_->stop() : promise_->self());
}

void awaiter_base::trace_ready() const noexcept {
  trace_task(trace_kind::task_ready, *promise_->where());
  trace_note(trace_group::tasks, trace_kind::wait_ready, trace_wait_number(this));
}

void awaiter_base::complete_later() noexcept {
  if (is_linked()) unlink();
  state_ = state::done;
  if (is_traced()) [[unlikely]]
    trace_ready();
  where().post_resumption(*this);
}

/// Withdraws the operation that the task waits for, because of a stop. If the withdrawal succeeds, the trace shows that
/// the stop has ended the wait now, even if the kernel has not finished the operation yet.
void awaiter_base::stopped(stop_callback& self) noexcept {
  auto& waiting = static_cast<awaiter_base&>(self);
  scope& in = *waiting.promise_->where();
  const trace_slice shown(trace_group::tasks, "stop");
  const withdrawal how = waiting.operation_->withdraw(waiting);
  if (is_traced() && (how == withdrawal::done || how == withdrawal::later)) [[unlikely]]
    waiting.trace_ready();
  switch (how) {
    case withdrawal::done: return waiting.stop_later();
    case withdrawal::later:
    case withdrawal::runs: return in.keep(waiting);
    case withdrawal::too_late: return;
  }
}

void awaiter_base::stop_later() noexcept {
  if (is_linked()) unlink();
  state_ = state::stopped;
  // The task is not resumed immediately, because a running task of the same scope may have requested the stop.
  where().post_resumption(*this);
}

void awaiter_base::resumed(job& self, action /*what*/) {
  auto& waited = static_cast<awaiter_base&>(self);
  ready_awaits_left = ready_awaits_in_succession;
  if (waited.ends_stopped_) {
    if (waited.is_linked()) waited.unlink();
    waited.state_ = state::stopped;
  }
  switch (waited.state_) {
    case state::comes_home: return resume(waited.begin());
    case state::stopped:
      if (is_traced()) [[unlikely]]
        return waited.resume_traced();
      return resume(waited.promise_->stop());
    default: return waited.complete();
  }
}

}  // namespace braid::detail
