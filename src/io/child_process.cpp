// src/io/child_process.cpp: starts a program with pipes, and waits for its end by a descriptor of the process.
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

#include <sys/wait.h>
#include <unistd.h>

namespace braid {
namespace {

auto failure_of(int error) -> std::unexpected<std::error_code> {
  return fail(std::error_code(error, std::system_category()));
}

/// An operation that waits until the process has ended, and returns its exit status or the number of an error.
class exit_operation final : public detail::io_operation {
 public:
  exit_operation(detail::open_descriptor* process, pid_t id) noexcept
      : io_operation(process, io_interest::read, aim::readiness), id_(id) {}
  [[nodiscard]] auto await_resume() const noexcept -> detail::child_look { return seen_; }

 private:
  auto attempt() noexcept -> bool override {
    seen_ = detail::look_at({.process = registration().descriptor(), .id = id_}, WNOHANG);
    if (seen_.error != 0 || seen_.ended) return true;
    registration().set_ready(io_interest::read, false);
    return false;
  }
  auto absorb(int outcome) noexcept -> bool override {
    seen_.error = -outcome;
    return true;
  }

  pid_t id_;
  detail::child_look seen_;
};

/// A process that was killed but not reaped yet. If the loop has not reaped the process, the destructor waits until the
/// process has ended, and reaps it.
class killed_process {
 public:
  killed_process(std::unique_ptr<detail::open_descriptor> process, pid_t id) noexcept
      : process_(std::move(process)), id_(id) {}
  killed_process(killed_process&&) noexcept = default;
  auto operator=(killed_process&&) -> killed_process& = delete;
  ~killed_process() {
    if (process_ != nullptr) static_cast<void>(see_end(0));
  }

  /// Reaps the process if it has ended, and returns whether it has. Blocks until the process ends, unless `flags`
  /// contains WNOHANG.
  [[nodiscard]] auto see_end(int flags) const noexcept -> bool {
    const detail::child_look seen = detail::look_at({.process = process_->number(), .id = id_}, flags);
    return seen.error != 0 || seen.ended;
  }

  void forget() noexcept { process_.reset(); }

  /// A task of the loop that waits for the end of the process and reaps it.
  static auto await_end(killed_process process) -> task<void> {
    const detail::child_look seen = co_await exit_operation(process.process_.get(), process.id_);
    if (seen.ended || seen.error == ECHILD)
      process.forget();  // else the loop cannot wait for it, and the destructor does
  }

 private:
  std::unique_ptr<detail::open_descriptor> process_;
  pid_t id_;
};

/// Returns whether a word contains a zero byte. The system would read such a word only up to the zero byte.
auto has_zero(const child_process::options& options) -> bool {
  const auto holds = [](const std::string& word) { return word.find('\0') != std::string::npos; };
  return holds(options.program) || holds(options.folder) || std::ranges::any_of(options.arguments, holds) ||
         (options.environment && std::ranges::any_of(*options.environment, holds));
}

/// Returns whether the system discards the exit status of each child, because SIGCHLD is ignored or has SA_NOCLDWAIT.
auto loses_statuses() noexcept -> bool {
  struct sigaction now{};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return false;
  return (now.sa_flags & SA_NOCLDWAIT) != 0 || ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN);
}

auto make_stream(loop& loop, descriptor end) -> result<pipe_stream> {
  if (!end) return pipe_stream();
  return pipe_stream::adopt(loop, std::move(end));
}

}  // namespace

auto child_process::start(loop& loop, const child_process::options& options) -> result<child_process> {
  if (has_zero(options)) return fail(errc::invalid_argument);
  if (loses_statuses()) return fail(errc::status_lost);
  detail::program_start program(options);
  child_process made;
  const std::array<std::pair<child_process::stream, pipe_stream*>, 3> streams{
      {{options.in, &made.input_}, {options.out, &made.out_}, {options.err, &made.err_}}};
  for (int number = 0; number < 3; ++number) {
    const auto& [where, ours] = streams[static_cast<std::size_t>(number)];
    auto end = program.lead(number, where);
    if (!end) return fail(end.error());
    auto stream = make_stream(loop, std::move(*end));
    if (!stream) return fail(stream.error());
    *ours = std::move(*stream);
  }
  auto running = program.run();
  if (!running) return fail(running.error());
  made.id_ = running->id();
  made.process_ = std::make_unique<detail::open_descriptor>(loop, std::move(running->process()),
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
  input_ = std::move(other.input_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  return *this;
}

child_process::~child_process() { end(); }

/// Kills the process if it has not ended, and reaps it.
void child_process::end() noexcept {
  if (process_ == nullptr || ended_) return;
  static_cast<void>(kill(SIGKILL));
  loop& on = process_->on();
  killed_process killed(std::move(process_), id_);
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
  const detail::child_look seen = co_await exit_operation(process_.get(), id_);
  if (seen.error == ECHILD) co_return fail(errc::status_lost);
  if (seen.error != 0) co_return failure_of(seen.error);
  ended_ = seen.ended;
  co_return *ended_;
}

auto child_process::kill(int signal) const noexcept -> result<void> {
  if (process_ == nullptr || ended_) return fail(std::make_error_code(std::errc::no_such_process));
  return detail::send_signal({.process = process_->number(), .id = id_}, signal);
}

}  // namespace braid
