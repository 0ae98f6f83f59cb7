// braid/thread/registry.hpp: the registry of threads, and threads that register themselves.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/thread/detail/registry_handle.hpp>
#include <braid/thread/query.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>

#include <sys/types.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// The entry of a registered thread. It is a copy, which does not change when the thread ends. Threads: like any value.
struct BRAID_API thread_entry {
  std::string tag;
  std::string name;
  ::pid_t tid = 0;
  /// The number of this registration. It is unique among all registrations of the process, in all registries.
  std::uint64_t generation = 0;
  std::chrono::nanoseconds registered_at{};  ///< the time since boot, including the time in which the machine slept

  /// Returns the thread, to read and change its state. Blocks: while it reads a file of /proc. Errors: no_such_process
  /// if the thread has ended, even if a new thread has the same id; system errors.
  [[nodiscard]] auto control() const -> result<thread_info>;

  auto operator==(const thread_entry&) const -> bool = default;
};

namespace detail {
struct observer;
}  // namespace detail

/// The entries of registered threads as they were at one moment, in the order of their registration.
using thread_query = query<detail::snapshot_stage<thread_entry>>;

/// A registry of threads that registered themselves (braid/thread/registry.hpp). It is a handle: copies refer to the
/// same registry, which exists as long as any of its handles, registrations or observers. The registry costs nothing
/// for a thread that does not register. A chain of queries uses the threads that are registered when the chain begins:
/// `registry.where<&thread_entry::tag>("io").apply(&thread_info::set_affinity, cpus)`.
/// Threads: any. Blocks: while another thread copies the entries. Errors: std::bad_alloc.
class BRAID_API thread_registry : public detail::queryable<thread_registry> {
 public:
  /// Makes another registry the default for all threads while this object exists. If there are several such objects,
  /// the last one that was created determines the default; the objects may be destroyed in any order. Existing
  /// registrations stay in their registry.
  /// Threads: any. Errors: std::bad_alloc.
  class BRAID_API scoped_default {
   public:
    explicit scoped_default(const thread_registry& registry);
    scoped_default(const scoped_default&) = delete;
    auto operator=(const scoped_default&) -> scoped_default& = delete;
    ~scoped_default();
  };

  using value_type = thread_entry;

  /// Constructs a new registry without threads.
  thread_registry();
  thread_registry(const thread_registry&) = default;  // and no move: a handle always means a registry
  auto operator=(const thread_registry&) -> thread_registry& = default;
  ~thread_registry() = default;

  /// Returns a query over the currently registered threads, which can be used several times.
  [[nodiscard]] auto snapshot() const -> thread_query { return query(stage()); }
  [[nodiscard]] auto entries() const -> std::vector<thread_entry>;

  /// Returns a query over the threads of several registries. If several handles refer to the same registry, each of its
  /// registrations is in the result only once. Threads: any.
  [[nodiscard]] static auto merged(std::initializer_list<thread_registry> registries) -> thread_query;
  [[nodiscard]] auto size() const -> std::size_t;

  /// Returns whether this registration still exists.
  /// Cost: O(n) for n threads.
  [[nodiscard]] auto has(const thread_entry& entry) const -> bool;

  /// Returns the first stage of a query. Required by `queryable`.
  [[nodiscard]] auto stage() const -> detail::snapshot_stage<thread_entry>;

  /// Returns whether the two handles refer to the same registry.
  auto operator==(const thread_registry& other) const noexcept -> bool { return state_ == other.state_; }

 private:
  friend class registration;
  friend class registry_observer;
  friend class detail::registry_handle;

  explicit thread_registry(std::shared_ptr<detail::registry_state> state) noexcept : state_(std::move(state)) {}

  std::shared_ptr<detail::registry_state> state_;
};

/// Returns the threads of these entries that still exist: `threads_of(registry.where<&thread_entry::tag>("io"))`.
/// Threads: any. Cost: reads a file of /proc for each thread.
template <typename Entries>
[[nodiscard]] auto threads_of(const detail::queryable<Entries>& entries) -> std::vector<thread_info> {
  std::vector<thread_info> threads;
  entries.for_each([&threads](const thread_entry& entry) {
    if (const auto thread = entry.control()) threads.push_back(*thread);
  });
  return threads;
}

