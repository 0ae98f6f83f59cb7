// src/io/program.cpp: creates a child process with clone(2), and contains the code that the child runs before exec.
#include "program.hpp"

#include "../platform/descriptors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if !defined(CLONE_PIDFD)
#define CLONE_PIDFD 0x00001000
#endif

// The child shares the memory of its parent, so a sanitizer's instrumentation would record the child's accesses as
// accesses of the parent.
#if defined(__clang__)
#define BRAID_IN_CHILD __attribute__((disable_sanitizer_instrumentation))
#else
#define BRAID_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))
#endif

#if defined(__SANITIZE_THREAD__)
#define BRAID_CLONE __clone
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BRAID_CLONE __clone
#endif
#endif

#if defined(BRAID_CLONE)
/// Another name of `clone`. The thread sanitizer would interpret a call of `clone` as a fork and forget all other
/// threads, but here the child shares the memory of these threads.
extern "C" auto __clone(int (*fn)(void*), void* stack, int flags, void* context, ...) -> int;
#else
#define BRAID_CLONE ::clone
#endif

namespace braid::detail {
namespace {

using child_view = program_start::child_view;

constexpr std::size_t stack_size = std::size_t{32} * 1024;
constexpr int last_signal = 64;
constexpr std::size_t signal_set_size = 8;  // the size of the kernel's signal set

/// The kernel's `struct sigaction`. Its first word is the handler.
struct kernel_action {
  long handler = 0;  // 0: the default, 1: ignored
  long rest[7] = {};
};

/// Resets all signal handlers in the child, before signals are unblocked. Otherwise a handler could run in the child
/// and change the memory of the parent, which the child shares.
BRAID_IN_CHILD void drop_handlers() noexcept {
  for (int signal = 1; signal <= last_signal; ++signal) {
    kernel_action action;
    if (::syscall(SYS_rt_sigaction, signal, nullptr, &action, signal_set_size) != 0) continue;
    const bool is_caught = action.handler != 0 && action.handler != 1;
    if (!is_caught && signal != SIGPIPE) continue;
    const kernel_action usual;
    static_cast<void>(::syscall(SYS_rt_sigaction, signal, &usual, nullptr, signal_set_size));
  }
}

BRAID_IN_CHILD auto lead_stream(int stream, int source) noexcept -> bool {
  if (source == program_start::inherited) return true;
  if (source != program_start::nothing) return ::syscall(SYS_dup3, source, stream, 0) == stream;
  const int mode = stream == 0 ? O_RDONLY : O_WRONLY;
  const long opened = ::syscall(SYS_openat, AT_FDCWD, "/dev/null", mode, 0);
  if (opened < 0 || opened == stream) return opened == stream;
  const bool led = ::syscall(SYS_dup3, opened, stream, 0) == stream;
  static_cast<void>(::syscall(SYS_close, opened));
  return led;
}

/// Returns whether execvp(3) would continue with the next folder of PATH after this error.
BRAID_IN_CHILD auto may_be_elsewhere(int error) noexcept -> bool {
  return error == EACCES || error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ENODEV ||
         error == ESTALE || error == ETIMEDOUT;
}

/// Executes the program. Returns only if that fails, and then returns the error.
BRAID_IN_CHILD auto execute(const child_view& plan) noexcept -> int {
  int error = ENOENT;
  for (const char* const* path = plan.paths; *path != nullptr; ++path) {
    static_cast<void>(::syscall(SYS_execve, *path, plan.words, plan.variables));
    const int refused = errno;
    if (!may_be_elsewhere(refused)) return refused;
    if (error != EACCES) error = refused;
  }
  return error;
}

BRAID_IN_CHILD auto try_to_become(const child_view& plan) noexcept -> int {
  drop_handlers();
  for (int stream = 0; stream < 3; ++stream)
    if (!lead_stream(stream, plan.sources[stream])) return errno;
  if (plan.folder != nullptr && ::syscall(SYS_chdir, plan.folder) != 0) return errno;
  const unsigned long none = 0;
  if (::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, signal_set_size) != 0) return errno;
  return execute(plan);
}

/// The main function of the child, on its own stack. The parent's thread waits until the child has executed the program
/// or has exited.
BRAID_IN_CHILD auto become(void* context) noexcept -> int {
  auto& plan = *static_cast<child_view*>(context);
  plan.error = try_to_become(plan);
  ::syscall(SYS_exit_group, 127);
  return 127;
}

/// Blocks all signals while the object exists.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  auto operator=(const signals_blocked&) -> signals_blocked& = delete;
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Duplicates the descriptor if its number is 0, 1 or 2. A pipe gets such a number if a standard stream of this process
/// is closed; the child would mistake the pipe for that stream.
auto above_streams(descriptor end) -> result<descriptor> {
  if (end.number() > STDERR_FILENO) return end;
  descriptor moved(::fcntl(end.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved) return fail(last_system_error());
  return moved;
}

}  // namespace

namespace {

auto status_of(const siginfo_t& about) noexcept -> child_process::exit_status {
  if (about.si_code == CLD_EXITED) return {.code = about.si_status, .signal = 0};
  return {.code = 0, .signal = about.si_status};
}

auto status_of(int status) noexcept -> child_process::exit_status {
  if (WIFEXITED(status)) return {.code = WEXITSTATUS(status), .signal = 0};
  return {.code = 0, .signal = WTERMSIG(status)};
}

/// Does the same as `look_at`, but finds the child process by its number instead of its pidfd.
auto look_by_number(pid_t id, int flags) noexcept -> child_look {
  int status = 0;
  pid_t found = 0;
  do {
    found = ::wait4(id, &status, flags, nullptr);
  } while (found < 0 && errno == EINTR);
  if (found < 0) return {.error = errno};
  return found == 0 ? child_look() : child_look{.ended = status_of(status)};
}

}  // namespace

auto look_at(child_name child, int flags) noexcept -> child_look {
  siginfo_t about{};
  int failed = 0;
  do {
    failed = ::waitid(P_PIDFD, static_cast<id_t>(child.process), &about, WEXITED | flags);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return about.si_pid == 0 ? child_look() : child_look{.ended = status_of(about)};
  return errno == ECHILD ? child_look{.error = ECHILD} : look_by_number(child.id, flags);
}

void reap(child_name child) noexcept { static_cast<void>(look_at(child, 0)); }

/// The child's number cannot refer to another process before the child is reaped, and only this process reaps the
/// child.
auto send_signal(child_name child, int signal) noexcept -> result<void> {
  if (::syscall(SYS_pidfd_send_signal, child.process, signal, nullptr, 0) == 0) return {};
  if (errno == ESRCH || errno == EINVAL) return fail(last_system_error());
  siginfo_t about{};
  if (::waitid(P_PID, static_cast<id_t>(child.id), &about, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD)
    return fail(std::make_error_code(std::errc::no_such_process));
  if (::kill(child.id, signal) != 0) return fail(last_system_error());
  return {};
}

running_program::~running_program() {
  if (!process_) return;
  static_cast<void>(send_signal({.process = process_.number(), .id = id_}, SIGKILL));
  reap({.process = process_.number(), .id = id_});
}

program_start::program_start(const child_process::options& options)
    : stack_(std::make_unique<std::byte[]>(stack_size)) {
  list_paths(options.program);
  words_.push_back(const_cast<char*>(options.program.c_str()));
  for (const std::string& each : options.arguments) words_.push_back(const_cast<char*>(each.c_str()));
  words_.push_back(nullptr);
  if (options.environment)
    for (const std::string& each : *options.environment) variables_.push_back(const_cast<char*>(each.c_str()));
  variables_.push_back(nullptr);
  view_.paths = paths_.data();
  view_.words = words_.data();
  view_.variables = options.environment ? variables_.data() : environ;
  view_.folder = options.folder.empty() ? nullptr : options.folder.c_str();
}

/// Lists the paths to try. A name without a slash is searched for in PATH. An empty part of PATH means the folder in
/// which the program will run.
void program_start::list_paths(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    paths_ = {program.c_str(), nullptr};
    return;
  }
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/bin:/usr/bin";
  for (bool more = !program.empty(); more;) {
    const std::size_t end = rest.find(':');
    const std::string_view folder = rest.substr(0, end);
    in_path_.push_back(folder.empty() ? program : std::string(folder) + "/" + program);
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  for (const std::string& each : in_path_) paths_.push_back(each.c_str());
  paths_.push_back(nullptr);
}

auto program_start::lead(int stream, child_process::stream target) -> result<descriptor> {
  const auto at = static_cast<std::size_t>(stream);
  view_.sources[at] = target == child_process::stream::null ? nothing : inherited;
  if (target != child_process::stream::pipe) return descriptor();
  std::array<int, 2> numbers{};
  if (open_pipe(numbers, blocking_mode::blocking) != 0) return fail(last_system_error());
  std::array ends{above_streams(descriptor(numbers[0])), above_streams(descriptor(numbers[1]))};
  for (const result<descriptor>& each : ends)
    if (!each) return fail(each.error());
  theirs_[at] = std::move(*ends[stream == 0 ? 0 : 1]);
  view_.sources[at] = theirs_[at].number();
  return std::move(*ends[stream == 0 ? 1 : 0]);
}

auto program_start::run() -> result<running_program> {
  const signals_blocked meanwhile;
  int process = -1;
  constexpr int how = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  const int id = BRAID_CLONE(&become, stack_.get() + stack_size, how, &view_, &process);
  if (id < 0) return fail(last_system_error());
  descriptor started(process);
  if (view_.error == 0) return running_program(id, std::move(started));
  reap({.process = started.number(), .id = id});
  return fail(std::error_code(view_.error, std::system_category()));
}

}  // namespace braid::detail
