// braid/coro/detail/debug_layout.hpp: a table of offsets with which a debugger finds the tasks of a process or a core
// file.
#pragma once

#include <braid/base/config.hpp>

#include <array>
#include <cstdint>

namespace braid {

class stop_callback;

namespace detail {

/// Fills the table. It is a friend of the types whose members the table describes.
struct debug_layout;

/// Describes where an awaiter stores the data that its functions `describe` and `needs` read. Offsets are in bytes.
struct wait_layout {
  enum class kind : std::uint64_t {
    time = 1,    ///< the value is the time_point that ends the wait
    descriptor,  ///< the number of a descriptor, and the flag an io_interest
    lock,        ///< the number of the task that holds it, if the flag says that the wait is queued
    future,      ///< the address of the awaited state: a `task_state` if a task produces the value
  };

  kind what;
  std::uint64_t flag;  ///< the offset of a byte from the awaiter_base; 0 if there is no such byte
  std::uint64_t hops;  ///< the number of pointers that lead to the value: 0 or 1
  /// The path to the value. If `hops` is 0, the first entry is the offset of the value in the awaiter_base. If `hops`
  /// is 1, the first entry is the offset of a pointer, and the second is the offset of the value from the pointer's
  /// target.
  std::array<std::uint64_t, 2> path;

  auto operator==(const wait_layout&) const -> bool = default;
};

}  // namespace detail
}  // namespace braid

extern "C" {

/// The data that share/braid/gdb/braid.py needs to find all tasks, starting at the list of homes, without debug
/// information. One version number covers the layouts of this table and of `wait_layout`. Offsets are in bytes.
struct braid_debug_table {
  std::array<char, 8> magic;  ///< "braidtab"
  std::uint64_t version;
  std::uint64_t words;            ///< the number of words that follow
  const void* const* home_parts;  ///< the parts of the list of homes; null in a process without homes
  void (*is_scope)(braid::stop_callback&) noexcept;  ///< the function that a stop calls for a scope inside another one
  void (*is_wait)(braid::stop_callback&) noexcept;   ///< the function that a stop calls for an awaiter
  void (*is_deaf)(braid::stop_callback&) noexcept;   ///< the function of a wait that no stop ends
  const void* task_info_key;                         ///< the key of scopes with a `task_info`
  std::uint64_t part_count, part_bytes, part_homes;
  std::uint64_t hook_next, callback_code;
  std::uint64_t home_hook, home_root;
  std::uint64_t scope_hook, scope_callbacks, scope_deaf, scope_tasks, scope_deadline, scope_key, scope_value,
      scope_stop;
  std::uint64_t awaiter_hook, awaiter_how, awaiter_promise;
  std::uint64_t operation_name;
  std::uint64_t deaf_hook, deaf_joined, deaf_promise;
  std::uint64_t promise_parent, promise_self, promise_context, promise_scope, promise_at, promise_bytes;
  std::uint64_t info_number, info_name;
  // The following members exist from version 2 on.
  std::uint64_t operation_layout;
  std::uint64_t scope_idle, scope_idle_context;
  // In version 3, `promise_self` replaced two older members, the offset of a wait's handle and the offset of the parent
  // coroutine's handle. `info_name` is now the offset of a pointer. The following member is new.
  std::uint64_t scope_parent;
};

extern BRAID_API const braid_debug_table braid_debug_layout;
}

namespace braid::detail {

/// The first part of the list of homes; null until the first home is added.
extern const void* first_home_part;

}  // namespace braid::detail
