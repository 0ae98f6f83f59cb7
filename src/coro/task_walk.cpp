// src/coro/task_walk.cpp: visits the waiting tasks of a home executor: from its scopes to each wait, and up to the root
// coroutine.
#include <braid/coro/detail/task_walk.hpp>

#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/thread/this_thread.hpp>

#include <algorithm>
#include <array>
#include <new>

namespace braid::detail {
namespace {}  // namespace

auto task_walk::through(home& home) noexcept -> seen_home {
  try {
    task_walk walk(home);
    try {
      // The loop appends nested scopes to the list; recursion could overflow the stack, because scopes may be nested to
      // any depth.
      for (std::size_t place = 0; place < walk.found_.size(); ++place) walk.visit(*walk.found_[place], place);
    } catch (const std::bad_alloc&) {
      walk.home_.is_whole = false;
    }
    return std::move(walk.home_);
  } catch (const std::bad_alloc&) {
    seen_home nothing;
    nothing.is_whole = false;
    return nothing;
  }
}

task_walk::task_walk(home& home) : now_(home.now()) {
  home_.thread = braid::this_thread::name();
  enter(*home.listed_root_, seen_scope::none);
}

void task_walk::enter(scope& found, std::size_t around) {
  seen_scope made{.self = &found, .around = around, .tasks = found.tasks_, .owner = {}};
  if (found.key_ == &task_info_key) made.owner = *static_cast<const task_info*>(found.value_);
  home_.scopes.push_back(std::move(made));
  found_.push_back(&found);
}

/// Visits the waits and nested scopes of a scope. Waits and scopes are registered as stop callbacks, and the function
/// of a callback shows whether it is a wait or a scope. Callbacks with other functions belong to the program. A scope
/// without a parent is shown here, but not inside this scope.
void task_walk::visit(scope& visited, std::size_t place) {
  const auto look = [&](stop_callback& each) {
    if (each.code() == &scope::parent_stopped) {
      scope& found = static_cast<scope&>(each);
      return enter(found, found.parent_ != nullptr ? place : seen_scope::none);
    }
    if (each.code() == &awaiter_base::stopped) return add(static_cast<const awaiter_base&>(each));
    if (each.code() == &deaf_wait::no_stop) return add(static_cast<const deaf_wait&>(each));
  };
  visited.callbacks_.for_each(look);
  visited.deaf_.for_each(look);
}

void task_walk::add(const awaiter_base& waiting) {
  seen_task& made = add_chain(*waiting.promise_);
  made.waits_for = waiting.operation_->name;
  if (waiting.operation_->describe != nullptr) waiting.operation_->describe(waiting, made.details);
  if (waiting.operation_->needs != nullptr) made.needs = waiting.operation_->needs(waiting);
}

void task_walk::add(const deaf_wait& waiting) {
  seen_task& made = add_chain(*waiting.promise_);
  made.waits_for = "tasks of a scope";
  made.joins = waiting.joined_;
  home_.inner.push_back(waiting.joined_);
  ++made.inner;
}

/// Adds a chain of coroutines, from the innermost to the root. The first word of a frame is the address of the function
/// that resumes the coroutine. The parent's frame is found by its handle, so that the alignment of promises does not
/// matter.
auto task_walk::add_chain(const promise_base& lowest) -> seen_task& {
  seen_task made{.first_level = home_.levels.size(), .first_inner = home_.inner.size()};
  const scope& innermost = *lowest.scope_;
  if (innermost.deadline_ != time_point::max()) made.time_left = innermost.deadline_ - now_;
  if (innermost.stop_.requested()) made.stopped_for = innermost.stop_.reason();

  const promise_base* at = &lowest;
  while (true) {
    home_.levels.push_back({*static_cast<void* const*>(at->self_.address()), at->place_});
    const promise_base* const above = at->parent();
    if (above == nullptr) break;
    if (above->scope_ != at->scope_) home_.inner.push_back(at->scope_);
    at = above;
  }
  made.levels = home_.levels.size() - made.first_level;
  made.inner = home_.inner.size() - made.first_inner;
  made.in = at->scope_;
  made.is_owner = at->context_ != at->scope_;
  return home_.tasks.emplace_back(std::move(made));
}

}  // namespace braid::detail
