// tests/rankd/registry/budgets_test.cpp: what rankd.toml says of budgets, and what is wrong with that.
#include <rankd/registry/budgets.hpp>

#include <rankd/registry/project.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

namespace {

auto load(const std::string& budget) -> braid::checked<project> {
  const braid::testing::scratch_folder folder;
  return project::load(
      folder.write("rankd.toml", "name = \"a\"\nenvironment = \"dev\"\nregistry = \"r\"\nplans = \"p\"\n" + budget));
}

auto budgets(const std::string& text) -> plan_budgets { return load(text).value().budgets; }

auto diagnostics(const std::string& text) -> std::vector<std::string> {
  const auto refused = load(text);
  std::vector<std::string> out;
  if (refused) return out;
  for (const auto& item : refused.error()) {
    CHECK(item.source.ends_with("rankd.toml"));
    out.push_back(item.code + " " + item.pointer);
  }
  return out;
}

}  // namespace

TEST_CASE("nothing is bounded where nothing is stated") {
  CHECK(plan_budgets().of("any") == plan_budget());
  CHECK(budgets("").of("any") == plan_budget());
  CHECK(budgets("[budget]\n").of("any") == plan_budget());
}

TEST_CASE("a plan has what it states, and what all have besides") {
  const plan_budgets read = budgets(
      "[budget]\nrows = 1000\nbytes = 2000\ndeadline_ms = 300\ndefault_deadline_ms = 30\n"
      "[budget.plan.feed]\nrows = 7\nin_flight = 4\n[budget.plan.slow]\ndeadline_ms = 5000\n");
  const plan_budget all = read.of("any");
  CHECK(all.rows == 1000U);
  CHECK(all.bytes == 2000U);
  CHECK(all.max_deadline == 300ms);
  CHECK(all.default_deadline == 30ms);
  CHECK(!all.in_flight);
  plan_budget feed = all;
  feed.rows = 7;
  feed.in_flight = 4;
  CHECK(read.of("feed") == feed);
  CHECK(read.of("slow").max_deadline == 5s);
  CHECK(read.of("slow").rows == 1000U);
}

TEST_CASE("everything wrong with budgets is said with its place") {
  using list = std::vector<std::string>;
  CHECK(diagnostics("budget = 1\n") == list{"wrong_type /budget"});
  CHECK(diagnostics("[budget]\nrows = 0\nbytes = -1\ndeadline_ms = 86400001\nin_flight = \"1\"\nrow = 1\n") ==
        list{"out_of_range /budget/rows", "out_of_range /budget/bytes", "out_of_range /budget/deadline_ms",
             "wrong_type /budget/in_flight", "unknown_field /budget/row"});
  CHECK(diagnostics("[budget.plan.a]\nrows = 1.5\nplan = 1\n[budget.plan.\"a b\"]\n") ==
        list{"wrong_type /budget/plan/a/rows", "unknown_field /budget/plan/a/plan", "bad_value /budget/plan/a b"});
  CHECK(diagnostics("[budget]\nplan = []\n") == list{"wrong_type /budget/plan"});
  CHECK(diagnostics("[budget]\ndefault_deadline_ms = 20\n[budget.plan.a]\ndeadline_ms = 10\n") ==
        list{"bad_value /budget/plan/a/default_deadline_ms"});
}

TEST_CASE("a budget of a plan that is not there is a stranger") {
  const plan_budgets read = budgets("[budget.plan.feed]\n[budget.plan.fed]\n");
  const braid::diagnostics found = read.strangers({"feed", "other"});
  REQUIRE(found.size() == 1);
  CHECK(found.front().code == "unknown_plan");
  CHECK(found.front().pointer == "/budget/plan/fed");
  CHECK(found.front().source == "rankd.toml");
  CHECK(found.front().hint.find("feed") != std::string::npos);
}

TEST_CASE("budgets have the same text exactly where they are the same") {
  const std::string one = "[budget]\nrows = 1\n[budget.plan.a]\nbytes = 2\n";
  CHECK(budgets(one).to_text() == budgets("[budget.plan.a]\nbytes = 2\n[budget]\nrows = 1\n").to_text());
  CHECK(budgets(one).to_text() != budgets("[budget]\nrows = 1\n[budget.plan.a]\nbytes = 3\n").to_text());
  CHECK(budgets(one).to_text() != budgets("[budget]\nrows = 1\n[budget.plan.b]\nbytes = 2\n").to_text());
  CHECK(budgets("[budget]\nrows = 1\n").to_text() != budgets("[budget]\nbytes = 1\n").to_text());
}
