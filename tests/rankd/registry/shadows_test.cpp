// tests/rankd/registry/shadows_test.cpp: which plans run beside others, as rankd.toml states it.
#include <rankd/registry/shadows.hpp>

#include <rankd/registry/project.hpp>
#include <tests/support/scratch_folder.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto loaded(const std::string& tables) -> braid::checked<project> {
  const braid::testing::scratch_folder folder;
  folder.write("rankd.toml", "name = \"p\"\nenvironment = \"dev\"\nregistry = \"r\"\nplans = \"p\"\n" + tables);
  return project::load(folder.path());
}

auto code_of(const std::string& tables) -> std::string {
  const auto got = loaded(tables);
  return got ? "" : got.error().front().code + " " + got.error().front().pointer;
}

}  // namespace

TEST_CASE("a shadow has a candidate, a share and a bound, of which all but the first have defaults") {
  const auto got = loaded("[shadow.feed]\nplan = \"next\"\n[shadow.home]\nplan = \"b\"\nshare = 1\nin_flight = 9\n");
  REQUIRE(got);
  REQUIRE(got->shadows.size() == 2);
  CHECK(got->shadows[0].plan == "feed");
  CHECK(got->shadows[0].candidate == "next");
  CHECK(got->shadows[0].share == 0.01);
  CHECK(got->shadows[0].in_flight == 4);
  CHECK(got->shadows[1].share == 1);
  CHECK(got->shadows[1].in_flight == 9);
  CHECK(find_strangers(got->shadows, {"b", "feed", "home", "next"}).empty());
  CHECK(find_strangers(got->shadows, {"b", "feed", "home"}).front().pointer == "/shadow/feed/plan");
  const braid::diagnostics no_home = find_strangers(got->shadows, {"b", "feed", "next"});
  CHECK(no_home.front().pointer == "/shadow/home");
  CHECK(no_home.front().hint == "build that plan, or remove the table");
  CHECK(find_strangers(got->shadows, {"b", "feed", "home", "nexd"}).front().hint == "did you mean `nexd`?");
}

TEST_CASE("what is wrong with a shadow is said with its place") {
  CHECK(code_of("[shadow.a]\n") == "missing_field /shadow/a");
  CHECK(code_of("[shadow.a]\nplan = \"a\"\n") == "bad_value /shadow/a/plan");
  CHECK(code_of("[shadow.a]\nplan = \"b\"\nshare = 0\n") == "bad_value /shadow/a/share");
  CHECK(code_of("[shadow.a]\nplan = \"b\"\nshare = 1.5\n") == "bad_value /shadow/a/share");
  CHECK(code_of("[shadow.a]\nplan = \"b\"\nshare = nan\n") == "non_finite_number /shadow/a/share");
  CHECK(code_of("[shadow.a]\nplan = \"b\"\nin_flight = 0\n") != "");
  CHECK(code_of("[shadow.a]\nplan = \"b\"\nrate = 1\n") == "unknown_field /shadow/a/rate");
  CHECK(code_of("shadow = 1\n") == "wrong_type /shadow");
  CHECK(code_of("[shadow]\na = 1\n") != "");
}
