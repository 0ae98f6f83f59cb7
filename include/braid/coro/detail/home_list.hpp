// braid/coro/detail/home_list.hpp: a list of all homes of the process, which a dump uses to query the tasks of each
// home.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace braid {

class home;
class job;
class scope;

namespace detail {

/// The result of asking a home about its tasks.
enum class asked : std::uint8_t {
  on_its_way,  ///< the home's thread will answer it
  to_be_run,   ///< the home answers once `home::run_asked` is called, and does not end before
  refused,     ///< the home does not run
};

struct home_hook : list_hook {};
struct home_part;

/// The list of all homes on which tasks may wait. A home is added before one of its tasks waits for the first time. A
/// home is removed before it runs its last job, so that it still answers every question that it has received.
/// Threads: any. Blocks: for the lock of the list part that contains the home. Protocol: docs/design/dump.md
struct BRAID_API home_list {
  /// Adds a home. Dumps show the tasks of the scope `root`, of the scopes inside it, and of the scopes that were passed
  /// to `root.show`.
  static void add(home& home, scope& root) noexcept;
  /// Removes a home; does nothing if it is not in the list.
  static void remove(home& home) noexcept;

  /// Calls `ask(home)` for each home, under the lock of the list part that contains the home. `ask` must not add or
  /// remove homes.
  template <typename Fn>
  static void for_each(Fn ask) {
    each([](home& one, void* context) { (*static_cast<Fn*>(context))(one); }, &ask);
  }

 private:
  static void each(void (*ask)(home&, void*), void* context);
  static void forget_parent(home_part& part) noexcept;
};

}  // namespace detail
}  // namespace braid
