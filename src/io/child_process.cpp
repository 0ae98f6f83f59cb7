// src/io/child_process.cpp: a program with pipes, and a descriptor that becomes readable when its process ends.
#include <braid/io/process.hpp>

#include "program.hpp"
#include "sockets.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>
#include <utility>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid {
namespace {

auto failure_of(int error) -> std::unexpected<std::error_code> {
  return fail(std::error_code(error, std::system_category()));
}

auto status_of(const siginfo_t& about) noexcept -> child_process::exit_status {
  if (about.si_code == CLD_EXITED) return {.code = about.si_status, .signal = 0};
  return {.code = 0, .signal = about.si_status};
}

/// Gives 0 when the process has ended, or the number of an error.
class exit_operation final : public detail::io_operation {
 public:
  exit_operation(detail::open_descriptor* of, siginfo_t& about) noexcept
      : io_operation(of, io_interest::read, aim::readiness), about_(&about) {}
  [[nodiscard]] auto await_resume() const noexcept -> int { return error_; }

 private:
  auto attempt() noexcept -> bool override {
    about_->si_pid = 0;
    if (::waitid(P_PIDFD, static_cast<id_t>(registration().descriptor()), about_, WEXITED | WNOHANG) != 0) {
      error_ = errno;
      return true;
    }
    if (about_->si_pid != 0) return true;
    registration().set_ready(io_interest::read, false);
    return false;
  }
  auto absorb(int outcome) noexcept -> bool override {
    error_ = -outcome;
    return true;
  }

  siginfo_t* about_;
  int error_ = 0;
};

/// A process that was killed and not reaped yet. The destructor reaps it, and waits for that, unless the loop has
/// reaped it before.
class killed_process {
 public:
  explicit killed_process(std::unique_ptr<detail::open_descriptor> process) noexcept : process_(std::move(process)) {}
  killed_process(killed_process&&) noexcept = default;
  auto operator=(killed_process&&) -> killed_process& = delete;
  ~killed_process() {
    if (process_ != nullptr) static_cast<void>(see_end(0));
  }

  /// Whether it has ended; without WNOHANG it waits for that.
  [[nodiscard]] auto see_end(int flags) const noexcept -> bool {
    siginfo_t about{};
    int status = 0;
    do {
      status = ::waitid(P_PIDFD, static_cast<id_t>(process_->number()), &about, WEXITED | flags);
    } while (status != 0 && errno == EINTR);
    return status != 0 || about.si_pid != 0;
  }

  void forget() noexcept { process_.reset(); }

  /// On the loop, for as long as that runs.
  static auto await_end(killed_process of) -> task<void> {
    siginfo_t about{};
    const int error = co_await exit_operation(of.process_.get(), about);
    if (error == 0 || error == ECHILD) of.forget();  // else the loop cannot wait for it, and the destructor does
  }

 private:
  std::unique_ptr<detail::open_descriptor> process_;
};

/// The system takes words up to their first zero.
auto has_zero(const child_process::options& how) -> bool {
  const auto holds = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  return holds(how.program) || holds(how.folder) || std::ranges::any_of(how.arguments, holds) ||
         (how.environment && std::ranges::any_of(*how.environment, holds));
}

/// Whether the system forgets a child of this process at once when it ends.
auto loses_statuses() noexcept -> bool {
  struct sigaction now{};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return false;
  return (now.sa_flags & SA_NOCLDWAIT) != 0 || ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN);
}

auto stream_of(loop& on, descriptor end) -> result<pipe_stream> {
  if (!end) return pipe_stream();
  return pipe_stream::adopt(on, std::move(end));
}

}  // namespace

auto child_process::start(loop& on, const child_process::options& how) -> result<child_process> {
  if (has_zero(how)) return fail(errc::invalid_argument);
  if (loses_statuses()) return fail(errc::status_lost);
  detail::program_start program(how);
  child_process made;
  const std::array<std::pair<child_process::stream, pipe_stream*>, 3> streams{
      {{how.in, &made.in_}, {how.out, &made.out_}, {how.err, &made.err_}}};
  for (int number = 0; number < 3; ++number) {
    const auto& [where, ours] = streams[static_cast<std::size_t>(number)];
    auto end = program.lead(number, where);
    if (!end) return fail(end.error());
    auto stream = stream_of(on, std::move(*end));
    if (!stream) return fail(stream.error());
    *ours = std::move(*stream);
  }
  auto running = program.run();
  if (!running) return fail(running.error());
  made.id_ = running->id();
  made.process_ = std::make_unique<detail::open_descriptor>(on, std::move(running->process()),
                                                            detail::io_registration::kind::other);
  return made;
}

child_process::child_process(child_process&& other) noexcept = default;

auto child_process::operator=(child_process&& other) noexcept -> child_process& {
  if (this == &other) return *this;
  end();
  process_ = std::move(other.process_);
  ended_ = other.ended_;
  id_ = other.id_;
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  return *this;
}

child_process::~child_process() { end(); }

/// Kills the process, unless it has ended, and reaps it.
void child_process::end() noexcept {
  if (process_ == nullptr || ended_) return;
  static_cast<void>(kill(SIGKILL));
  loop& on = process_->on();
  killed_process killed(std::move(process_));
  if (killed.see_end(WNOHANG)) {
    killed.forget();
    return;
  }
  try {
    on.spawn(killed_process::await_end(std::move(killed)));
  } catch (const std::bad_alloc&) {
    return;  // the destructor has reaped it
  }
}

auto child_process::wait() -> task<result<child_process::exit_status>> {
  if (ended_) co_return *ended_;
  siginfo_t about{};
  const int error = co_await exit_operation(process_.get(), about);
  if (error == ECHILD) co_return fail(errc::status_lost);
  if (error != 0) co_return failure_of(error);
  ended_ = status_of(about);
  co_return *ended_;
}

auto child_process::kill(int signal) const noexcept -> result<void> {
  if (process_ == nullptr || ended_) return fail(std::make_error_code(std::errc::no_such_process));
  return detail::checked(static_cast<int>(::syscall(SYS_pidfd_send_signal, process_->number(), signal, nullptr, 0)));
}

}  // namespace braid
