// src/io/program.hpp: starts a program in its own process, and returns a descriptor of the process.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/process.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace braid::detail {

/// A child process as the system names it: by a descriptor, and by a number for systems that refuse calls with that.
struct child_name {
  int process;  // a pidfd
  pid_t id;
};

/// The result of a check of a child process.
struct child_look {
  int error = 0;                                         // of the system; else 0
  std::optional<child_process::exit_status> ended = {};  // empty while it runs
};

/// Checks whether a child process has ended, and then removes it from the system's table. Blocks until it has ended,
/// unless `flags` has WNOHANG. Uses waitid(2) with the pidfd, or wait4(2) if the system refuses that.
[[nodiscard]] auto look_at(child_name child, int flags) noexcept -> child_look;

/// Waits for the end of a child process, and removes it from the system's table.
void reap(child_name child) noexcept;

/// Sends a signal to a child process by its pidfd, or by kill(2) if the system refuses that. Errors: no_such_process if
/// it was reaped; the system's.
[[nodiscard]] auto send_signal(child_name child, int signal) noexcept -> result<void>;

/// A running program. The destructor kills and reaps it if the object still has the descriptor.
class running_program {
 public:
  running_program(pid_t id, descriptor process) noexcept : process_(std::move(process)), id_(id) {}
  running_program(running_program&&) noexcept = default;
  auto operator=(running_program&&) -> running_program& = delete;
  ~running_program();

  [[nodiscard]] auto id() const noexcept -> pid_t { return id_; }
  [[nodiscard]] auto process() noexcept -> descriptor& { return process_; }

 private:
  descriptor process_;  // a pidfd
  pid_t id_;
};

/// All that a child process needs to become a program, ready before there is a child: the child shares the memory of
/// this process until then, and makes system calls only.
class program_start {
 public:
  /// Lifetime: of the options, until `run` has returned.
  explicit program_start(const child_process::options& options);

  /// Returns our end of a pipe, or a closed descriptor.
  [[nodiscard]] auto lead(int stream, child_process::stream where) -> result<descriptor>;

  /// Errors: the system's. If it fails, no program has begun, and no process is left.
  [[nodiscard]] auto run() -> result<running_program>;

  /// The data that the child reads: pointers and numbers only, no objects with code of their own.
  struct child_view {
    const char* const* paths = nullptr;  // those to try, and a null
    char* const* words = nullptr;
    char* const* variables = nullptr;
    const char* folder = nullptr;  // null: ours
    int sources[3] = {};           // of the streams: a descriptor above them, `inherited` or `nothing`
    int error = 0;                 // set by the child if it cannot execute the program
  };
  static constexpr int inherited = -1;
  static constexpr int nothing = -2;

 private:
  void list_paths(const std::string& program);

  std::vector<std::string> in_path_;  // the paths to try
  std::vector<const char*> paths_;
  std::vector<char*> words_;
  std::vector<char*> variables_;
  std::array<descriptor, 3> theirs_;  // closed once the child has them
  std::unique_ptr<std::byte[]> stack_;
  child_view view_;
};

}  // namespace braid::detail
