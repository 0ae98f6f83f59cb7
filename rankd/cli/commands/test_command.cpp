// rankd/cli/commands/test_command.cpp: rankd test: runs tests of plans, and prints their outcomes for people or
// programs.
#include <rankd/cli/commands/test_command.hpp>

#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/checks/option_checks.hpp>
#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/plan_tests/stub_files.hpp>
#include <rankd/cli/plan_tests/test_run.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/op/models.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

namespace rankd {
namespace {

constexpr std::size_t max_shown_ids = 30;

/// The outcomes of all tests that ran, and the errors of tests that could not run.
struct test_report {
  std::vector<test_outcome> outcomes;
  braid::diagnostics problems;

  [[nodiscard]] auto failed() const -> std::size_t {
    return static_cast<std::size_t>(
        std::ranges::count_if(outcomes, [](const test_outcome& each) { return !each.failures.empty(); }));
  }
};

/// A plan, and the tests to run for this plan.
struct tested_plan {
  bound_plan plan;
  plan_tests tests;
};

/// Returns the files of tests that the command line selects.
auto find_files(const workspace& workspace, const test_options& options) -> braid::checked<std::vector<artifact>> {
  auto all = list_plan_tests(workspace.where.plans);
  if (!all) return std::unexpected(std::move(all.error()));
  if (options.plans.empty() && !all->empty()) return all;
  if (options.plans.empty())
    return refused("no_tests", "no plan of the project has tests",
                   "write NAME.test.ts beside NAME.plan.ts, and run dslc test", workspace.where.plans);
  std::vector<artifact> out;
  std::vector<std::string_view> names;
  for (const artifact& each : *all) names.emplace_back(each.name);
  braid::diagnostics problems;
  for (const std::string& wanted : options.plans) {
    const auto found = std::ranges::find(*all, wanted, &artifact::name);
    if (wanted.ends_with(".json"))
      out.push_back({std::filesystem::path(wanted).filename().string(), wanted});
    else if (found != all->end())
      out.push_back(*found);
    else
      problems.append(make_diagnostic("no_tests", "the folder contains no tests of a plan " + quote_name(wanted),
                                      braid::did_you_mean(wanted, names), workspace.where.plans));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return out;
}

/// Returns an error for the first model that the tests replace but the plan does not call. Without this error, such a
/// test would silently use the model of the project.
auto find_unused_stub(const bound_plan& plan, const plan_tests& tests) -> braid::diagnostics {
  std::vector<std::string> called = list_models(*plan.stated);
  if (plan.substitute != nullptr)
    for (std::string& each : list_models(*plan.substitute->stated)) called.push_back(std::move(each));
  const std::vector<std::string_view> names(called.begin(), called.end());
  for (const stub_model& each : tests.models)
    if (std::ranges::find(called, each.name) == called.end())
      return make_diagnostic("unknown_model",
                             "the tests replace the model " + quote_name(each.name) + ", which the plan does not call",
                             braid::did_you_mean(each.name, names));
  return {};
}

/// Loads the plan of tests, with the models and vectors that the tests define.
auto load_with_stubs(workspace& workspace, const plan_tests& tests) -> braid::checked<bound_plan> {
  if (tests.models.empty() && tests.vectors.empty()) return workspace.load_named_plan(tests.plan);
  const auto files = stub_files::create(workspace.where, workspace.declared, tests);
  if (!files) return std::unexpected(files.error());
  // The plan refers to the registries of this workspace, so it cannot be loaded with a copy of the workspace.
  const project own = std::exchange(workspace.where, files->where());
  auto plan = workspace.load_named_plan(tests.plan);
  workspace.where = own;
  if (plan)
    if (auto problems = find_unused_stub(*plan, tests); !problems.empty()) return std::unexpected(std::move(problems));
  return plan;
}

auto load_tested(workspace& workspace, const artifact& file, const std::string& only) -> braid::checked<tested_plan> {
  auto tests = load_plan_tests(file.file, workspace.declared);
  if (!tests) return std::unexpected(std::move(tests.error()));
  std::erase_if(tests->tests, [&](const plan_test& each) { return each.name.find(only) == std::string::npos; });
  auto plan = load_with_stubs(workspace, *tests);
  if (!plan) {
    plan.error().set_source(file.file.string());  // if a plan is gone, nothing else says whose tests these are
    return std::unexpected(std::move(plan.error()));
  }
  return tested_plan{std::move(*plan), std::move(*tests)};
}

void run_all(const std::deque<tested_plan>& all, test_runner& runner, test_report& into) {
  for (const tested_plan& each : all) {
    for (const plan_test& test : each.tests.tests) {
      auto outcome = runner.run(each.plan, test);
      if (outcome)
        into.outcomes.push_back(std::move(*outcome));
      else
        into.problems.append(std::move(outcome.error()));
    }
  }
}

auto run_tests(workspace& workspace, const test_options& options) -> test_report {
  test_report out;
  const auto files = find_files(workspace, options);
  if (!files) {
    out.problems = files.error();
    return out;
  }
  std::deque<tested_plan> plans;  // outlives the runner, whose last tasks use them
  for (const artifact& file : *files) {
    auto loaded = load_tested(workspace, file, options.only);
    if (loaded)
      plans.push_back(std::move(*loaded));
    else
      out.problems.append(std::move(loaded.error()));
  }
  auto runner = test_runner::create(workspace.declared);
  if (!runner) {
    out.problems.append(std::move(runner.error()));
    return out;
  }
  run_all(plans, *runner, out);
  if (out.outcomes.empty() && out.problems.empty())
    out.problems = make_diagnostic("no_tests", "no test has " + quote_name(options.only) + " in its name");
  return out;
}

auto ids_text(const std::vector<row_id>& ids) -> std::string {
  if (ids.empty()) return "none";
  std::string out;
  for (std::size_t at = 0; at < std::min(ids.size(), max_shown_ids); ++at)
    out += (at == 0 ? "" : ", ") + printable(to_text(ids[at]));
  return ids.size() <= max_shown_ids ? out : out + ", and " + std::to_string(ids.size() - max_shown_ids) + " more";
}

void print_failure(const mismatch& each) {
  const std::string place = each.place.empty() ? "" : each.place + ": ";
  print("  " + printable(place + (each.kind.empty() ? "" : each.kind + ": ") + each.message) + "\n");
  if (!each.expected.empty() || !each.got.empty()) {
    if (!each.expected.empty()) print("    expected: " + ids_text(each.expected) + "\n");
    print("    got:      " + ids_text(each.got) + "\n");
  }
  for (const std::string& fate : each.fates) print("    " + printable(fate) + "\n");
}

void print_report(const test_report& report) {
  for (const test_outcome& each : report.outcomes) {
    print((each.failures.empty() ? "ok    " : "WRONG ") + printable(each.plan + ": " + each.test) + "\n");
    for (const mismatch& failure : each.failures) print_failure(failure);
  }
  std::fflush(stdout);
  std::fputs(printable(report.problems).c_str(), stderr);
  if (report.outcomes.empty()) return;
  print(counted(report.outcomes.size(), "test") + ": " + std::to_string(report.outcomes.size() - report.failed()) +
        " passed, " + std::to_string(report.failed()) + " failed\n");
}

void append_failure(std::string& out, const mismatch& each) {
  out += '{';
  append_json_member(out, "kind", each.kind);
  append_json_unless_empty(out, "source", each.place);
  append_json_member(out, "message", each.message);
  if (each.position) append_json_count(out, "position", *each.position);
  if (!each.expected.empty() || !each.got.empty()) {
    append_json_list(out, "expected", each.expected, append_json_id);
    append_json_list(out, "got", each.got, append_json_id);
  }
  if (!each.fates.empty()) append_json_list(out, "fates", each.fates, append_json_string);
  out += '}';
}

void append_outcome(std::string& out, const test_outcome& each) {
  out += '{';
  append_json_member(out, "plan", each.plan);
  append_json_member(out, "test", each.test);
  append_json_unless_empty(out, "source", each.place);
  append_json_flag(out, "passed", each.failures.empty());
  if (!each.failures.empty()) append_json_list(out, "failures", each.failures, append_failure);
  out += '}';
}

auto report_json(const test_report& report) -> std::string {
  std::string out = "{";
  append_json_list(out, "tests", report.outcomes, append_outcome);
  append_json_count(out, "passed", report.outcomes.size() - report.failed());
  append_json_count(out, "failed", report.failed());
  if (!report.problems.empty()) out += ",\"diagnostics\":" + diagnostics_json(report.problems);
  return out + "}\n";
}

}  // namespace

auto test_command(const test_options& options) -> exit_status {
  auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const test_report found = run_tests(*in, options);
  if (options.form == output_form::programs)
    print(report_json(found));
  else
    print_report(found);
  return found.failed() == 0 && found.problems.empty() ? exit_status::fine : exit_status::failed;
}

void add_test(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("test", "Run the tests of plans");
  auto options = std::make_shared<test_options>();
  command->add_option("plans", options->plans, "Plans by name, or files NAME.tests.json; default: all plans with tests")
      ->check(check_not_empty)
      ->type_name("PLAN");
  command->add_option("--project", options->project, "Folder with rankd.toml; default: this folder or a parent")
      ->check(check_not_empty)
      ->type_name("DIR");
  command->add_option("--only", options->only, "Run only tests with this text in their names")
      ->check(check_not_empty)
      ->type_name("TEXT");
  detail::add_form(*command, options->form);
  command->footer("Exit status: 0 all tests pass, 1 a test fails or no test can be run, 2 wrong usage.");
  command->callback([options, &chosen] { chosen = [options] { return test_command(*options); }; });
}

}  // namespace rankd
