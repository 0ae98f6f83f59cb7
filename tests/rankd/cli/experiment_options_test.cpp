// tests/rankd/cli/experiment_options_test.cpp: rankd experiment, and arms on the command line.
#include <rankd/cli/experiments/experiment_options.hpp>
#include <rankd/registry/file.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

constexpr const char* two_experiments = R"([[layer]]
name = "feed"
salt = "2026-11"
[[layer]]
name = "models"
salt = "other"
buckets = 100
[[experiment]]
id = "exp_0001"
name = "penalties"
layer = "feed"
status = "active"
plans = ["reels_plan_a"]
arms = [{ name = "control", from = 0, to = 4999 }, { name = "strong", from = 5000, to = 9999, set = { media_age_penalty_weight = 2.0 } }]
[[experiment]]
id = "exp_0002"
name = "cutoffs"
layer = "models"
status = "draft"
plans = ["reels_plan_a"]
arms = [{ name = "high", from = 0, to = 9, set = { page_size = 3 } }]
)";

/// A copy of examples/experiments.
class example_project : public braid::testing::scratch_folder {
 public:
  example_project() { std::filesystem::copy("examples/experiments", path(), std::filesystem::copy_options::recursive); }
};

auto make_json(const project_copy& project, words arguments, int status = 0) -> json {
  arguments.emplace_back("--json");
  const process_end end = rankd_in(project.path(), arguments);
  CHECK_MESSAGE(end.status == status, end.out << end.err);
  return json::parse(end.out);
}

}  // namespace

TEST_CASE("a check lists the experiments, and warns of params that no plan reads") {
  const project_copy project;
  CHECK(rankd_in(project.path(), {"experiment", "check"}).out == "no experiments\n");
  project.write("registry/experiments.toml", two_experiments);
  const json all = make_json(project, {"experiment", "check"});
  REQUIRE(all.at("experiments").size() == 2);
  CHECK(all.at("experiments")[0].at("runs") == true);
  CHECK(all.at("experiments")[1].at("runs") == false);
  CHECK(all.at("experiments")[1].at("arms")[0].at("share") == 0.1);
  CHECK(all.at("experiments")[0].at("arms")[1].at("set") == json::parse(R"({"media_age_penalty_weight":2.0})"));
  bool warned = false;
  for (const json& each : all.at("warnings"))
    warned =
        warned || (each.at("code") == "unread_param" && each.at("pointer") == "/experiment/1/arms/0/set/page_size");
  CHECK(warned);
  const process_end people = rankd_in(project.path(), {"experiment", "check"});
  CHECK(people.status == 0);
  CHECK(has(people.out, "penalties"));
  CHECK(has(people.err, "unread_param"));
}

TEST_CASE("a check says what is wrong, and with which plans") {
  const project_copy project;
  project.write("registry/experiments.toml", "[[layer]]\nname = \"a\"\nsalt = \"\"\n");
  const process_end end = rankd_in(project.path(), {"experiment", "check"});
  CHECK(end.status == 1);
  CHECK(has(end.err, "bad_value"));
  std::string text = two_experiments;
  text.replace(text.find("reels_plan_a"), 12, "reels_plan_z");
  project.write("registry/experiments.toml", text);
  const json refused = make_json(project, {"experiment", "check"}, 1);
  CHECK(refused.at("error").at("code") == "unknown_plan");
  CHECK(refused.at("error").at("pointer") == "/experiment/0/plans/0");
}

TEST_CASE("the registry shows experiments where there are some") {
  const project_copy project;
  const std::string before = rankd_in(project.path(), {"registry", "--json"}).out;
  CHECK(!has(before, "experiments"));
  project.write("registry/experiments.toml", two_experiments);
  const json all = make_json(project, {"registry"});
  CHECK(all.at("experiments").size() == 2);
  CHECK(all.at("digests").at("experiments").get<std::string>().size() == 64);
  CHECK(has(rankd_in(project.path(), {"registry", "experiments"}).out, "cutoffs"));
}

TEST_CASE("a simulation splits ids as the shares say") {
  const project_copy project;
  project.write("registry/experiments.toml", two_experiments);
  const json report = make_json(project, {"experiment", "simulate", "--ids", "20000"});
  CHECK(report.at("ids") == 20000);
  const json& penalties = report.at("experiments")[0];
  CHECK(penalties.at("as_expected") == true);
  CHECK(penalties.at("arms")[0].at("units").get<int>() + penalties.at("arms")[1].at("units").get<int>() == 20000);
  CHECK(std::abs(penalties.at("arms")[0].at("share").get<double>() - 0.5) < 0.02);
  REQUIRE(report.at("overlaps").size() == 1);
  CHECK(report.at("overlaps")[0].at("expected_share") == doctest::Approx(0.1));
  CHECK(report.at("overlaps")[0].at("as_expected") == true);
  const process_end people = rankd_in(project.path(), {"experiment", "simulate", "--ids", "1000"});
  CHECK(has(people.out, "50.000%"));
  CHECK(has(people.out, "independent"));
}

TEST_CASE("the command line may name an arm, and shows it") {
  const project_copy project;
  project.write("registry/experiments.toml", two_experiments);
  const std::string request =
      R"({"user_id":1,"plan":"reels_plan_a","request_id":"r","experiments":{"penalties":"strong"}})";
  const process_end end = rankd_in(project.path(), {"rank", "--request", request});
  CHECK_MESSAGE(end.status == 0, end.out);
  CHECK(json::parse(end.out).at("experiments") == json::parse(R"({"penalties":"strong"})"));
  CHECK(has(rankd_in(project.path(), {"rank", "--table", "--request", request}).out,
            "experiment penalties: arm strong, by the request"));
  const process_end unknown = rankd_in(
      project.path(), {"rank", "--request", R"({"user_id":1,"plan":"reels_plan_a","experiments":{"cutoffs":"high"}})"});
  CHECK(unknown.status == 1);
  CHECK(json::parse(unknown.out).at("error").at("code") == "unknown_experiment");
}

TEST_CASE("the example answers and is simulated as its page says") {
  const example_project project;
  const auto file = [](const std::string& name) { return read_text_file("examples/experiments/" + name).value(); };
  const process_end done = rankd_in(project.path(), {"rank"}, file("request.json"));
  CHECK_MESSAGE(done.status == 0, done.out << done.err);
  CHECK(json::parse(done.out) == json::parse(file("answer.json")));
  const process_end split = rankd_in(project.path(), {"experiment", "simulate", "--ids", "100000"});
  CHECK(split.status == 0);
  CHECK(split.out == file("simulated.txt"));
  CHECK(rankd_in(project.path(), {"experiment", "check"}).err.empty());
}
