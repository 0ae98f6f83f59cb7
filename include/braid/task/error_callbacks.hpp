// braid/task/error_callbacks.hpp: a list of error callbacks that can be changed while work runs.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace braid {

/// A list of error callbacks, which is itself an error callback. Pass the list as `on_error` to pools, loops, runtimes
/// and servers, and keep a copy of it. Through this copy, you can change the list while these objects run. Copies share
/// one list. Each exception goes to all callbacks, in the order in which they were added; while there is no callback,
/// it goes to stderr. If a callback throws, the other callbacks are still called, and both exceptions go to stderr.
/// Threads: any. Lifetime: the list exists as long as any copy of this object, and therefore as long as the objects to
/// which copies were passed.
class BRAID_API error_callbacks {
 public:
  /// The number of a callback in its list. Numbers are not reused within a list.
  enum class id : std::uint64_t {};

  /// Creates an empty list. Errors: std::bad_alloc.
  error_callbacks();

  /// Adds a callback at the end. Requires that the callback contains a callable. Errors: std::bad_alloc; the list is
  /// unchanged then.
  auto add(error_callback callback) -> id;

  /// Removes a callback: it is not called for later exceptions. A call that has begun on another thread continues, and
  /// keeps the callable alive. Returns false if the list does not contain the callback. Blocks: never, so that a
  /// callback may remove itself. Errors: std::bad_alloc; the list is unchanged then.
  auto remove(id id) -> bool;

  /// Returns whether the list contains this callback.
  [[nodiscard]] auto contains(id id) const -> bool;

  /// Returns the number of callbacks.
  [[nodiscard]] auto size() const -> std::size_t;

  /// Calls all callbacks that are in the list when the call begins. Errors: rethrows the first exception of a callback,
  /// after the other callbacks were called.
  void operator()(const std::exception_ptr& error, const error_callback::origin& origin) const;

 private:
  struct state;

  std::shared_ptr<state> state_;
};

}  // namespace braid
