// braid/task/run_in.hpp: runs a function on a worker of a pool, and waits for it there and then.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// A job on the stack of the thread that waits for it.
template <typename Fn>
class root_job final : public job {
 public:
  explicit root_job(Fn& fn) noexcept : job(&act), fn_(fn) {}

  [[nodiscard]] auto ended() noexcept -> end_signal& { return ended_; }
  auto take() -> decltype(auto) { return outcome_.take(); }

 private:
  static void act(job& self, action what) {
    auto& mine = static_cast<root_job&>(self);
    if (what == action::run)
      mine.outcome_.keep(mine.fn_);
    else
      mine.outcome_.fail(failure_of(errc::dropped));
    mine.ended_.set();
  }

  Fn& fn_;
  call_outcome<result_of<Fn>> outcome_;
  end_signal ended_;
};

/// Posts the job and blocks until it has ended; in an iteration of an event loop without helping.
BRAID_API void run_root(pool& where, job& root, end_signal& ended);

}  // namespace detail

/// What `fn()` gives, called on a worker of `where`: forks, task groups and parallel algorithms inside of it use that
/// pool. On a worker of this very pool it is a plain call. References stay references; other results are moved.
/// Threads: any. Blocks: until it has ended; on a worker of another pool the work of that pool goes on meanwhile, as
/// where it waits for a future, but not in an iteration of an event loop, which stands until then. Where the scheduler
/// is `current_thread`, the calling thread runs what is queued there. Errors: what `fn` throws; std::system_error with
/// errc::closed when the pool takes nothing more, and with errc::dropped when a shutdown drops the call.
template <typename Fn>
  requires std::invocable<Fn&>
auto run_in(pool& where, Fn&& fn) -> detail::kept_result<Fn> {
  if (where.is_current()) return fn();
  detail::root_job<std::remove_reference_t<Fn>> root(fn);
  detail::run_root(where, root, root.ended());
  if constexpr (std::is_void_v<detail::result_of<Fn>>)
    static_cast<void>(root.take());
  else
    return root.take();
}

}  // namespace braid
