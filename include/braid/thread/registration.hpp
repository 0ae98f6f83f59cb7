// braid/thread/registration.hpp: keeps the calling thread in a registry.
#pragma once

#include <braid/base/config.hpp>
#include <braid/thread/registry.hpp>

#include <memory>

namespace braid {

namespace detail {
struct registered_thread_node;
}  // namespace detail

/// Keeps the calling thread in a registry for as long as this lives: in the one that was given, or that was the default
/// when it began. It unregisters there, whatever the default is by then. A thread may be registered more than once.
///
/// Threads: may be destroyed on another thread. The thread that made it should not end before it.
/// Blocks: both ends, while hooks of observers run. Errors: std::bad_alloc. Cost: under 2 µs, where there are no hooks.
class BRAID_API registration {
 public:
  explicit registration(thread_label label);
  registration(const thread_registry& registry, thread_label label);
  registration(const registration&) = delete;
  auto operator=(const registration&) -> registration& = delete;
  ~registration();

  [[nodiscard]] auto entry() const noexcept -> const thread_entry&;

  /// Where it is registered.
  [[nodiscard]] auto registry() const noexcept -> const thread_registry& { return registry_; }

 private:
  thread_registry registry_;
  std::unique_ptr<detail::registered_thread_node> node_;
};

}  // namespace braid
