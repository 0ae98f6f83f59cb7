// braid/thread/registry.hpp: registries of threads: which ones there are, and when they start and end.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/query.hpp>
#include <braid/thread/thread_entry.hpp>
#include <braid/thread/thread_info.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace braid {

namespace detail {
struct registry_state;
struct observer;
}  // namespace detail

/// The entries of registered threads as they were at one moment, in the order of their registration.
using thread_query = query<detail::snapshot_stage<thread_entry>>;

/// Threads that registered themselves with it (braid/thread/registration.hpp). A handle: copies mean the same registry,
/// which lives as long as a handle, a registration or an observer of it. A thread that does not register pays nothing.
/// A chain of queries on it sees the threads of the moment in which the chain begins:
/// `registry.where<&thread_entry::tag>("io").apply(&thread_info::set_affinity, cpus)`.
/// Threads: any. Blocks: while another thread copies the entries. Errors: std::bad_alloc.
class BRAID_API thread_registry : public queryable<thread_registry> {
 public:
  using value_type = thread_entry;

  /// A new one, without threads.
  thread_registry();
  thread_registry(const thread_registry&) = default;  // and no move: a handle always means a registry
  auto operator=(const thread_registry&) -> thread_registry& = default;
  ~thread_registry() = default;

  /// The threads of this moment, to be asked several questions.
  [[nodiscard]] auto snapshot() const -> thread_query { return query(stage()); }
  [[nodiscard]] auto entries() const -> std::vector<thread_entry>;
  [[nodiscard]] auto size() const -> std::size_t;

  /// Whether this registration has not ended. Cost: O(n) for n threads.
  [[nodiscard]] auto has(const thread_entry& entry) const -> bool;

  /// For queryable.
  [[nodiscard]] auto stage() const -> detail::snapshot_stage<thread_entry>;

  /// Whether both are handles of one registry.
  auto operator==(const thread_registry& other) const noexcept -> bool { return state_ == other.state_; }

 private:
  friend class registration;
  friend class registry_observer;

  std::shared_ptr<detail::registry_state> state_;
};

/// The threads of several registries, each registration once. Threads: any.
[[nodiscard]] BRAID_API auto merged(std::initializer_list<thread_registry> registries) -> thread_query;

template <std::same_as<thread_registry>... Registries>
[[nodiscard]] auto merged(const Registries&... registries) -> thread_query {
  return merged(std::initializer_list<thread_registry>{registries...});
}

/// The threads of these entries that have not ended: `threads_of(registry.where<&thread_entry::tag>("io"))`.
/// Threads: any. Cost: a read of a file of /proc for each.
template <typename Entries>
[[nodiscard]] auto threads_of(const queryable<Entries>& entries) -> std::vector<thread_info> {
  std::vector<thread_info> threads;
  entries.for_each([&threads](const thread_entry& entry) {
    if (const auto thread = entry.control()) threads.push_back(*thread);
  });
  return threads;
}

/// What is called when threads come and go; either may be empty.
struct registry_hooks {
  std::function<void(const thread_entry&)> registered = {};    ///< after snapshots show it
  std::function<void(const thread_entry&)> unregistered = {};  ///< after snapshots have lost it
};

/// Has the hooks called for as long as it lives: on the thread that registers or unregisters, with no lock held, so
/// that they may query and use registries. They must not wait for a thread that registers.
/// Threads: any may make and destroy it; the hooks are called by several threads at a time.
/// Blocks: the destructor waits for calls that run, unless it is called by a hook.
/// Errors: what a hook throws is printed to stderr; the registration stands, and the other hooks are called.
class BRAID_API registry_observer {
 public:
  registry_observer(const thread_registry& registry, registry_hooks hooks);
  registry_observer(const registry_observer&) = delete;
  auto operator=(const registry_observer&) -> registry_observer& = delete;
  ~registry_observer();

 private:
  std::shared_ptr<detail::registry_state> registry_;
  std::shared_ptr<detail::observer> observer_;
};

/// The registry of threads that name none: one for the whole process, shared objects included, as long as braid is a
/// shared library. Threads: any.
[[nodiscard]] BRAID_API auto default_registry() -> thread_registry;

/// Makes another registry the default for as long as it lives, for all threads. Of several the one that was made last
/// counts; they may end in any order. Registrations stay where they are. Threads: any. Errors: std::bad_alloc.
class BRAID_API scoped_default_registry {
 public:
  explicit scoped_default_registry(const thread_registry& registry);
  scoped_default_registry(const scoped_default_registry&) = delete;
  auto operator=(const scoped_default_registry&) -> scoped_default_registry& = delete;
  ~scoped_default_registry();
};

}  // namespace braid
