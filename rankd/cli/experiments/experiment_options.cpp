// rankd/cli/experiments/experiment_options.cpp: adds the options of rankd experiment.
#include <rankd/cli/experiments/experiment_options.hpp>

#include <rankd/cli/detail/common_options.hpp>

#include <memory>
#include <string>

namespace rankd {
namespace {

constexpr std::int64_t max_ids = 100'000'000;

auto add_part(CLI::App& under, const std::string& name, const std::string& doc, list_options& options) -> CLI::App* {
  auto* command = under.add_subcommand(name, doc);
  detail::add_project(*command, options);
  detail::add_form(*command, options.form);
  return command;
}

}  // namespace

void add_experiment(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("experiment", "Check the experiments of the project, or simulate their split")
                      ->require_subcommand(1);
  auto checked = std::make_shared<list_options>();
  add_part(*command, "check", "Print all errors in experiments; if there are no errors, list the experiments", *checked)
      ->callback([checked, &chosen] { chosen = [checked] { return experiment_check_command(*checked); }; });
  auto options = std::make_shared<simulate_options>();
  auto* simulate =
      add_part(*command, "simulate", "Count how many of the ids 1 to N are assigned to each arm", *options);
  simulate->add_option("--ids", options->ids, "Number of ids")->check(whole_number(1, max_ids))->capture_default_str();
  simulate->footer(
      "Exit status: 0 the split is as expected, 1 the split differs or an experiment is wrong, 2 wrong usage.");
  simulate->callback([options, &chosen] { chosen = [options] { return experiment_simulate_command(*options); }; });
}

}  // namespace rankd
