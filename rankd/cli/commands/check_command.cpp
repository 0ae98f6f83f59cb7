// rankd/cli/commands/check_command.cpp: rankd check --stdin: answers each line of standard input with a line of JSON.
#include <rankd/cli/commands/check_command.hpp>

#include <rankd/cli/check_session.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/store/line_reader.hpp>

#include <cstdio>

#include <CLI/CLI.hpp>

namespace rankd {
namespace {

auto unreadable(const std::error_code& error) -> exit_status {
  return report(make_diagnostic("unreadable_file", "standard input cannot be read: " + error.message()));
}

auto answer_lines() -> exit_status {
  auto lines = line_reader::standard_input();
  if (!lines) return unreadable(lines.error());
  check_session session;
  for (;;) {
    const auto line = lines->next();
    if (!line) return unreadable(line.error());
    if (!*line) return exit_status::fine;
    print(((*line)->too_long ? check_session::answer_too_long(line_reader::max_bytes) : session.answer((*line)->text)) +
          "\n");
    // A client that has closed the pipe needs no further answers.
    if (std::fflush(stdout) != 0) return exit_status::failed;
  }
}

}  // namespace

void add_check(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand(
      "check", "Check artifacts for a compiler or an editor, and print a line of JSON for each artifact");
  command->add_flag_callback(
             "--stdin", [] {}, "Read messages from standard input until it ends; no store is opened")
      ->required();
  command->footer("docs/plans.md describes the messages. An invalid message is answered with an error.");
  command->callback([&chosen] { chosen = [] { return answer_lines(); }; });
}

}  // namespace rankd
