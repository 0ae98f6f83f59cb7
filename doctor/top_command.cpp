// doctor/top_command.cpp: braid-doctor top PID [--interval TIME] [--once]: shows metrics from the socket that
// BRAID_TOP=1 opens.
#include <doctor/ask_process.hpp>
#include <doctor/escape.hpp>
#include <doctor/top_table.hpp>

#include <braid/base/detail/number_in.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include <unistd.h>

namespace braid::doctor {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct top_options {
  std::optional<int> process;
  std::chrono::nanoseconds interval = 1s;
  bool is_once = false;
};

auto wrong(const std::string& problem) -> int {
  std::fprintf(stderr, "braid-doctor: top: %s; try --help\n", escaped(problem).c_str());
  return 2;
}

auto read(std::span<const std::string> words, top_options& options) -> std::optional<std::string> {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--once") {
      options.is_once = true;
    } else if (word == "--interval") {
      if (++at == words.size()) return "--interval needs a value: a time from 10ms to 3600s";
      const auto interval = detail::duration_in(words[at]);
      if (!interval || *interval < 10ms || *interval > 1h)
        return "--interval must be a time from 10ms to 3600s, got `" + words[at] + "`";
      options.interval = *interval;
    } else if (const auto number = process_number(word); number && !options.process) {
      options.process = number;
    } else {
      return unexpected_word(word, options.process.has_value());
    }
  }
  if (!options.process) return "expected a process id";
  return std::nullopt;
}

/// Takes samples of a process, one after the other. Requests the waits of tasks only once a second, because every home
/// executor must answer such a request.
class looks {
 public:
  explicit looks(int process) noexcept : process_(process) {}

  /// Requests the next sample. Returns false if the process does not answer.
  auto look() -> bool {
    const bool asks_tasks = clock::now() >= next_waits_;
    const process_answer given = ask_process(process_, asks_tasks ? 'w' : 'm');
    became_ = given.became;
    if (became_ != process_answer::how::answered) return false;
    before_ = std::exchange(now_, parse_samples(given.text));
    seconds_ = std::chrono::duration<double>(clock::now() - std::exchange(looked_, clock::now())).count();
    if (asks_tasks) {
      waits_.clear();
      for (const top_sample& each : now_)
        if (each.family == "braid_waiting_tasks") waits_.push_back(each);
      next_waits_ = clock::now() + 1s;
    } else {
      now_.insert(now_.end(), waits_.begin(), waits_.end());
    }
    return true;
  }

  /// Returns how the last request for a sample ended.
  [[nodiscard]] auto became() const noexcept -> process_answer::how { return became_; }
  [[nodiscard]] auto table() const -> std::string { return to_table(before_, now_, seconds_); }

 private:
  int process_;
  process_answer::how became_ = process_answer::how::silent;
  double seconds_ = 0;
  clock::time_point looked_;
  clock::time_point next_waits_;
  std::vector<top_sample> before_;
  std::vector<top_sample> now_;
  std::vector<top_sample> waits_;
};

/// Prints a table. On a terminal, the table replaces the previous one.
auto write(const std::string& table, bool is_first) -> bool {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* const before = is_terminal ? "\x1b[H\x1b[2J" : is_first ? "" : "\n";
  return std::fputs(before, stdout) >= 0 && std::fputs(table.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
}

/// Returns the error message for a request without an answer.
auto describe_problem(process_answer::how became, int process) -> std::string {
  const std::string number = std::to_string(process);
  if (became == process_answer::how::too_large) return too_large_problem(process);
  if (became == process_answer::how::impostor) return "another process owns the socket @braid." + number;
  return silent_problem(process);
}

auto show(const top_options& options) -> int {
  looks at(*options.process);
  if (!at.look()) {
    std::fprintf(stderr, "braid-doctor: %s\n", describe_problem(at.became(), *options.process).c_str());
    return 1;
  }
  for (bool is_first = true;; is_first = false) {
    std::this_thread::sleep_for(options.interval);
    if (!at.look()) return 0;  // it has ended
    if (!write(at.table(), is_first)) return 1;
    if (options.is_once) return 0;
  }
}

}  // namespace

auto run_top(std::span<const std::string> words) -> int {
  top_options options;
  if (const auto problem = read(words, options)) return wrong(*problem);
  try {
    return show(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "braid-doctor: %s\n", escaped(error.what()).c_str());
    return 1;
  }
}

}  // namespace braid::doctor
