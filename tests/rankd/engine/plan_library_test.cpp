// tests/rankd/engine/plan_library_test.cpp: plans that change while they are served: all at once or not at all.
#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/registry/file.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/support/eventually.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;

namespace {

using names = std::vector<std::string>;
constexpr std::string_view user_1 = R"({"user_id":1})";

auto declared() -> const registries& { return reference_project::get().declared; }

void write_plan(const scratch_folder& folder, const std::string& name, int value) {
  folder.write(name + ".json", marked_plan(name, value));
}

/// What the plan of a name answers by now.
auto mark_now(engine_world& world, const plan_library& library, std::string_view name) -> std::string {
  const auto plan = library.find(name);
  if (!plan) return plan.error().front().code;
  return mark_of(world.on().run(world.ranker().rank(*plan, value_of(parse_request(user_1, declared())))));
}

auto read_numbers(const plan_library& library) -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> out;
  for (const plan_version_info& each : library.versions()) out.push_back(each.number);
  return out;
}

}  // namespace

TEST_CASE("a library serves what a reload has found, and says what has changed") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 2);
  plan_library library(declared());
  CHECK(mark_now(world, library, "a") == "unknown_plan");

  const reload_report first = value_of(library.reload(folder.path()));
  CHECK((first.added == names{"a", "b"}));
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(mark_now(world, library, "b") == "2");

  write_plan(folder, "a", 3);
  write_plan(folder, "c", 4);
  std::filesystem::remove(folder.path() / "b.json");
  const reload_report second = value_of(library.reload(folder.path()));
  CHECK((second.added == names{"c"}));
  CHECK((second.changed == names{"a"}));
  CHECK((second.removed == names{"b"}));
  CHECK(second.unchanged.empty());
  CHECK(mark_now(world, library, "a") == "3");
  CHECK(mark_now(world, library, "b") == "unknown_plan");
  CHECK(mark_now(world, library, "c") == "4");

  const reload_report third = value_of(library.reload(folder.path()));
  CHECK((third.unchanged == names{"a", "c"}));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 2, 1}));
}

TEST_CASE("where one plan is wrong all of the old ones go on serving, and every diagnostic is told") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 2);
  plan_library library(declared());
  value_of(library.reload(folder.path()));

  write_plan(folder, "a", 3);
  folder.write("b.json", "{");
  folder.write("c.json", artifact_of(source("s", 1) + "," + node("f", "core::nothing", "s"), R"("f")"));
  const auto refused = library.reload(folder.path());
  CHECK((codes_of(refused) == names{"json_syntax", "name_mismatch", "unknown_op"}));
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(mark_now(world, library, "b") == "2");
  CHECK(library.versions().size() == 2);
  CHECK(library.versions_in_memory() == 2);

  write_plan(folder, "b", 5);
  std::filesystem::remove(folder.path() / "c.json");
  value_of(library.reload(folder.path()));
  CHECK(mark_now(world, library, "a") == "3");
  CHECK(mark_now(world, library, "b") == "5");
}

TEST_CASE(
    "a library that leaves out bad plans replaces the others, and keeps the last right versions of the bad ones") {
  engine_world world;
  const scratch_folder folder;
  folder.write("b.json", "{");
  plan_library library(declared(), {.on_bad_plan = bad_plans::leave_out});
  CHECK((codes_of(library.reload(folder.path())) == names{"json_syntax"}));  // it would serve nothing
  CHECK(library.current()->left_out().empty());

  write_plan(folder, "a", 1);
  write_plan(folder, "c", 2);
  const reload_report first = value_of(library.reload(folder.path()));
  CHECK((first.added == names{"a", "c"}));
  REQUIRE(first.left_out.size() == 1);
  CHECK(first.left_out[0].name == "b");
  CHECK(first.left_out[0].problems.front().code == "json_syntax");
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(mark_now(world, library, "b") == "unknown_plan");

  write_plan(folder, "a", 3);
  write_plan(folder, "b", 4);
  folder.write("c.json", artifact_of(source("s", 1) + "," + node("f", "core::nothing", "s"), R"("f")"));
  const reload_report second = value_of(library.reload(folder.path()));
  CHECK((second.added == names{"b"}));
  CHECK((second.changed == names{"a"}));
  CHECK(second.removed.empty());
  REQUIRE(second.left_out.size() == 1);
  CHECK(second.left_out[0].name == "c");
  CHECK(second.left_out[0].problems.size() == 2);
  CHECK(mark_now(world, library, "c") == "2");

  folder.write("a.json", "{");
  folder.write("b.json", "{");
  CHECK(value_of(library.reload(folder.path())).left_out.size() == 3);  // all of them go on
  CHECK(mark_now(world, library, "a") == "3");
  value_of(library.pin("a", 1));
  CHECK(library.current()->left_out().size() == 3);
  CHECK(mark_now(world, library, "a") == "1");

  std::filesystem::remove(folder.path() / "c.json");
  write_plan(folder, "a", 3);
  const reload_report last = value_of(library.reload(folder.path()));
  CHECK((last.unchanged == names{"a"}));
  CHECK((last.removed == names{"c"}));
  CHECK(last.left_out.size() == 1);
  CHECK(mark_now(world, library, "c") == "unknown_plan");
}

