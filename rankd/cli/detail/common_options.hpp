// rankd/cli/detail/common_options.hpp: options that several commands share.
#pragma once

#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/checks/option_checks.hpp>

#include <chrono>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace rankd::detail {

inline constexpr std::int64_t max_ms = 86'400'000;  // a day

inline void add_project(CLI::App& command, project_options& options) {
  command.add_option("--project", options.project, "Folder with rankd.toml; default: this folder or a parent")
      ->check(check_not_empty)
      ->type_name("DIR");
}

inline void add_form(CLI::App& command, output_form& form) {
  command.add_flag_callback("--json", [&form] { form = output_form::programs; }, "Print JSON");
}

template <typename Options>
void add_node_timeout(CLI::App& command, Options& options) {
  command
      .add_option_function<std::int64_t>(
          "--node-timeout-ms", [&options](std::int64_t ms) { options.node_timeout = std::chrono::milliseconds(ms); },
          "Time limit of each node")
      ->check(whole_number(1, max_ms));
}

template <typename Duration>
void add_milliseconds(CLI::App& command, const std::string& name, Duration& into, const std::string& doc,
                      std::int64_t min_value = 1) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(into).count();
  command
      .add_option_function<std::int64_t>(
          name, [&into](std::int64_t ms) { into = std::chrono::milliseconds(ms); },
          doc + "; default: " + std::to_string(now))
      ->check(whole_number(min_value, max_ms))
      ->type_name("MS");
}

}  // namespace rankd::detail