/// Calls hooks while this object exists. The hooks are called on the thread that registers or unregisters. No lock is
/// held during the calls, so hooks may query and use registries. Hooks must not wait for a thread that registers.
/// Threads: any thread may create and destroy the observer; several threads may call the hooks at the same time.
/// Blocks: the destructor waits for running calls, unless a hook destroys the observer. Errors: an exception of a hook
/// is printed on stderr; the registration remains valid, and the other hooks are called.
class BRAID_API registry_observer {
 public:
  /// The functions that are called when threads register and unregister. Each of them may be empty.
  struct hooks {
    std::function<void(const thread_entry&)> registered = {};    ///< called when snapshots contain the thread
    std::function<void(const thread_entry&)> unregistered = {};  ///< called when snapshots no longer contain the thread
  };

  registry_observer(const thread_registry& registry, hooks hooks);
  registry_observer(const registry_observer&) = delete;
  auto operator=(const registry_observer&) -> registry_observer& = delete;
  ~registry_observer();

 private:
  std::shared_ptr<detail::registry_state> registry_;
  std::shared_ptr<detail::observer> observer_;
};

/// Returns the registry for threads that specify no registry. The whole process shares it, including shared objects, if
/// braid is a shared library.
/// Threads: any.
[[nodiscard]] BRAID_API auto default_registry() -> thread_registry;

namespace detail {
struct registered_thread_node;
}  // namespace detail

/// Keeps the calling thread registered while this object exists. The object uses the given registry, or the registry
/// that is the default when it is constructed. It unregisters from the same registry, even if the default has changed.
/// A thread may be registered more than once.
///
/// Threads: the object may be destroyed on another thread, but it should be destroyed before the thread that created it
/// ends. Blocks: the constructor and the destructor block while hooks of observers run. Errors: std::bad_alloc. Cost:
/// under 2 µs, if there are no hooks.
class BRAID_API registration {
 public:
  explicit registration(thread_label label);
  registration(const thread_registry& registry, thread_label label);
  registration(const registration&) = delete;
  auto operator=(const registration&) -> registration& = delete;
  ~registration();

  [[nodiscard]] auto entry() const noexcept -> const thread_entry&;

  /// Returns the registry that contains the registration.
  [[nodiscard]] auto registry() const noexcept -> const thread_registry& { return registry_; }

 private:
  thread_registry registry_;
  std::unique_ptr<detail::registered_thread_node> node_;
};

/// A `thread` that registers itself before it calls its callable, and unregisters when the callable returns. Threads:
/// one at a time, like `thread`. Blocks: the destructor blocks until the thread has ended.
class registered_thread : public thread {
 public:
  /// The options: the settings of the thread, and its label in the registry.
  struct options {
    thread_label label;  ///< if its name is empty, the name in `thread` is used
    braid::thread::options thread = {};
    thread_registry registry = default_registry();
  };

  /// Starts a thread as `thread::create` does, and registers it.
  /// Blocks: until the thread is registered and the hooks have returned. Errors: the errors of `thread::create`;
  /// exceptions of the registration, in which case `fn` has not been called.
  template <typename Fn, typename... Args>
    requires detail::thread_callable<Fn, Args...>
  [[nodiscard]] static auto create(options options, Fn&& fn, Args&&... args) -> result<registered_thread>;

  /// Returns the entry with which the thread was registered.
  [[nodiscard]] auto entry() const noexcept -> const thread_entry& { return entry_; }

 private:
  registered_thread(thread&& started, thread_entry entry) : thread(std::move(started)), entry_(std::move(entry)) {}

  thread_entry entry_;
};

template <typename Fn, typename... Args>
  requires detail::thread_callable<Fn, Args...>
auto registered_thread::create(registered_thread::options options, Fn&& fn, Args&&... args)
    -> result<registered_thread> {
  using callable = std::decay_t<Fn>;
  detail::parker registered;
  thread_entry entry;
  std::exception_ptr failure;  // why the thread could not be registered; nothing is called then
  auto body = [&registered, &entry, &failure, registry = options.registry, label = std::move(options.label),
               call = callable(std::forward<Fn>(fn))]<typename... Passed>(Passed&&... passed) mutable
    requires std::is_invocable_v<callable, Passed...>
  {
    std::optional<registration> here;
    try {
      here.emplace(registry, std::move(label));
      entry = here->entry();
    } catch (...) {
      failure = std::current_exception();
      return registered.unpark();
    }
    registered.unpark();  // the last use of an object of the caller
    std::invoke(std::move(call), std::forward<Passed>(passed)...);
  };
  auto started = thread::create(std::move(options.thread), std::move(body), std::forward<Args>(args)...);
  if (!started) return fail(started.error());
  registered.park();
  if (failure != nullptr) std::rethrow_exception(failure);
  return registered_thread(std::move(*started), std::move(entry));
}

}  // namespace braid
