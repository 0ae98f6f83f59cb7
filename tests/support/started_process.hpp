// tests/support/started_process.hpp: a program that runs beside the test, and ends with it, whatever happens.
#pragma once

#include <tests/support/process.hpp>
#include <tests/support/scratch_folder.hpp>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::testing {

class started_process {
 public:
  /// Runs `words[0]` in `folder` with the rest as its arguments; nothing stands on its input.
  started_process(std::vector<std::string> words, const std::filesystem::path& folder) {
    const std::string in = streams_.write("in", "");
    const std::string out = streams_.write("out", "");
    const std::string err = streams_.write("err", "");
    const std::string place = folder;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const char* const files[3] = {in.c_str(), out.c_str(), err.c_str()};
    const ::pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process can be made");
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    detail::become(arguments.data(), place.c_str(), files);
  }
  started_process(const started_process&) = delete;
  auto operator=(const started_process&) -> started_process& = delete;
  ~started_process() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    static_cast<void>(wait());
  }

  [[nodiscard]] auto out() const -> std::string { return detail::text_of(streams_.path() / "out"); }
  [[nodiscard]] auto err() const -> std::string { return detail::text_of(streams_.path() / "err"); }

  [[nodiscard]] auto id() const noexcept -> ::pid_t { return process_; }

  void signal(int number) const { ::kill(process_, number); }

  /// Whether it has ended; its status is then there without a wait.
  [[nodiscard]] auto has_ended() const -> bool {
    ::siginfo_t seen{};
    return ::waitid(P_PID, static_cast<::id_t>(process_), &seen, WEXITED | WNOHANG | WNOWAIT) == 0 && seen.si_pid != 0;
  }

  /// Waits for its end, once; 128 and more: the signal that ended it.
  auto wait() -> int {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  scratch_folder streams_;
  ::pid_t process_ = 0;
};

}  // namespace braid::testing
