// braid/thread/registered_thread.hpp: a thread that is in a registry while its callable runs.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/thread/registration.hpp>
#include <braid/thread/thread.hpp>

#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

/// The thread, and what it is registered as.
struct registered_thread_options {
  thread_label label;  ///< without a name: the one that `thread` gives it
  thread_options thread = {};
  thread_registry registry = default_registry();
};

/// A `thread` that registers itself before it calls its callable, and unregisters when that returns.
/// Threads: one at a time, as `thread`. Blocks: the destructor, until the thread has ended.
class registered_thread : public thread {
 public:
  /// As `thread::create`. Blocks: until it is registered and the hooks have returned.
  /// Errors: as `thread::create`; also throws what the registration threw, and then `fn` has not been called.
  template <typename Fn, typename... Args>
    requires detail::thread_callable<Fn, Args...>
  [[nodiscard]] static auto create(registered_thread_options options, Fn&& fn, Args&&... args)
      -> result<registered_thread>;

  /// The entry as the registry got it.
  [[nodiscard]] auto entry() const noexcept -> const thread_entry& { return entry_; }

 private:
  registered_thread(thread&& started, thread_entry entry) : thread(std::move(started)), entry_(std::move(entry)) {}

  thread_entry entry_;
};

template <typename Fn, typename... Args>
  requires detail::thread_callable<Fn, Args...>
auto registered_thread::create(registered_thread_options options, Fn&& fn, Args&&... args)
    -> result<registered_thread> {
  using callable = std::decay_t<Fn>;
  detail::parker registered;
  thread_entry entry;
  std::exception_ptr failure;  // why it could not be registered: then nothing is called
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
    registered.unpark();  // the last use of what belongs to the caller
    std::invoke(std::move(call), std::forward<Passed>(passed)...);
  };
  auto started = thread::create(std::move(options.thread), std::move(body), std::forward<Args>(args)...);
  if (!started) return fail(started.error());
  registered.park();
  if (failure != nullptr) std::rethrow_exception(failure);
  return registered_thread(std::move(*started), std::move(entry));
}

}  // namespace braid
