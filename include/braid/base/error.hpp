// braid/base/error.hpp: the errors that braid itself reports, as std::error_code, and result<T> that carries them.
#pragma once

#include <braid/base/config.hpp>

#include <expected>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid {

/// What the world may refuse; the operating system's own refusals keep their own codes. Where the system has a code for
/// the same refusal, both compare equal to that std::errc: `error == std::errc::invalid_argument` is true for a value
/// that braid refuses and for one that the kernel does. `error == errc::invalid_argument` is braid's refusal alone.
enum class errc {
  stopped = 1,        ///< a stop was requested before the work was done; equals std::errc::operation_canceled
  deadline_exceeded,  ///< the deadline passed before the work was done; equals std::errc::timed_out
  closed,             ///< the executor, loop or channel takes nothing more
  dropped,            ///< accepted work was discarded by a shutdown before it ran
  cycle,              ///< the edges of a graph form a cycle
  would_deadlock,     ///< the caller would wait for itself; equals std::errc::resource_deadlock_would_occur
  invalid_argument,   ///< a value outside of what the call allows; equals std::errc::invalid_argument
  broken_promise,     ///< the result will not come: its producer has gone
  already_set,        ///< what is set once has been: the result of a promise, the runtime of the process
  full,               ///< there is no room for more
  stale,              ///< what the handle named has ended, and its place was used again
  finished,           ///< too late: the job has finished
  unfinished,         ///< too early: the job has not finished
  ended,              ///< the other side has ended the stream before there was all that was to be read
  unknown_host,       ///< no address is known under this name
  unknown_backend,    ///< the variable BRAID_IO names no backend of event loops
  status_lost,        ///< the status of a child process went elsewhere, or SIGCHLD is ignored
  bad_address,        ///< the text is no address; equals std::errc::invalid_argument
  bad_interval,       ///< the interval is not positive, or leads beyond the end of time; equals the same
};

/// The category of `errc`; its messages are sentences. Threads: any.
BRAID_API auto braid_category() noexcept -> const std::error_category&;

/// Lets an `errc` stand wherever a std::error_code is wanted.
BRAID_API auto make_error_code(errc code) noexcept -> std::error_code;

/// A value, or why there is none.
template <typename T>
using result = std::expected<T, std::error_code>;

/// The failing side of a result: `return fail(errc::closed);`.
inline auto fail(std::error_code code) -> std::unexpected<std::error_code> { return std::unexpected(code); }

/// The value of a result, where an error is to end what is being done: `auto listener = or_throw(stream_listener::…);`.
/// Errors: throws std::system_error with the error's code and message, and with `what` before it, where that is given.
template <typename T>
auto or_throw(result<T> from, const char* what = nullptr) -> T {
  if (!from) throw what != nullptr ? std::system_error(from.error(), what) : std::system_error(from.error());
  if constexpr (!std::is_void_v<T>) return *std::move(from);
}

/// The last error of a system call of the calling thread, from errno. Threads: any.
BRAID_API auto last_system_error() noexcept -> std::error_code;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::errc> : std::true_type {};
