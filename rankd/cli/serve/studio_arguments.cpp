// rankd/cli/serve/studio_arguments.cpp: rankd studio: serves a project on this machine with the plan page.
#include <rankd/cli/detail/serve_arguments.hpp>

#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/registry/digest.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

namespace rankd::detail {
namespace {

/// Returns a token of 128 random bits. Other users of the machine can reach a loopback address too, and must not be
/// able to guess the token.
auto made_token() -> std::string {
  std::random_device chance;
  std::array<std::random_device::result_type, 4> bits{};
  std::ranges::generate(bits, [&chance] { return chance(); });
  return to_hex({reinterpret_cast<const char*>(bits.data()), sizeof(bits)});
}

/// Refuses any address that is not a loopback address: the texts of plans and the token are sent over plain HTTP, and
/// the token allows its holder to write files.
auto check_loopback(const std::string& text) -> std::string {
  const auto at = braid::socket_address::parse(text);
  if (!at || !at->is_ip())
    return "must be ADDRESS:PORT with a numeric address, such as 127.0.0.1:8080 or [::1]:8080, got `" + text + "`";
  const std::string host = at->host();
  if (host.starts_with("127.") || host == "::1") return {};
  return "studio listens on this machine alone (127.0.0.1 or [::1]): reach it from other machines by `ssh -L`";
}

/// Runs the studio. Invalid plans are accepted, because the page shows their errors.
auto run_studio(serve_command_options options) -> exit_status {
  options.page_token = made_token();
  auto tokens = token_list::parse("studio [force, shadow, edit] " + options.page_token, "studio");
  if (!tokens) return report(tokens.error());
  options.server.tokens = std::move(*tokens);
  return serve_command(options);
}

}  // namespace

void add_studio(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("studio", "Edit and try a project's plans in a browser, on this machine");
  auto options = std::make_shared<serve_command_options>();
  options->server.loops = 1;
  options->server.shows_page = true;
  options->server.clients_change_plans = true;
  options->on_bad_plan = bad_plans::leave_out;
  options->level = log_level::warning;
  command->add_option("folder", options->project, "Folder with rankd.toml; default: this folder or a parent")
      ->check(check_not_empty)
      ->type_name("DIR");
  add_listen(*command, options, check_loopback);
  command
      ->add_option(
          "--traffic", options->traffic,
          "Files of `rankd serve --record`, or folders with NAME.rec files, for comparing plans; default: the project")
      ->check(check_not_empty)
      ->type_name("FILE|DIR");
  command
      ->add_option("--dslc", options->compiler,
                   "The plan compiler, for edits; default: node_modules/.bin/dslc of the project, or dslc in PATH")
      ->check(check_not_empty)
      ->type_name("FILE");
  command->footer(
      "studio prints the address to open, which contains a new token. Requests without the token are refused.\n"
      "SIGTERM or SIGINT stops it.");
  command->callback([options, &chosen] { chosen = [options] { return run_studio(*options); }; });
}

}  // namespace rankd::detail
