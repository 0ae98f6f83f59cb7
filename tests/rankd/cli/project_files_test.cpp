// tests/rankd/cli/project_files_test.cpp: the files of a project that concern no single plan, right and wrong.
#include <rankd/cli/checks/project_files.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::project_copy;

namespace {

const std::vector<std::string> plans{"concat_plan", "reels_plan_a"};

/// "file: code pointer" of each diagnostic.
auto found_in(const project_copy& project) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const file_problems& each : find_file_problems(workspace::open(project.path()).value(), plans))
    for (const braid::diagnostic& item : each.problems)
      out.push_back(each.file + ": " + item.code + " " + item.pointer);
  return out;
}

}  // namespace

TEST_CASE("a project without faults has no files with problems") { CHECK(found_in(project_copy()).empty()); }

TEST_CASE("each file has its diagnostics, those about rankd.toml together") {
  const project_copy project;
  const std::string settings = read_text_file(project.path() / "rankd.toml").value();
  project.write("rankd.toml", settings +
                                  "[budget.plan.a]\nrows = 1\n[shadow.reels_plan_a]\nplan = \"b\"\n"
                                  "[audit]\nredact = [\"c\"]\n");
  project.write("registry/experiments.toml",
                "[[layer]]\nname = \"l\"\nsalt = \"s\"\n"
                "[[experiment]]\nid = \"exp_0001\"\nname = \"e\"\nlayer = \"l\"\nstatus = \"active\"\nplans = [\"d\"]\n"
                "arms = [{ name = \"x\", from = 0, to = 99 }]\n");
  project.write("registry/events.toml", "[[event]]\n");
  CHECK((found_in(project) == std::vector<std::string>{"rankd.toml: unknown_plan /budget/plan/a",
                                                       "rankd.toml: unknown_plan /shadow/reels_plan_a/plan",
                                                       "rankd.toml: unknown_name /audit/redact/0",
                                                       "experiments.toml: unknown_plan /experiment/0/plans/0",
                                                       "events.toml: missing_field /event/0"}));
}
