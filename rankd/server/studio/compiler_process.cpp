// rankd/server/studio/compiler_process.cpp: sends questions to the compiler, a child process, and reads its answers.
#include <rankd/server/studio/compiler_process.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/process.hpp>
#include <braid/runtime/runtime.hpp>

#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
namespace {

constexpr std::string_view stopping = "the server is shutting down";

auto failed(const std::string& program, std::string_view reason) -> std::unexpected<braid::diagnostics> {
  return refused("compiler_failed", "`" + program + " serve` did not answer: " + std::string(reason),
                 "see its messages on standard error; `dslc check` shows whether the compiler works");
}

}  // namespace

/// The running child process, and the reader of its answers.
struct compiler_process::running {
  running(braid::child_process begun, std::size_t max_answer)
      : process(std::move(begun)), answers(process.out(), max_answer) {}

  auto ask(const std::string& question) -> braid::task<braid::result<std::string>> {
    const braid::result<void> sent = co_await process.in().write_all(question);
    if (!sent) co_return braid::fail(sent.error());
    auto reading = answers.read_until("\n");
    const auto line = co_await std::move(reading);
    if (!line) co_return braid::fail(line.error());
    const std::string_view text = braid::text_of(*line);
    if (text.empty()) co_return braid::fail(braid::errc::ended);
    co_return std::string(text.substr(0, text.size() - 1));
  }

  braid::child_process process;
  braid::buffered_reader answers;
};

/// Ends the process if it has not answered. Otherwise the process might send its answer later, and that late answer
/// would be read as the answer to the next question.
struct compiler_process::process_end {
  std::unique_ptr<running>& of;
  bool is_due = true;
  ~process_end() {
    if (is_due) of.reset();
  }
};

compiler_process::compiler_process(settings settings) : settings_(std::move(settings)) {}

compiler_process::~compiler_process() {
  if (runtime_ == nullptr) return;
  runtime_->run(end());
  static_cast<void>(runtime_->shutdown(braid::shutdown_mode::drain));  // what `close` has posted refers to this object
}

auto compiler_process::end() -> braid::task<void> {
  running_.reset();
  co_return;
}

auto compiler_process::kill() -> braid::task<void> {
  if (running_ != nullptr) static_cast<void>(running_->process.kill(SIGKILL));
  co_return;
}

auto compiler_process::is_closed() const -> bool {
  const std::scoped_lock lock(closing_);
  return is_closed_;
}

void compiler_process::close() {
  const std::scoped_lock lock(closing_);
  is_closed_ = true;
  // If the process is killed, a question that waits for an answer ends.
  if (runtime_ != nullptr) static_cast<void>(runtime_->post(kill()));
}

void compiler_process::begin_anew() {
  const std::scoped_lock lock(closing_);
  is_outdated_ = true;
}

/// Returns whether the process must be replaced. Returns true once after each call of `begin_anew`.
auto compiler_process::was_outdated() -> bool {
  const std::scoped_lock lock(closing_);
  return std::exchange(is_outdated_, false);
}

auto compiler_process::start() -> braid::checked<void> {
  const std::scoped_lock lock(closing_);
  if (is_closed_ || runtime_ != nullptr) return {};
  auto made = braid::runtime::create({.workers = 1, .name = "dslc"});
  if (!made) return std::unexpected(no_runtime(made.error()));
  runtime_ = std::move(*made);
  return {};
}

auto compiler_process::ask(std::string question, const std::function<bool(const std::string&)>& fits)
    -> braid::checked<std::string> {
  const std::scoped_lock alone(mutex_);
  if (auto started = start(); !started) return std::unexpected(std::move(started.error()));
  if (is_closed()) return failed(settings_.program, stopping);
  if (was_outdated()) runtime_->run(end());
  question += '\n';
  return runtime_->run(ask_here(question, fits));
}

/// Asks the process, and starts it if necessary. If the process has ended since the last question, starts a new process
/// and asks it.
auto compiler_process::ask_here(const std::string& question, const std::function<bool(const std::string&)>& fits)
    -> braid::task<braid::checked<std::string>> {
  for (;;) {
    if (is_closed()) {
      running_.reset();
      co_return failed(settings_.program, stopping);
    }
    const bool is_new = running_ == nullptr;
    if (is_new) {
      std::vector<std::string> arguments{"serve", "--project", settings_.project.string()};
      if (!settings_.engine.empty()) arguments.insert(arguments.end(), {"--engine", settings_.engine});
      auto begun = braid::child_process::start(runtime_->io(), {.program = settings_.program,
                                                                .arguments = std::move(arguments),
                                                                .in = braid::child_process::stream::pipe,
                                                                .out = braid::child_process::stream::pipe});
      if (!begun) co_return failed(settings_.program, begun.error().message());
      running_ = std::make_unique<running>(std::move(*begun), settings_.max_answer);
    }
    process_end end{running_};
    auto asking = braid::with_timeout(settings_.max_wait, running_->ask(question));
    braid::result<std::string> answer = co_await std::move(asking);
    if (answer && (!fits || fits(*answer))) {
      end.is_due = false;
      co_return std::move(*answer);
    }
    if (answer) co_return failed(settings_.program, "its output answers another request");
    if (is_new || answer.error() == braid::errc::deadline_exceeded)
      co_return failed(settings_.program, answer.error().message());
  }
}

}  // namespace rankd
