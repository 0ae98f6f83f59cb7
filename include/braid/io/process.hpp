// braid/io/process.hpp: child processes, and signals to this process.
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

/// A child process that ends with the object: if a scope is stopped, or the object is destroyed before `wait` has
/// returned the status, the process is killed, and the loop awaits its end. It has our stdin, stdout and stderr as the
/// options say, no other descriptor of braid's, no blocked signal, and the default action for SIGPIPE.
/// Threads: the loop's own; before the loop runs, the thread that created it. Blocks: `start`, until the program has
/// begun; the destructor, if the loop has been stopped, until the killed process has ended.
class BRAID_API child_process {
 public:
  /// The target of a standard stream of a child process.
  enum class stream : std::uint8_t {
    inherit,  ///< the same as ours
    null,     ///< to /dev/null
    pipe,     ///< to a stream of the child_process
  };

  /// The program that a child process runs, with its arguments and surroundings.
  struct options {
    std::string program;                      ///< a path, or a name that is looked for in PATH
    std::vector<std::string> arguments = {};  ///< after the name of the program
    std::string folder = {};                  ///< in which it runs; empty: ours
    /// `NAME=value`; without it, ours.
    std::optional<std::vector<std::string>> environment = {};
    child_process::stream in = child_process::stream::inherit;
    child_process::stream out = child_process::stream::inherit;
    child_process::stream err = child_process::stream::inherit;
  };

  /// How a process ended: by itself, or by a signal.
  struct exit_status {
    int code = 0;    ///< the exit code, if no signal ended it
    int signal = 0;  ///< 0 if no signal ended it
    [[nodiscard]] auto is_success() const noexcept -> bool { return code == 0 && signal == 0; }
    friend auto operator==(const exit_status&, const child_process::exit_status&) -> bool = default;
  };

  /// Errors: the system's, such as no_such_file_or_directory, permission_denied, too_many_files_open; invalid_argument
  /// for a word with a zero byte; errc::status_lost if SIGCHLD is ignored, which a program may inherit, because the
  /// system then discards the status of every child. If it fails, no program has begun. Needs Linux 5.4.
  [[nodiscard]] static auto start(loop& loop, const options& options) -> result<child_process>;

  child_process(child_process&& other) noexcept;
  /// Ends the child process that this object has had as the destructor does.
  auto operator=(child_process&& other) noexcept -> child_process&;
  ~child_process();

  /// Waits until it has ended. May be called again, one task at a time. A stop withdraws the wait.
  /// Errors: errc::status_lost if other code of this program has waited for any child, as `wait(nullptr)` does.
  [[nodiscard]] auto wait() -> task<result<exit_status>>;

  /// Sends a signal.
  /// Errors: no_such_process if it has ended.
  [[nodiscard]] auto kill(int signal = SIGTERM) const noexcept -> result<void>;

  [[nodiscard]] auto id() const noexcept -> pid_t { return id_; }

  /// Returns our ends of its streams, if they are pipes. Closing `in` ends its input.
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

/// A set of signals. While it lives, these signals do nothing except wake it; afterwards they do what they did before
/// the first set that contained them. Several sets may contain the same signal: each sees it. As in the system, a
/// signal is pending or not: a signal that is sent again before it was taken counts once, and no signal, however often
/// it is sent, hides another. One thread that does not block the signal is enough. The child of a fork has no sets: its
/// signals do what they did before the first set.
/// Threads: the loop's own, for `next` and the destructor.
/// Protocol: docs/design/sockets.md
class BRAID_API signal_set {
 public:
  /// The maximum number of sets of a process at a time.
  static constexpr std::size_t max_sets = 16;

  /// Errors: invalid_argument for a number that is not a signal or cannot be caught; errc::full; the system's.
  [[nodiscard]] static auto create(loop& loop, std::initializer_list<int> signals) -> result<signal_set>;

  signal_set(signal_set&& other) noexcept;
  /// Releases the signals of this set, as the destructor does.
  auto operator=(signal_set&& other) noexcept -> signal_set&;
  ~signal_set();

  /// Waits for a signal of the set and returns its number. If several are pending, they are returned round robin,
  /// whichever came first. One task at a time.
  [[nodiscard]] auto next() -> task<result<int>>;

 private:
  signal_set(pipe_stream wakes, std::size_t place) noexcept;

  pipe_stream wakes_;  // of an event that the handler raises: `next` reads it
  std::optional<std::size_t> place_;
  int last_ = 0;  // the signal that was taken last
};

}  // namespace braid
