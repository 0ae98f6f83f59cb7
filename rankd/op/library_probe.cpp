// rankd/op/library_probe.cpp: runs the static constructors of a library in a child process before the library is
// loaded.
#include <rankd/op/detail/library_probe.hpp>

#include <braid/io/backend.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rankd::detail {
namespace {

constexpr std::string_view loaded = "loaded";
constexpr std::string_view threw = "threw ";
constexpr std::chrono::seconds max_wait{10};

int answer_to = -1;  // of the child

void say(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t done = ::write(answer_to, text.data(), text.size());
    if (done <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

/// Replaces std::terminate in the child. The function sends the exception's message to the parent and exits, so no core
/// is dumped and nothing is written to standard error.
[[noreturn]] void end_child() {
  say(threw);
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    say("nothing, and called std::terminate");
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("an object that is not a std::exception");
  }
  ::_exit(1);
}

/// Loads the library in the child and exits. The function is noexcept, because an exception from `dlopen` must not
/// reach the handlers of the caller's frames.
[[noreturn]] void run_child(const char* file) noexcept {
  std::set_terminate(&end_child);
  for (const int each : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM}) std::signal(each, SIG_DFL);
  const ::rlimit none{.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  // `dlopen` is declared noexcept, so the compiler would omit the exception handler of this frame. The call through a
  // volatile pointer keeps the handler.
  void* (*volatile open)(const char*, int) = &::dlopen;
  // The result is ignored. If the library does not exist or lacks a symbol, the parent's own `dlopen` fails in the same
  // way, and dlerror then describes the error.
  static_cast<void>(open(file, RTLD_NOW | RTLD_LOCAL));
  say(loaded);
  ::_exit(0);
}

/// Returns everything that the child writes until it ends. Returns `loaded` if the time limit passes before that.
auto heard(int from) -> std::string {
  const auto limit = std::chrono::steady_clock::now() + max_wait;
  std::string out;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - std::chrono::steady_clock::now());
    ::pollfd readable{.fd = from, .events = POLLIN, .revents = 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::string(loaded);  // it hangs, as the load in this process will
    std::array<char, 1024> some{};
    const ::ssize_t size = ::read(from, some.data(), some.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return out;
    out.append(some.data(), static_cast<std::size_t>(size));
    if (out == loaded) return out;
  }
}

auto ending(int status) -> std::string {
  if (WIFSIGNALED(status)) {
    const char* const name = ::sigdescr_np(WTERMSIG(status));
    return "ended the process by signal " + (name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  return "ended the process with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

auto loading_problem(const std::filesystem::path& file) -> std::string {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const braid::descriptor reads(ends[0]);
  braid::descriptor writes(ends[1]);
  const ::pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) {
    answer_to = writes.number();
    run_child(file.c_str());
  }
  writes = braid::descriptor();
  const std::string answer = heard(reads.number());
  if (answer == loaded) ::kill(child, SIGKILL);  // or it hangs, or a destructor of the library does
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (answer == loaded) return {};
  return answer.starts_with(threw) ? answer : ending(status);
}

}  // namespace rankd::detail
