// braid/base/error.hpp: results, error codes, and diagnostics (findings about a document).
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// The errors of the library; errors of the operating system keep their own codes. If the system has a code for the
/// same error, both codes compare equal to the std::errc of that error. So `error == std::errc::invalid_argument` is
/// true whether braid or the kernel has refused a value. In contrast, `error == errc::invalid_argument` is true only if
/// braid has refused the value.
enum class errc {
  stopped = 1,        ///< a stop was requested before the work was done; equals std::errc::operation_canceled
  deadline_exceeded,  ///< the deadline passed before the work was done; equals std::errc::timed_out
  closed,             ///< the executor, loop or channel accepts nothing more
  dropped,            ///< accepted work was discarded by a shutdown before it ran
  cycle,              ///< the edges of a graph form a cycle
  would_deadlock,     ///< the caller would wait for itself; equals std::errc::resource_deadlock_would_occur
  invalid_argument,   ///< the call does not allow this value; equals std::errc::invalid_argument
  broken_promise,     ///< there will be no result, because its producer was destroyed
  already_set,        ///< a value that is set once is set already: the result of a promise, the runtime of the process
  full,               ///< there is no room for more
  stale,              ///< the handle's job has ended, and its slot was used again
  finished,           ///< too late: the job has finished
  unfinished,         ///< too early: the job has not finished
  ended,              ///< the other side has ended the stream before all expected data arrived
  unknown_host,       ///< no address was found for this host name
  unknown_backend,    ///< the variable BRAID_IO names no backend of event loops
  status_lost,        ///< other code has collected the status of a child process, or SIGCHLD is ignored
  bad_address,        ///< the text is not an address; equals std::errc::invalid_argument
  bad_interval,       ///< the interval is not positive, or too long; equals std::errc::invalid_argument
  too_long,           ///< a line or a block exceeds the limit of its reader; equals std::errc::message_size
};

namespace detail {

/// Returns the category of `errc`; its messages are sentences. Threads: any.
BRAID_API auto braid_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts an `errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(errc code) noexcept -> std::error_code;

/// A value, or the error code that tells why there is no value.
template <typename T>
using result = std::expected<T, std::error_code>;

/// Returns an error as a result: `return fail(errc::closed);`.
inline auto fail(std::error_code code) -> std::unexpected<std::error_code> { return std::unexpected(code); }

/// Returns the value of a result, or throws its error: `auto listener = or_throw(stream_listener::…);`.
/// Errors: throws std::system_error with the error's code and message. If the string `what` is given, it precedes the
/// message.
template <typename T>
auto or_throw(result<T> from, const char* what = nullptr) -> T {
  if (!from) throw what != nullptr ? std::system_error(from.error(), what) : std::system_error(from.error());
  if constexpr (!std::is_void_v<T>) return *std::move(from);
}

/// Returns the last error of a system call of the calling thread, from errno. Threads: any.
BRAID_API auto last_system_error() noexcept -> std::error_code;

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::errc> : std::true_type {};

namespace braid {

/// A diagnostic: one finding about a document, such as a settings file. `code` is stable and intended for programs;
/// `message` is a sentence for people.
struct diagnostic {
  std::string code;     ///< snake_case, never renamed: "unknown_key"
  std::string pointer;  ///< JSON pointer (RFC 6901) into the document, or empty for the whole document
  std::string message;  ///< one sentence that describes the error
  std::string hint;     ///< what the reader can do about it, or empty
  std::string node;     ///< the node of the plan, or empty
  std::string source;   ///< the file that was read, or empty

  auto operator==(const diagnostic&) const -> bool = default;
};

/// A list of diagnostics in the order in which they were found. It keeps only the first `max_items`, so that a document
/// with a million errors does not use too much memory. Threads: like a standard container. Errors: std::bad_alloc.
class BRAID_API diagnostics {
 public:
  static constexpr std::size_t max_items = 1'000;

  diagnostics() = default;
  explicit diagnostics(diagnostic only) { add(std::move(only)); }

  void add(diagnostic item) {
    if (items_.size() < max_items) items_.push_back(std::move(item));
  }
  void append(diagnostics others);

  /// Sets the member `source` of every diagnostic that has an empty `source`.
  void set_source(std::string_view source);
  /// Sets the member `node` of every diagnostic that has an empty `node`.
  void set_node(std::string_view node);

  [[nodiscard]] auto empty() const noexcept -> bool { return items_.empty(); }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return items_.size(); }
  [[nodiscard]] auto begin() const noexcept { return items_.begin(); }
  [[nodiscard]] auto end() const noexcept { return items_.end(); }
  [[nodiscard]] auto front() const noexcept -> const diagnostic& { return items_.front(); }

  /// Returns one line for each diagnostic, which ends with a line break: "source#/pointer: node `name`: sentence
  /// [code]; hint".
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  std::vector<diagnostic> items_;
};

/// A value that was created from some data, or all diagnostics of the data if it was not valid.
template <typename T>
using checked = std::expected<T, diagnostics>;

/// Returns the checked value, or throws its diagnostics, like `or_throw` of a result.
/// Errors: throws std::invalid_argument with all diagnostics as text. If the string `what` is given, it precedes the
/// diagnostics.
template <typename T>
auto or_throw(checked<T> from, std::string_view what = {}) -> T {
  if (!from)
    throw std::invalid_argument(std::string(what).append(what.empty() ? "" : ": ").append(from.error().to_text()));
  return *std::move(from);
}

/// Appends one reference token to a JSON pointer, with `~` and `/` escaped. Threads: any. Errors: std::bad_alloc.
BRAID_API auto json_pointer(std::string_view parent, std::string_view token) -> std::string;
BRAID_API auto json_pointer(std::string_view parent, std::size_t index) -> std::string;

/// Returns "did you mean `x`?" with the known name nearest to `name` (the first of several), or an empty string if no
/// name is near.
/// Threads: any. Errors: std::bad_alloc.
BRAID_API auto did_you_mean(std::string_view name, const std::vector<std::string_view>& known) -> std::string;

}  // namespace braid
