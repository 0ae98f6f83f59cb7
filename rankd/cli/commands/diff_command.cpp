// rankd/cli/commands/diff_command.cpp: rankd diff: prints how two plans differ in structure, what follows from these
// differences, and how the answers of the plans differ.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/output/diff_lines.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/traffic_diff.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/explain/plan_comparison.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace rankd {
namespace {

auto open_side(const workspace& workspace, const std::string& name_or_file) -> braid::checked<bound_plan> {
  return name_or_file.ends_with(".json") ? workspace.load_plan_file(name_or_file)
                                         : workspace.load_named_plan(name_or_file);
}

auto report_error(const braid::diagnostics& problems, output_form form) -> exit_status {
  report(problems, form);
  return exit_status::wrong_usage;
}

}  // namespace

auto diff_command(const diff_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report_error(in.error(), options.form);
  const auto before = open_side(*in, options.before);
  if (!before) return report_error(before.error(), options.form);
  const auto after = open_side(*in, options.after);
  if (!after) return report_error(after.error(), options.form);

  const plan_comparison found = compare_plans(*before, *after);
  if (options.traffic.empty()) {
    if (options.form == output_form::programs)
      print(comparison_json(found, *before, *after));
    else
      print(diff_lines(found));
    return found.is_equal() ? exit_status::fine : exit_status::failed;
  }

  const auto answers = compare_on_traffic(options, *in, *before, *after);
  if (!answers) return report_error(answers.error(), options.form);
  if (options.form == output_form::programs) {
    std::string out = comparison_json(found, *before, *after);
    out.resize(out.rfind('}'));
    print(out + ",\"traffic\":" + answers->text + "}\n");
  } else {
    print(diff_lines(found));
    print(answers->text);
  }
  return answers->is_all_equal ? exit_status::fine : exit_status::failed;
}

void add_diff(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command =
      app.add_subcommand("diff", "Show how two plans differ, and how their answers to recorded requests differ");
  auto options = std::make_shared<diff_options>();
  detail::add_project(*command, *options);
  detail::add_form(*command, options->form);
  command
      ->add_option("before", options->before,
                   "The first plan: the name of a plan of the project, or an artifact FILE.json")
      ->required()
      ->check(check_not_empty)
      ->type_name("PLAN");
  command->add_option("after", options->after, "The plan that is compared with the first plan")
      ->required()
      ->check(check_not_empty)
      ->type_name("PLAN");
  auto* const traffic = command
                            ->add_option("--traffic", options->traffic,
                                         "Run both plans for the requests in these files of `rankd serve --record`, or "
                                         "in all NAME.rec files of these folders")
                            ->check(check_not_empty)
                            ->type_name("FILE|DIR");
  command
      ->add_option("--requests-of", options->recorded_plan,
                   "Run only the recorded requests to this plan; default: the plan with the name of the first plan")
      ->needs(traffic)
      ->check(check_not_empty)
      ->type_name("PLAN");
  command->add_flag("--live", options->is_live, "Send reads that were not recorded to the stores of the project")
      ->needs(traffic);
  command
      ->add_option("--depth", options->depth,
                   "Number of candidates from the top that the overlap compares; default: 10")
      ->needs(traffic)
      ->check(whole_number(1, 100'000))
      ->type_name("K");
  command
      ->add_option("--changed", options->max_changed, "Number of requests to show, the most changed first; default: 20")
      ->needs(traffic)
      ->check(whole_number(0, 1000))
      ->type_name("N");
  command->add_option("--workers", options->workers, "Number of compute threads; default: one for each available CPU")
      ->needs(traffic)
      ->check(whole_number(1, 4096));
  command->footer(
      "Exit status: 0 the plans do the same, 1 they differ, 2 wrong usage, or a plan is wrong. With --traffic: 0 all "
      "answers\n"
      "are equal, 1 an answer differs or could not be compared, 2 wrong usage, or a plan is wrong.");
  command->callback([options, &chosen] { chosen = [options] { return diff_command(*options); }; });
}

}  // namespace rankd
