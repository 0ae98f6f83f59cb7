// src/coro/resume.cpp: the loop that resumes one coroutine after the other.
#include <braid/coro/detail/resume.hpp>

#include <braid/coro/detail/promise.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>

#include <utility>

namespace braid {

home::~home() = default;

namespace detail {

#if defined(__clang__)
void resume(std::coroutine_handle<> first) noexcept {
  if (first) first.resume();
}
#else
namespace {

constinit thread_local std::coroutine_handle<> next_to_resume = nullptr;

}  // namespace

void transfer_to(std::coroutine_handle<> next) noexcept { next_to_resume = next; }

void resume(std::coroutine_handle<> first) noexcept {
  // A resume inside of another one must not take the handle that the outer one is about to go on with.
  const std::coroutine_handle<> outer = std::exchange(next_to_resume, nullptr);
  for (auto at = first; at; at = std::exchange(next_to_resume, nullptr)) at.resume();
  next_to_resume = outer;
}
#endif

void promise_base::end_at_home(ending how) noexcept {
  ended_ = how;
  scope_->where().post_resumption(*this);
}

void promise_base::ends_at_home(job& self, action /*what*/) {
  auto& root = static_cast<promise_base&>(self);
  resume(root.end_(root, root.ended_));
}

}  // namespace detail
}  // namespace braid
