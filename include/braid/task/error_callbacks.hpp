// braid/task/error_callbacks.hpp: error callbacks that are added and removed while work runs.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace braid {

/// A list of error callbacks, itself one: pass it as `on_error` to pools, loops, runtimes and servers, keep a copy, and
/// change the list while they run. Copies share one list. Each exception goes to all callbacks, in the order in which
/// they were added; while there is no callback, it goes to stderr. If a callback throws, the others are called
/// nevertheless, and its exception goes to stderr in addition to the first one.
/// Threads: any. Lifetime: lives as long as everything that it was passed to.
class BRAID_API error_callbacks {
 public:
  /// The number of a callback in its list. No other callback of the list gets it again.
  enum class id : std::uint64_t {};

  /// Makes an empty list. Errors: std::bad_alloc.
  error_callbacks();

  /// Adds a callback to the end. Requires that it has a callable. Errors: std::bad_alloc, and then the list is as it
  /// was.
  auto add(error_callback callback) -> id;

  /// Removes a callback, which is not called for exceptions after this. A call that has begun on another thread
  /// continues, and keeps the callable alive. Returns false if the list does not have it. Blocks: never, so that a
  /// callback may remove itself. Errors: std::bad_alloc, and then the list is unchanged.
  auto remove(id id) -> bool;

  /// Returns true if the list has this callback.
  [[nodiscard]] auto contains(id id) const -> bool;

  /// Returns how many callbacks there are.
  [[nodiscard]] auto size() const -> std::size_t;

  /// Calls all callbacks that were there when it began. Errors: rethrows what a callback threw first, after the others
  /// were called.
  void operator()(const std::exception_ptr& error, const error_callback::origin& origin) const;

 private:
  struct state;

  std::shared_ptr<state> state_;
};

}  // namespace braid
