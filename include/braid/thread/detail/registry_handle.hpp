// braid/thread/detail/registry_handle.hpp: a handle of a registry of threads, for options. Code that uses this header
// need not include the registry's own header with the queries.
#pragma once

#include <braid/base/config.hpp>

#include <memory>
#include <string>

namespace braid {

class thread_registry;

/// The label of a thread in a registry. The label may have any length, and is independent of the name that the system
/// uses for the thread.
struct thread_label {
  std::string tag;        ///< the kind of the thread: "io"
  std::string name = {};  ///< the name of the thread; empty: its name in the system
};

namespace detail {

struct registry_state;

/// A handle of a `thread_registry`, for options whose headers do not include braid/thread/registry.hpp. It is
/// implicitly constructed from a registry. Threads: like any value. Errors: std::bad_alloc.
class BRAID_API registry_handle {
 public:
  /// Constructs a handle of the current `default_registry()`.
  registry_handle();
  registry_handle(const thread_registry& registry) noexcept;

  /// Returns the registry itself.
  [[nodiscard]] auto registry() const noexcept -> thread_registry;

 private:
  std::shared_ptr<registry_state> state_;
};

}  // namespace detail

}  // namespace braid
