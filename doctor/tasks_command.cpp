// doctor/tasks_command.cpp: braid-doctor tasks PID, or --core FILE: dumps the tasks of a program, by a request to the
// program or with gdb.
#include <doctor/ask_process.hpp>

#include <doctor/escape.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace braid::doctor {
namespace {

namespace fs = std::filesystem;

struct tasks_options {
  std::optional<int> process;
  std::string core;
  std::string program;  // the program of the core; empty: the one that the core names
};

auto fail(const std::string& problem, int status = 1) -> int {
  std::fprintf(stderr, "braid-doctor: tasks: %s\n", escaped(problem).c_str());
  return status;
}

auto read(std::span<const std::string> words, tasks_options& options) -> std::optional<std::string> {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--core") {
      if (++at == words.size() || words[at].empty()) return "--core needs a file";
      options.core = words[at];
    } else if (!options.core.empty() && options.program.empty() && !word.starts_with("-")) {
      options.program = word;
    } else if (const auto number = process_number(word); number && !options.process) {
      options.process = number;
    } else {
      return unexpected_word(word, options.process.has_value());
    }
  }
  if (options.process.has_value() == !options.core.empty()) return "expected a process id, or a core file after --core";
  for (const std::string& file : {options.core, options.program})
    if (std::error_code why; !file.empty() && !fs::is_regular_file(file, why)) return file + " is not a file";
  return std::nullopt;
}

/// A memory file without a name. Child processes inherit the file's descriptor.
class inherited_file {
 public:
  inherited_file() : number_(::memfd_create("braid-doctor", 0)) {
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "no memory file");
  }
  inherited_file(const inherited_file&) = delete;
  auto operator=(const inherited_file&) -> inherited_file& = delete;
  ~inherited_file() { ::close(number_); }

  [[nodiscard]] auto number() const noexcept -> int { return number_; }
  [[nodiscard]] auto text() const -> std::string {
    std::string all;
    std::array<char, 16'384> part;
    for (::ssize_t got = 0; (got = ::pread(number_, part.data(), part.size(), static_cast<::off_t>(all.size()))) > 0;)
      all.append(part.data(), static_cast<std::size_t>(got));
    return all;
  }

 private:
  int number_;
};

auto script() -> std::string {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/braid/gdb/braid.py";
}

/// Returns the command line of gdb. With this command line, gdb runs no init files and scripts of the user, of the
/// folder or of the program, and downloads nothing.
auto gdb_words(const tasks_options& options) -> std::vector<std::string> {
  std::vector<std::string> words{
      "gdb", "-nx", "-q", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"};
  if (options.process) words.insert(words.end(), {"-p", std::to_string(*options.process)});
  words.insert(words.end(), {"-x", script()});
  return words;
}

/// Runs gdb. Returns the exit status in the format of `waitpid`.
auto run_gdb(const tasks_options& options, const inherited_file& tasks, const inherited_file& rest) -> int {
  constexpr unsigned limit_s = 300;
  std::vector<std::string> words = gdb_words(options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::setenv("BRAID_TASKS_TO", std::to_string(tasks.number()).c_str(), 1);
  ::setenv("BRAID_TASKS_CORE", options.core.c_str(), 1);
  ::setenv("BRAID_TASKS_PROGRAM", options.program.c_str(), 1);
  const ::pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "gdb does not start");
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(rest.number(), STDOUT_FILENO);
    ::dup2(rest.number(), STDERR_FILENO);
    ::alarm(limit_s);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

auto find_last_line(std::string text) -> std::string {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// Returns the reason why there is no dump, which is taken from the output of gdb.
auto reason(const tasks_options& options, int status, const std::string& tasks, const std::string& rest)
    -> std::string {
  const auto has = [&rest](const char* part) { return rest.find(part) != std::string::npos; };
  const std::string process = "process " + std::to_string(options.process.value_or(0));
  const bool has_top = options.process && runs_with_top(*options.process);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return has_top ? "gdb is not installed: install it, because " + silent_problem(*options.process)
                   : "gdb is not installed: install it, or run the program with BRAID_TOP=1";
  if (options.process && has("No such process")) return "there is no " + process;
  if (options.process && (has("ptrace: ") || has("Could not attach")))
    return process + " cannot be examined by this user (sysctl kernel.yama.ptrace_scope): run braid-doctor as root" +
           (has_top ? ", because " + silent_problem(*options.process) : ", or start the program with BRAID_TOP=1");
  if (const std::string last = find_last_line(tasks); last.starts_with("# ")) return last.substr(2);
  if (WIFSIGNALED(status)) return "gdb was ended by signal " + std::to_string(WTERMSIG(status));
  return "gdb found no tasks: " + find_last_line(rest);
}

/// Prints lines of another program's output. Control characters are escaped, because a terminal would execute them.
auto write_lines(std::string_view lines) -> int {
  std::string text;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    text += escaped(line) + '\n';
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

auto by_gdb(const tasks_options& options) -> int {
  if (std::error_code why; !fs::exists(script(), why))
    return fail(script() + " is missing: it is installed together with braid-doctor");
  const inherited_file tasks;
  const inherited_file rest;
  const int status = run_gdb(options, tasks, rest);
  std::string text = tasks.text();
  constexpr std::string_view last = "# EOF\n";
  if (!text.ends_with(last)) return fail(reason(options, status, text, rest.text()));
  text.resize(text.size() - last.size());
  return write_lines(text);
}

auto show(const tasks_options& options) -> int {
  if (!options.process) return by_gdb(options);
  const process_answer given = ask_process(*options.process, 't');
  switch (given.became) {
    case process_answer::how::answered: return write_lines(given.text);
    case process_answer::how::silent: return by_gdb(options);
    case process_answer::how::too_large: return fail(too_large_problem(*options.process));
    case process_answer::how::impostor: break;
  }
  return fail("another process owns the socket @braid." + std::to_string(*options.process));
}

}  // namespace

auto run_tasks(std::span<const std::string> words) -> int {
  tasks_options options;
  if (const auto problem = read(words, options)) return fail(*problem + "; try --help", 2);
  try {
    return show(options);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}

}  // namespace braid::doctor
