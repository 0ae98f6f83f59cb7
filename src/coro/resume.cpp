// src/coro/resume.cpp: symmetric transfer as a loop that resumes one coroutine after the other.
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

// Null unless a coroutine that g++ has compiled is about to return control.
constinit thread_local std::coroutine_handle<> next_to_resume __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

void leave_for_resume(std::coroutine_handle<> next) noexcept { next_to_resume = next; }

namespace {

/// Goes on with what the suspended coroutines leave, one after the other.
void resume_left() noexcept {
  while (const auto at = std::exchange(next_to_resume, nullptr)) at.resume();
}

}  // namespace

/// Coroutines of clang leave nothing: for them it is a call and two loads.
void resume(std::coroutine_handle<> first) noexcept {
  if (next_to_resume) [[unlikely]] {
    // A nested resume must not take the handle that the outer one will resume next.
    const auto outer = std::exchange(next_to_resume, nullptr);
    resume(first);
    next_to_resume = outer;
    return;
  }
  if (first) first.resume();
  if (next_to_resume) [[unlikely]]
    resume_left();
}

/// Resumes one after the other, and none from inside of another, so that the stack does not grow with their number.
auto promise_base::stop() noexcept -> std::coroutine_handle<> {
  bool may_destroy = scope_ == nullptr || scope_->where().is_current();
  promise_base* at = this;
  while (at->end_ == nullptr) {
    promise_base* const parent = at->parent_;
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
  std::string sentence = "a destructor of a local of a coroutine threw while its frame was destroyed before its end";
  try {
    throw;
  } catch (const std::exception& thrown) {
    sentence.append(": ").append(thrown.what());
  } catch (...) {}
  sentence += "; a destructor must catch what it throws, because no await is left that could rethrow it";
  contract_failed(sentence, "the coroutine has no result any more");
}

void promise_base::end_at_home(ending ending) noexcept {
  ended_ = ending;
  scope_->where().post_resumption(*this);
}

void promise_base::came_home(job& self, action /*what*/) {
  auto& root = static_cast<promise_base&>(self);
  if (const auto first = std::exchange(root.continuation_, nullptr)) return resume(first);
  resume(root.end_(root, root.ended_));
}

namespace {

constinit thread_local unsigned nested_beginnings __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

/// The root may be gone when its first step is over.
void promise_base::begin(std::coroutine_handle<> self) noexcept {
  if (nested_beginnings == max_nested) [[unlikely]] {
    continuation_ = self;
    return scope_->where().post_resumption(*this);
  }
  ++nested_beginnings;
  resume(self);
  --nested_beginnings;
}

}  // namespace detail
}  // namespace braid