TEST_CASE("the text of an artifact is bound as the plan of its name, or refused with its faults, and kept nowhere") {
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  const bound_plan other = value_of(library.try_artifact(marked_plan("a", 2), "a"));
  CHECK(other.digest != value_of(library.find("a"))->digest);
  const bound_plan same = value_of(library.try_artifact(marked_plan("a", 1), "a"));
  CHECK(same.digest == value_of(library.find("a"))->digest);
  const auto refused = library.try_artifact("{}", "a");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().source == "a.json");
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1}));
}

TEST_CASE("versions are counted by plan, also over a reload that is refused and one that has the plan no more") {
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 1);
  plan_library library(declared());
  const auto reloaded = [&](const std::string& name, int value) {
    write_plan(folder, name, value);
    return library.reload(folder.path()).has_value();
  };
  value_of(library.reload(folder.path()));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 1}));
  CHECK(reloaded("a", 2));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 2, 1}));
  folder.write("c.json", "{");
  CHECK_FALSE(reloaded("a", 3));
  std::filesystem::remove(folder.path() / "c.json");
  CHECK(reloaded("a", 4));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 2, 3, 1}));
  std::filesystem::remove(folder.path() / "b.json");
  value_of(library.reload(folder.path()));
  CHECK(reloaded("b", 5));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 2, 3, 2}));
}

TEST_CASE("a changed model makes a new version of the plans that call it, and a bad one leaves the old ones serving") {
  engine_world world;
  const scratch_folder folder;
  const scratch_folder models;
  const auto write_model = [&models](const std::string& intercept) {
    models.write("same.json", R"({"schema_version":1,"kind":"linear","intercept":)" + intercept +
                                  R"(,"weights":[{"key":"id","weight":0}]})");
  };
  folder.write("a.json", R"({"schema_version":1,"plan_name":"a","outputs":["m"],"nodes":[)" + source("s", 2) + "," +
                             node("l", "core::call_models", "s", R"({"models":["same"],"out_keys":[1001]})") + "," +
                             node("m", "core::call_models", "l", R"({"models":["same"],"out_keys":[1002]})") + "]}");
  write_plan(folder, "b", 2);
  plan_library library(declared(), {.models = models.path()});
  const auto missing = library.reload(folder.path());
  CHECK((codes_of(missing) == names{"unknown_model", "unknown_model"}));
  CHECK(missing.error().front().pointer == "/nodes/1/params/models/0");
  CHECK(missing.error().front().source == (folder.path() / "a.json").string());

  write_model("1");
  CHECK((value_of(library.reload(folder.path())).added == names{"a", "b"}));
  CHECK(mark_now(world, library, "a") == "1");
  const plan_handle first = value_of(library.find("a"));
  CHECK((value_of(library.reload(folder.path())).unchanged == names{"a", "b"}));
  CHECK(value_of(library.find("a")) == first);

  write_model("3");
  const reload_report second = value_of(library.reload(folder.path()));
  CHECK((second.changed == names{"a"}));
  CHECK((second.unchanged == names{"b"}));
  CHECK(mark_now(world, library, "a") == "3");
  CHECK(value_of(library.find("a"))->digest != first->digest);
  CHECK(value_of(library.find("a"))->artifact_digest == first->artifact_digest);

  write_model("1e400");
  const auto refused = library.reload(folder.path());
  CHECK((codes_of(refused) == names{"number_out_of_range", "number_out_of_range"}));
  CHECK(refused.error().front().source == (models.path() / "same.json").string());
  CHECK(mark_now(world, library, "a") == "3");

  plan_library without(declared());
  CHECK((codes_of(without.reload(folder.path())) == names{"no_models", "no_models"}));
}

