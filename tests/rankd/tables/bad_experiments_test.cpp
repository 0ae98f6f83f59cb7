// tests/rankd/tables/bad_experiments_test.cpp: experiments that are wrong, and what reading them complains about.
#include <rankd/registry/experiments.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/tables/table.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto good_experiments() -> std::string { return table_file("good_experiments.toml"); }

auto experiments_found_in(const std::string& text) -> std::vector<std::string> {
  const braid::testing::scratch_folder folder;
  folder.write("experiments.toml", text);
  const auto read = experiment_set::load(folder.path(), op_world());
  if (read) return {};
  for (const braid::diagnostic& each : read.error()) {
    CHECK(each.source.ends_with("experiments.toml"));
    CHECK(!each.message.empty());
  }
  return spelled(read.error());
}

}  // namespace

TEST_CASE("the experiments that the table changes are right") {
  CHECK(joined(experiments_found_in(good_experiments())).empty());
}

TEST_CASE("each bad file of experiments of the table gets its diagnostics and no others") {
  check_table("bad_experiments.ndjson", good_experiments(), 70, experiments_found_in);
}
