// doctor/main.cpp: parses the command line of braid-doctor, and runs the chosen command.
#include <doctor/ask_process.hpp>
#include <doctor/escape.hpp>
#include <doctor/path_text.hpp>
#include <doctor/print.hpp>
#include <doctor/top_table.hpp>

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr const char* help =
    R"(usage: braid-doctor [--json] [--root DIR]
       braid-doctor tasks PID | --core FILE [PROGRAM]
       braid-doctor top PID [--interval TIME] [--once]
       braid-doctor trace FILE [--request ID] [--tracks]
       braid-doctor trace FILE --recover

What braid sees of this machine: its CPUs, which of them this process may use and what limits their time, how many
workers a pool starts and why, variables BRAID_*, and what the system lets this user do.

  --json       one JSON object instead of text
  --root DIR   the machine whose files lie below DIR, as in DIR/sys and DIR/proc; leaves out the build and the user
  --version    the version
  --help       this text

tasks: what each suspended task of a process waits for, with the functions and lines above it, and cycles of waits. A
program that runs with BRAID_TOP=1 answers by itself; any other one is stopped meanwhile, and looked at by gdb.

  --core FILE [PROGRAM]  the same of a core file; the program is as a rule found by its name in there

top: what a process does that runs with BRAID_TOP=1: its workers, loops, queues, what its tasks wait for, and rates of
all else that is counted.

  --interval TIME  how often, as 100ms or 2s; 1s without it
  --once           one table, after one interval

trace: what the ten slowest requests in a trace (BRAID_TRACE=FILE) spent their time on, as steps that add up to it: cpu,
queued, io, lock, timer, blocked (a thread in a wait), unknown. Requests are those of rankd, or else the activities of
the program, or else its tasks.

  --request ID     this one: the name of an activity, task or span, or a word of it
  --tracks         adds them to FILE as well, as a track each for Perfetto
  --recover        completes FILE by FILE.rings, which a killed program leaves that ran with BRAID_TRACE=FILE,recover

Exit status: 0; 1 where the output could not be written, a trace not be read, or a process does not answer; 2 for wrong usage.
)";

enum class request { text, json, help, version, nonsense };

struct command_line {
  request wanted = request::text;
  fs::path root = "/";
  std::string problem;
};

auto nonsense(std::string problem) -> command_line { return {request::nonsense, "/", std::move(problem)}; }

auto read(const std::vector<std::string>& words) -> command_line {
  command_line line;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--json") {
      line.wanted = request::json;
    } else if (*word == "--root") {
      if (++word == words.end()) return nonsense("--root needs a value: a folder");
      line.root = *word;
    } else if (*word == "--help" || *word == "-h") {
      return {request::help, "/", {}};
    } else if (*word == "--version") {
      return {request::version, "/", {}};
    } else {
      return nonsense("unknown option or command `" + *word + "`");
    }
  }
  std::error_code ignored;
  if (!fs::is_directory(line.root, ignored))
    return nonsense("--root must be a folder, got `" + line.root.string() + "`");
  return line;
}

auto answer(const command_line& line) -> std::string {
  if (line.wanted == request::help) return help;
  if (line.wanted == request::version) return "braid-doctor " BRAID_VERSION "\n";
  const auto found = braid::doctor::gather(line.root);
  return line.wanted == request::json ? to_json(found) : to_text(found);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "tasks") return braid::doctor::run_tasks(std::span(words).subspan(1));
  if (!words.empty() && words.front() == "top") return braid::doctor::run_top(std::span(words).subspan(1));
  if (!words.empty() && words.front() == "trace") return braid::doctor::run_trace(std::span(words).subspan(1));
  const command_line line = read(words);
  if (line.wanted == request::nonsense) {
    std::fprintf(stderr, "braid-doctor: %s; try --help\n", braid::doctor::escaped(line.problem).c_str());
    return 2;
  }
  const std::string text = answer(line);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? 0 : 1;
}