TEST_CASE("a reload is refused while somebody writes into the folder of the models") {
  engine_world world;
  const scratch_folder folder;
  const scratch_folder models;
  const auto model_text = [](int intercept) {
    return R"({"schema_version":1,"kind":"linear","intercept":)" + std::to_string(intercept) +
           R"(,"weights":[{"key":"id","weight":0}]})";
  };
  models.write("same.json", model_text(0));
  folder.write("a.json", R"({"schema_version":1,"plan_name":"a","outputs":["m"],"nodes":[)" + source("s", 2) + "," +
                             node("l", "core::call_models", "s", R"({"models":["same"],"out_keys":[1001]})") + "," +
                             node("m", "core::call_models", "l", R"({"models":["same"],"out_keys":[1002]})") + "]}");
  int reads = 0;
  bool changes = false;  // another model at each read
  const auto read = [&](const std::filesystem::path& file) -> braid::checked<std::string> {
    if (file.filename() != "same.json") return read_text_file(file);
    return model_text(changes ? ++reads : reads);
  };
  plan_library library(declared(), {.read = read, .models = models.path()});
  value_of(library.reload(folder.path()));

  changes = true;
  const auto refused = library.reload(folder.path());
  CHECK((codes_of(refused) == names{"folder_changing"}));
  CHECK(refused.error().front().source == models.path().string());
  CHECK(mark_now(world, library, "a") == "0");
  CHECK(library.versions().size() == 1);

  changes = false;
  CHECK((value_of(library.reload(folder.path())).changed == names{"a"}));
  CHECK(mark_now(world, library, "a") == std::to_string(reads));
}

TEST_CASE("diagnostics of binding name the file, as those of loading do") {
  const scratch_folder folder;
  const auto file = folder.write(
      "t.json", artifact_of(source("s", 1) + "," + node("m", "core::vm", "s", R"({"out_key":3001,"expr_id":"e"})"),
                            R"("m")", R"("expr_table":{"e":{"op":"const_number","value":1}},)"));
  plan_library library(declared());
  const auto refused = library.reload(folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "expr_not_string");
  CHECK(refused.error().front().source == file.string());
}

TEST_CASE("a request ends on the version that it began with") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  const plan_handle before = value_of(library.find("a"));

  write_plan(folder, "a", 2);
  value_of(library.reload(folder.path()));
  CHECK(mark_of(world.rank(*before, user_1)) == "1");
  CHECK(mark_now(world, library, "a") == "2");
}

TEST_CASE("a plan lives as long as an answer and the nodes that end after it") {
  scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared(), {.max_kept = 1});
  value_of(library.reload(folder.path()));
  {
    engine_world world;
    const ranking answer =
        world.on().run(world.ranker().rank(value_of(library.find("a")), value_of(parse_request(user_1, declared()))));
    write_plan(folder, "a", 2);
    value_of(library.reload(folder.path()));
    world.close();
    CHECK(library.versions_in_memory() == 2);
    CHECK(mark_of(answer) == "1");
  }
  CHECK(library.versions_in_memory() == 1);
}

TEST_CASE("a node that ends behind its answer still has its plan, which nobody else keeps") {
  const scratch_folder folder;
  const auto write = [&](int ms) {
    folder.write("t.json", artifact_of(source("s", 1) + "," + busy("b", "s", ms), R"("b")"));
  };
  write(an_hour_ms);
  plan_library library(declared(), {.max_kept = 1});
  value_of(library.reload(folder.path()));
  engine_world world(1);
  {
    const ranking late = world.on().run(world.ranker().rank(
        value_of(library.find("t")), value_of(parse_request(R"({"user_id":1,"deadline_ms":1})", declared()))));
    CHECK(error_of(late) == "deadline_exceeded b");
  }
  write(1);
  value_of(library.reload(folder.path()));
  CHECK(braid::testing::eventually([&] { return library.versions_in_memory() == 1; }));
}

