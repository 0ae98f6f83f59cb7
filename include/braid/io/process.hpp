// braid/io/process.hpp: child processes, and handling of signals to this process.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/detail/io_operation.hpp>
#include <braid/io/loop.hpp>

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace braid {

/// A child process. If the object is destroyed before `wait` has returned the status, the process is killed. For
/// instance, a stop of the task that owns the object kills the process. The loop then waits for the end of the process.
/// The options determine the child's stdin, stdout and stderr. The child inherits no other descriptor of braid and no
/// blocked signals, and has the default action for SIGPIPE. Threads: the loop's thread. Before the loop runs, the
/// thread that created this object may also use it. Blocks: `start`, until the program has begun; the destructor, if
/// the loop has been stopped, until the killed process has ended.
class BRAID_API child_process {
 public:
  /// Selects what a standard stream of a child process is connected to.
  enum class stream : std::uint8_t {
    inherit,  ///< the stream of this process
    null,     ///< /dev/null
    pipe,     ///< a pipe to a stream of the child_process
  };

  /// The program that a child process runs, with its arguments and its environment.
  struct options {
    std::string program;                      ///< a path, or a name that is searched for in PATH
    std::vector<std::string> arguments = {};  ///< the arguments after the name of the program
    std::string folder = {};                  ///< the folder of the program; empty: the folder of this process
    /// The environment variables of the child, as `NAME=value`. If there is no list, the child gets the environment of
    /// this process.
    std::optional<std::vector<std::string>> environment = {};
    child_process::stream in = child_process::stream::inherit;
    child_process::stream out = child_process::stream::inherit;
    child_process::stream err = child_process::stream::inherit;
  };

  /// How a process ended: with an exit code, or by a signal.
  struct exit_status {
    int code = 0;    ///< the exit code, if no signal ended it
    int signal = 0;  ///< 0 if no signal ended it
    [[nodiscard]] auto is_success() const noexcept -> bool { return code == 0 && signal == 0; }
    friend auto operator==(const exit_status&, const child_process::exit_status&) -> bool = default;
  };

  /// Starts the program. Errors: system errors, such as no_such_file_or_directory, permission_denied,
  /// too_many_files_open; invalid_argument for a string with a zero byte. errc::status_lost if this program ignores
  /// SIGCHLD (a program may inherit this setting), because the system then discards the status of every child. After an
  /// error, no program has begun. Needs Linux 5.4.
  [[nodiscard]] static auto start(loop& loop, const options& options) -> result<child_process>;

  child_process(child_process&& other) noexcept;
  /// Replaces the child process. The previous child process is killed, as in the destructor.
  auto operator=(child_process&& other) noexcept -> child_process&;
  ~child_process();

  /// Waits until the process has ended. You may call it several times, but only one task at a time may wait. A stop
  /// withdraws the wait. Errors: errc::status_lost if other code of this program has already taken the status, for
  /// example by a call of `wait(nullptr)`, which waits for any child.
  [[nodiscard]] auto wait() -> task<result<exit_status>>;

  /// Sends a signal to the process.
  /// Errors: no_such_process if it has ended.
  [[nodiscard]] auto kill(int signal = SIGTERM) const noexcept -> result<void>;

  [[nodiscard]] auto id() const noexcept -> pid_t { return id_; }

  /// Each of these functions returns this process's end of the pipe to one of the child's streams. If you close the
  /// stream `in()`, the child's input ends.
  [[nodiscard]] auto in() noexcept -> pipe_stream& { return input_; }
  [[nodiscard]] auto out() noexcept -> pipe_stream& { return out_; }
  [[nodiscard]] auto err() noexcept -> pipe_stream& { return err_; }

 private:
  child_process() = default;
  void end() noexcept;

  std::unique_ptr<detail::open_descriptor> process_;  // a pidfd
  std::optional<exit_status> ended_;
  pid_t id_ = -1;
  pipe_stream input_;
  pipe_stream out_;
  pipe_stream err_;
};

/// A set of signals. While the set exists, the only effect of these signals is to wake `next`. After the last set with
/// a signal is destroyed, the signal has the same effect as before the first one was created. Several sets may contain
/// the same signal; each set gets it. As in the kernel, a signal is either pending or not: if a signal is sent again
/// before `next` has returned it, `next` returns it once. Frequent signals never hide other signals. At least one
/// thread must not block the signals. After a fork, the child process has no sets: in the child, the signals have their
/// earlier effect. Threads: the loop's thread, for `next` and the destructor. Protocol: docs/design/sockets.md
class BRAID_API signal_set {
 public:
  /// The maximum number of signal sets that can exist in a process at a time.
  static constexpr std::size_t max_sets = 16;

  /// Creates a set. Errors: invalid_argument for a number that is not a signal or cannot be caught; errc::full if there
  /// are `max_sets` sets; system errors.
  [[nodiscard]] static auto create(loop& loop, std::initializer_list<int> signals) -> result<signal_set>;

  signal_set(signal_set&& other) noexcept;
  /// Releases the signals of this set, as the destructor does.
  auto operator=(signal_set&& other) noexcept -> signal_set&;
  ~signal_set();

  /// Waits for a signal of the set and returns its number. If several signals are pending, successive calls return them
  /// one by one, in no particular order. One task at a time may call it.
  [[nodiscard]] auto next() -> task<result<int>>;

 private:
  signal_set(pipe_stream wakes, std::size_t place) noexcept;

  pipe_stream wakes_;  // the event that the signal handler raises; `next` reads it
  std::optional<std::size_t> place_;
  int last_ = 0;  // the signal that was taken last
};

}  // namespace braid
