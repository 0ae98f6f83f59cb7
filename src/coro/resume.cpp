// src/coro/resume.cpp: implements symmetric transfer for g++, by a loop that resumes one coroutine after the other.
#include <braid/coro/detail/resume.hpp>

#include <braid/coro/detail/promise.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>

#include <exception>
#include <string>
#include <utility>

namespace braid {

home::~home() = default;

namespace detail {

namespace {

// The coroutine to resume next. It is set only while a coroutine compiled by g++ is about to return control.
constinit thread_local std::coroutine_handle<> next_to_resume __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

void leave_for_resume(std::coroutine_handle<> next) noexcept { next_to_resume = next; }

namespace {

/// Resumes coroutines one after the other, as long as each of them names a coroutine to resume next when it suspends.
void resume_left() noexcept {
  while (const auto at = std::exchange(next_to_resume, nullptr)) at.resume();
}

}  // namespace

/// Resumes a coroutine and its successors. Coroutines compiled by clang transfer directly, so for such coroutines this
/// costs only a call and two loads.
void resume(std::coroutine_handle<> first) noexcept {
  if (next_to_resume) [[unlikely]] {
    // A nested call must not resume the coroutine that the outer call will resume next.
    const auto outer = std::exchange(next_to_resume, nullptr);
    resume(first);
    next_to_resume = outer;
    return;
  }
  if (first) first.resume();
  if (next_to_resume) [[unlikely]]
    resume_left();
}

/// Ends the coroutines of a stopped task, from the innermost to the root. The function uses a loop, so that the stack
/// does not grow with the number of coroutines.
auto promise_base::stop() noexcept -> std::coroutine_handle<> {
  bool may_destroy = scope_ == nullptr || scope_->where().is_current();
  promise_base* at = this;
  while (at->end_ == nullptr) {
    promise_base* const parent = at->parent();
    auto* const owner = static_cast<std::coroutine_handle<>*>(at->context_);
    may_destroy = may_destroy && owner != nullptr;
    at->goes_on_no_more();
    if (may_destroy) std::exchange(*owner, nullptr).destroy();
    at = parent;
  }
  at->goes_on_no_more();
  return at->end_(*at, ending::stopped);
}

void destructor_threw() noexcept {
  std::string sentence = "a destructor of a local variable threw while an unfinished coroutine was destroyed";
  try {
    throw;
  } catch (const std::exception& thrown) {
    sentence.append(": ").append(thrown.what());
  } catch (...) {}
  sentence += "; a destructor must catch what it throws, because no await is left that could rethrow it";
  contract_failed(sentence, "destructors of a coroutine do not throw");
}

void promise_base::end_at_home(ending ending) noexcept {
  if (ending == ending::stopped) goes_on_no_more();
  scope_->where().post_resumption(*this);
}

void promise_base::came_home(job& self, action /*what*/) {
  auto& root = static_cast<promise_base&>(self);
  root.next = nullptr;  // a root has no parent
  if (!root.self_) return resume(root.end_(root, ending::stopped));
  resume(root.self_.done() ? root.end_(root, ending::done) : root.self_);
}

namespace {

constinit thread_local unsigned nested_beginnings __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

/// Starts the root coroutine of a task. The root may be destroyed when its first step has ended.
void promise_base::begin() noexcept {
  if (nested_beginnings == max_nested) [[unlikely]]
    return scope_->where().post_resumption(*this);
  ++nested_beginnings;
  resume(self_);
  --nested_beginnings;
}

}  // namespace detail
}  // namespace braid