TEST_CASE("a version that is used is counted as long as somebody holds it") {
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  CHECK(library.versions().front().users == 0);
  plan_handle one = value_of(library.find("a"));
  const plan_handle two = one;
  CHECK(library.versions().front().users == 2);
  const auto all = library.current();
  CHECK(library.versions().front().users == 2);  // that set is the library's, too

  write_plan(folder, "a", 2);
  value_of(library.reload(folder.path()));
  const auto versions = library.versions();
  REQUIRE(versions.size() == 2);
  CHECK(versions[0].users == 3);
  CHECK_FALSE(versions[0].serves);
  CHECK(versions[1].users == 0);
  CHECK(versions[1].serves);
  one.reset();
  CHECK(library.versions().front().users == 2);
  CHECK(all->find("a") == two);
}

TEST_CASE("only so many versions are kept") {
  const scratch_folder folder;
  plan_library library(declared(), {.max_kept = 3});
  for (int value = 1; value <= 8; ++value) {
    write_plan(folder, "a", value);
    value_of(library.reload(folder.path()));
  }
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{6, 7, 8}));
  CHECK(library.versions_in_memory() == 3);
}

TEST_CASE("a pinned version serves and is kept whatever is loaded, until it is unpinned") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared(), {.max_kept = 2});
  value_of(library.reload(folder.path()));
  const plan_version_info pinned = value_of(library.pin("a", 1));
  CHECK(pinned.pinned);
  CHECK(pinned.serves);
  CHECK(pinned.users == 0);
  for (int value = 2; value <= 6; ++value) {
    write_plan(folder, "a", value);
    CHECK((value_of(library.reload(folder.path())).changed == names{"a"}));
    CHECK(mark_now(world, library, "a") == "1");
  }
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{1, 5, 6}));

  REQUIRE(library.unpin("a"));
  CHECK(mark_now(world, library, "a") == "6");
  write_plan(folder, "a", 7);
  value_of(library.reload(folder.path()));
  CHECK((read_numbers(library) == std::vector<std::uint64_t>{6, 7}));
}

TEST_CASE("a plan is rolled back step by step, and a reload does not undo it") {
  engine_world world;
  const scratch_folder folder;
  plan_library library(declared());
  for (int value = 1; value <= 3; ++value) {
    write_plan(folder, "a", value);
    value_of(library.reload(folder.path()));
  }
  CHECK(value_of(library.roll_back("a")).number == 2);
  CHECK(mark_now(world, library, "a") == "2");
  value_of(library.reload(folder.path()));
  CHECK(mark_now(world, library, "a") == "2");
  CHECK(value_of(library.roll_back("a")).number == 1);
  CHECK(mark_now(world, library, "a") == "1");
  CHECK((codes_of(library.roll_back("a")) == names{"no_earlier_version"}));
  CHECK(mark_now(world, library, "a") == "1");
  REQUIRE(library.unpin("a"));
  CHECK(mark_now(world, library, "a") == "3");
}

TEST_CASE("a plan whose budget is another has a new version, and budgets of plans that are not there change nothing") {
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 2);
  plan_library library(declared(), {.budgets = plan_budgets({.rows = 100}, {})});
  value_of(library.reload(folder.path()));
  const plan_budgets of_b({.rows = 100}, {{"b", {.rows = 7}}});
  const reload_report report = value_of(library.reload(folder.path(), of_b));
  CHECK((report.changed == names{"b"}));
  CHECK((report.unchanged == names{"a"}));
  CHECK(value_of(library.find("b"))->budget.rows == 7);
  CHECK((value_of(library.reload(folder.path())).unchanged == names{"a", "b"}));
  CHECK(value_of(library.find("b"))->budget.rows == 7);

  const plan_budgets of_c({.rows = 1}, {{"c", {.rows = 7}}});
  CHECK((codes_of(library.reload(folder.path(), of_c)) == names{"unknown_plan"}));
  CHECK(value_of(library.find("a"))->budget.rows == 100);
}

TEST_CASE("what else names plans is asked with the names that there are, and may refuse a reload") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 2);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  value_of(library.pin("b", 1));
  std::filesystem::remove(folder.path() / "b.json");
  write_plan(folder, "a", 3);
  write_plan(folder, "c", 4);
  names asked;
  const auto refuse = [&asked](const names& plans) {
    asked = plans;
    return braid::diagnostics(
        {.code = "unknown_plan", .pointer = {}, .message = "d", .hint = {}, .node = {}, .source = {}});
  };
  CHECK((codes_of(library.reload(folder.path(), {}, {}, nullptr, refuse)) == names{"unknown_plan"}));
  std::ranges::sort(asked);
  CHECK((asked == names{"a", "b", "c"}));
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(mark_now(world, library, "c") == "unknown_plan");
}

