// src/coro/debug_layout.cpp: defines the table of member offsets that debugger scripts read. The compiler computes it.
#include <braid/coro/detail/debug_layout.hpp>

#include "home_part.hpp"

#include <braid/coro/bridge.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/lock_awaiter.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/task/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>

namespace braid::detail {

constinit const void* first_home_part = nullptr;

// The types are not standard-layout types, so `offsetof` is a compiler extension here. This is acceptable, because the
// table describes only what this compiler generates.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

struct debug_layout {
  static constexpr auto table() noexcept -> braid_debug_table {
    constexpr std::uint64_t next = offsetof(list_hook, next_);
    return {
        .magic = {'b', 'r', 'a', 'i', 'd', 't', 'a', 'b'},
        .version = 3,
        .words = (sizeof(braid_debug_table) - offsetof(braid_debug_table, home_parts)) / sizeof(std::uint64_t),
        .home_parts = &first_home_part,
        .is_scope = &scope::parent_stopped,
        .is_wait = &awaiter_base::stopped,
        .is_deaf = &deaf_wait::no_stop,
        .task_info_key = &task_info_key,
        .part_count = home_part_count,
        .part_bytes = sizeof(home_part),
        .part_homes = offsetof(home_part, homes),
        .hook_next = next,
        .callback_code = offsetof(stop_callback, fn_),
        .home_hook = offsetof(home, next_) - next,
        .home_root = offsetof(home, listed_root_),
        .scope_hook = offsetof(scope, next_) - next,
        .scope_callbacks = offsetof(scope, callbacks_),
        .scope_deaf = offsetof(scope, deaf_),
        .scope_tasks = offsetof(scope, tasks_),
        .scope_deadline = offsetof(scope, deadline_),
        .scope_key = offsetof(scope, key_),
        .scope_value = offsetof(scope, value_),
        .scope_stop = offsetof(scope, stop_),
        .awaiter_hook = offsetof(awaiter_base, next_) - next,
        .awaiter_how = offsetof(awaiter_base, operation_),
        .awaiter_promise = offsetof(awaiter_base, promise_),
        .operation_name = offsetof(awaiter_base::operation, name),
        .deaf_hook = offsetof(deaf_wait, next_) - next,
        .deaf_joined = offsetof(deaf_wait, joined_),
        .deaf_promise = offsetof(deaf_wait, promise_),
        .promise_parent = offsetof(promise_base, next),
        .promise_self = offsetof(promise_base, self_),
        .promise_context = offsetof(promise_base, context_),
        .promise_scope = offsetof(promise_base, scope_),
        .promise_at = offsetof(promise_base, place_),
        .promise_bytes = sizeof(promise_base),
        .info_number = offsetof(task_info, id),
        .info_name = offsetof(task_info, name) + offsetof(task_name, text_),
        .operation_layout = offsetof(awaiter_base::operation, layout),
        .scope_idle = offsetof(scope, idle_),
        .scope_idle_context = offsetof(scope, idle_context_),
        .scope_parent = offsetof(scope, parent_),
    };
  }

  /// The offset of the `awaiter_base` within an awaiter. The offsets below are relative to that base. The base begins
  /// with its member `next`, so the offset of `next` is the offset of the base.
  template <typename Awaiter>
  static constexpr std::uint64_t base = offsetof(Awaiter, next);
  static_assert(offsetof(awaiter_base, next) == 0);

  template <typename When>
  static constexpr auto sleep() noexcept -> wait_layout {
    using waiting = sleep_awaiter<When>;
    return {.what = wait_layout::kind::time,
            .flag = 0,
            .hops = 0,
            .path = {offsetof(waiting, until_) + offsetof(When, when) - base<waiting>, 0}};
  }
  static constexpr auto lock() noexcept -> wait_layout {
    using waiting = lock_awaiter<async_semaphore>;
    return {.what = wait_layout::kind::lock,
            .flag = offsetof(waiting, queued_) - base<waiting>,
            .hops = 1,
            .path = {offsetof(waiting, awaited_) - base<waiting>, offsetof(async_semaphore, taken_by_)}};
  }
  template <typename T>
  static constexpr auto future() noexcept -> wait_layout {
    using waiting = future_awaiter<T>;
    return {.what = wait_layout::kind::future,
            .flag = 0,
            .hops = 1,
            .path = {offsetof(waiting, awaited_) - base<waiting>, offsetof(awaited_future<T>, future_)}};
  }

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer, and no debugger reads its programs
  // The debugger script relies on these sizes in addition to the table.
  static_assert(sizeof(stop_flag) == 1 && sizeof(std::source_location) == sizeof(void*));
  static_assert(sizeof(std::coroutine_handle<>) == sizeof(void*) && sizeof(time_point) == sizeof(std::uint64_t));
  static_assert(std::is_same_v<decltype(task_id::number), std::uint64_t>);
#if !defined(_LIBCPP_VERSION)  // the script does not read strings of libc++
  static_assert(sizeof(std::string) == 32 && sizeof(task_name) == sizeof(void*));
#endif
  static_assert(sizeof(wait_layout) == 5 * sizeof(std::uint64_t) && sizeof(bool) == 1);
  static_assert(sizeof(intrusive_list<stop_callback>) == sizeof(list_hook), "a list is its head");
#endif
};

constinit const wait_layout sleep_wait_layout = debug_layout::sleep<at_time>();
constinit const wait_layout lock_wait_layout = debug_layout::lock();
constinit const wait_layout future_wait_layout = debug_layout::future<void>();

// The offsets are the same for every kind of sleep and every type of future.
static_assert(debug_layout::sleep<at_time>() == debug_layout::sleep<after_span>());
static_assert(debug_layout::future<void>() == debug_layout::future<std::string>());

#pragma GCC diagnostic pop

}  // namespace braid::detail

constinit const braid_debug_table braid_debug_layout = braid::detail::debug_layout::table();
