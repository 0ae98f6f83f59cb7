// src/task/quiesce.cpp: waits until each thread of the library has left the code of the program that it was running.
#include <braid/task/quiesce.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/detail/user_code.hpp>

namespace braid {

auto quiesce() -> result<void> { return quiesce_for(duration::max()); }

auto quiesce_for(detail::time_span limit) -> result<void> {
  if (detail::is_in_user_code()) return fail(errc::would_deadlock);
  const time_point deadline = detail::later(steady_time().now(), limit.value()).value_or(time_point::max());
  if (!detail::await_user_code(deadline)) return fail(errc::deadline_exceeded);
  return {};
}

}  // namespace braid