TEST_CASE("a pinned plan outlives its artifact, and an unpinned one goes with it") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  write_plan(folder, "b", 2);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  value_of(library.pin("a", 1));
  std::filesystem::remove(folder.path() / "a.json");
  const reload_report report = value_of(library.reload(folder.path()));
  CHECK(report.removed.empty());
  CHECK((report.pinned_only == names{"a"}));
  CHECK(mark_now(world, library, "a") == "1");
  const plan_budgets of_a({}, {{"a", {.rows = 7}}});
  CHECK((value_of(library.reload(folder.path(), of_a)).pinned_only == names{"a"}));
  REQUIRE(library.unpin("a"));
  CHECK((codes_of(library.reload(folder.path(), of_a)) == names{"unknown_plan"}));
  CHECK(mark_now(world, library, "a") == "unknown_plan");
  CHECK(library.versions_in_memory() == 1);

  write_plan(folder, "a", 1);
  CHECK((value_of(library.reload(folder.path())).added == names{"a"}));
  CHECK(mark_now(world, library, "a") == "1");
}

TEST_CASE("what is not there cannot be found, pinned, unpinned or rolled back") {
  const scratch_folder folder;
  write_plan(folder, "feed", 1);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  CHECK((codes_of(library.find("fed")) == names{"unknown_plan"}));
  CHECK(library.find("fed").error().front().hint.find("feed") != std::string::npos);
  CHECK((codes_of(library.pin("fed", 1)) == names{"unknown_plan"}));
  CHECK((codes_of(library.pin("feed", 2)) == names{"unknown_version"}));
  CHECK((codes_of(library.unpin("fed")) == names{"unknown_plan"}));
  CHECK((codes_of(library.roll_back("fed")) == names{"unknown_plan"}));
  CHECK((codes_of(library.roll_back("feed")) == names{"no_earlier_version"}));
}

TEST_CASE("a folder that is gone or empty leaves the old plans") {
  engine_world world;
  const scratch_folder folder;
  write_plan(folder, "a", 1);
  plan_library library(declared());
  value_of(library.reload(folder.path()));
  CHECK((codes_of(library.reload(folder.path() / "absent")) == names{"unreadable_folder"}));
  std::filesystem::remove(folder.path() / "a.json");
  CHECK((codes_of(library.reload(folder.path())) == names{"no_artifacts"}));
  CHECK(mark_now(world, library, "a") == "1");
}

TEST_CASE("an index that does not agree with the artifacts refuses all of them") {
  engine_world world;
  const scratch_folder folder;
  const std::string a = marked_plan("a", 1);
  const std::string b = marked_plan("b", 1);
  folder.write("a.json", a);
  folder.write("b.json", b);
  folder.write("index.json", index_of({{"a", a}, {"b", b}}));
  plan_library library(declared());
  value_of(library.reload(folder.path()));

  // Half of a deployment: the artifact is new and the index is not, or the other way round.
  write_plan(folder, "a", 2);
  CHECK((codes_of(library.reload(folder.path())) == names{"digest_mismatch"}));
  folder.write("index.json", index_of({{"a", marked_plan("a", 2)}, {"b", marked_plan("b", 2)}}));
  CHECK((codes_of(library.reload(folder.path())) == names{"digest_mismatch"}));
  CHECK(mark_now(world, library, "a") == "1");
  CHECK(mark_now(world, library, "b") == "1");

  write_plan(folder, "b", 2);
  value_of(library.reload(folder.path()));
  CHECK(mark_now(world, library, "a") == "2");
  CHECK(mark_now(world, library, "b") == "2");
  std::filesystem::remove(folder.path() / "b.json");
  CHECK((codes_of(library.reload(folder.path())) == names{"unknown_artifact"}));
  folder.write("b.json", marked_plan("b", 2));
  write_plan(folder, "c", 2);
  CHECK((codes_of(library.reload(folder.path())) == names{"not_indexed"}));
  folder.write("index.json", "[");
  CHECK((codes_of(library.reload(folder.path())) == names{"json_syntax"}));
}
