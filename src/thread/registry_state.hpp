// src/thread/registry_state.hpp: declares the data that all handles of a thread registry share.
#pragma once

#include <braid/base/intrusive_list.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/thread/registry.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace braid::detail {

/// An entry of a thread registry. The thread's registration owns the entry, and the entry is in the list as long as the
/// registration exists.
struct registered_thread_node : list_hook {
  thread_entry entry;
};

/// The hooks of one observer. The object counts the running calls of its hooks, so that the observer's destructor can
/// wait for them.
struct observer {
  explicit observer(registry_observer::hooks called) : hooks(std::move(called)) {}

  /// Calls the hook, unless the observer has ended.
  void call(std::function<void(const thread_entry&)> registry_observer::hooks::* hook,
            const thread_entry& entry) noexcept;
  void end() noexcept;

  registry_observer::hooks hooks;
  std::mutex mutex;
  std::condition_variable left;
  std::size_t inside = 0;  // the number of running calls
  bool ended = false;
};

using observers = std::vector<std::shared_ptr<observer>>;

struct registry_state {
  void add(registered_thread_node& node) noexcept;
  void remove(registered_thread_node& node) noexcept;
  /// Removes the parent's threads from the list in the child of a fork, because their ids refer to threads of the
  /// parent. Must be called under the lock, before any use of the list.
  void forget_parent() noexcept;

  fork_safe_mutex mutex;
  intrusive_list<registered_thread_node> threads;  // the threads in the order of registration
  std::size_t size = 0;
  std::uint64_t forks = 0;                    // the number of forks of the process when the list was used last
  std::shared_ptr<const observers> watching;  // replaced as a whole, so that calls need no lock
};

}  // namespace braid::detail
