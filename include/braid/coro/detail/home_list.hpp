// braid/coro/detail/home_list.hpp: the homes of the process, for a dump that asks each of them for its tasks.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace braid {

class home;
class job;

namespace detail {

/// The outcome of a question to a home.
enum class asked : std::uint8_t {
  on_its_way,  ///< the home's thread will answer it
  to_be_run,   ///< the same, once `home::run_asked` was called; until then the home does not end
  refused,     ///< the home does not run
};

struct home_hook : list_hook {};
struct home_part;

/// All homes that tasks may wait on. A home enters before a task of it waits for the first time, and leaves before it
/// takes its last job, so that every question that has reached it is answered.
/// Threads: any. Blocks: for a lock of the part that the home is in. Protocol: docs/design/dump.md
struct BRAID_API home_list {
  static void add(home& home) noexcept;
  /// Removes a home; does nothing if it is not in the list.
  static void remove(home& home) noexcept;

  /// Calls `ask(home)` for each, under the lock of its part; that neither enters nor leaves the list.
  template <typename Fn>
  static void for_each(Fn ask) {
    each([](home& one, void* context) { (*static_cast<Fn*>(context))(one); }, &ask);
  }

 private:
  static void each(void (*ask)(home&, void*), void* context);
  static void forget_parent(home_part& in) noexcept;
};

}  // namespace detail
}  // namespace braid
