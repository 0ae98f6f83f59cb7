// tests/rankd/cli/traffic_diff_test.cpp: rankd diff --traffic on what a server has recorded.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/cli/output/traffic_diff.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::process_end;
using braid::testing::request_text;
using nlohmann::json;
using rankd::read_text_file;

namespace {

/// Requests to both plans of the reference project, recorded once for all cases; then a project with another store.
class recorded_reference {
 public:
  recorded_reference() {
    const project_copy served;
    running_server server(served.path(), {"--record", file().string(), "--loops", "1"});
    for (int user = 1; user < 7; ++user)
      ask(server, R"({"user_id":)" + std::to_string(user) + R"(,"plan":"reels_plan_a",)" + R"("request_id":"visit )" +
                      std::to_string(user) + "\"}");
    ask(server, R"({"user_id":1,"plan":"concat_plan"})");
    server.signal(SIGTERM);
    CHECK(server.wait() == 0);
  }

  [[nodiscard]] auto file() const -> std::filesystem::path { return project_.path() / "day.rec"; }
  [[nodiscard]] auto project() const -> const project_copy& { return project_; }

  /// The plan with that change.
  template <typename Change>
  [[nodiscard]] auto edited(const std::string& name, Change change) const -> std::string {
    json plan = json::parse(read_text_file("plans/compiled/reels_plan_a.json").value());
    change(plan);
    return project_.write(name, plan.dump()).string();
  }
  [[nodiscard]] auto diff(const std::string& before, const std::string& after, std::vector<std::string> more = {}) const
      -> process_end {
    more.insert(more.begin(), {"diff", before, after, "--traffic", file().string()});
    return rankd_in(project_.path(), more);
  }

 private:
  static void ask(const running_server& server, const std::string& text) {
    auto one = server.caller();
    one.say(request_text("POST", "/v1/rank", {}, text));
    CHECK(one.hear().value().status == 200);
  }

  project_copy project_;
};

auto recorded() -> const recorded_reference& {
  static const recorded_reference once;
  return once;
}

auto stricter() -> std::string {
  return recorded().edited("stricter.json", [](json& plan) { plan["pred_table"]["p_cutoff"]["b"]["value"] = 1; });
}

auto move_of(const json& traffic, const std::string& request, int id) -> json {
  for (const json& each : traffic.at("changed"))
    for (const json& move : each.at("moves"))
      if (each.at("request_id") == request && move.at("id") == id) return move;
  return nullptr;
}

}  // namespace

TEST_CASE("each id that moved has a sentence that names the node at which its ways part") {
  const process_end end = recorded().diff("reels_plan_a", stricter());
  CHECK(end.status == 1);
  CHECK(end.err.empty());
  CHECK(end.out == read_text_file("tests/rankd/cli/shown/traffic_diff.txt").value());
}

TEST_CASE("a plan beside itself differs in nothing, and the store is not there") {
  const process_end end = recorded().diff("reels_plan_a", "plans/compiled/reels_plan_a.json");
  CHECK(end.status == 0);
  CHECK(end.out ==
        "6 requests to reels_plan_a, 6 compared: 6 equal, 0 different\n"
        "overlap@10 1.0000, rank-biased overlap 1.0000 (p = 0.9)\n");
  CHECK_FALSE(std::filesystem::exists(recorded().project().store()));
}

TEST_CASE("a request that a plan fails counts as an error, and not in the overlap") {
  const std::string toml = read_text_file("rankd.toml").value();
  const std::string tight = recorded().edited("tight.json", [](json& plan) { plan["plan_name"] = "tight"; });
  const project_copy project;
  project.write("rankd.toml", toml + "\n[budget.plan.tight]\nrows = 5\n");
  const process_end end =
      rankd_in(project.path(), {"diff", "reels_plan_a", tight, "--traffic", recorded().file().string()});
  CHECK(end.out.find("6 compared: 3 equal, 3 different (3 error)\n"
                     "overlap@10 1.0000, rank-biased overlap 1.0000 (p = 0.9), of 3 requests with two answers\n") !=
        std::string::npos);
}

TEST_CASE("programs get counts, means and moves, with any number of workers the same") {
  const std::string after = stricter();
  const process_end end = recorded().diff("reels_plan_a", after, {"--json", "--depth", "3"});
  CHECK(end.status == 1);
  const json all = json::parse(end.out);
  CHECK(all.at("changes").size() == 1);
  const json& traffic = all.at("traffic");
  CHECK(traffic.at("requests") == 6);
  CHECK(traffic.at("other_plans") == 1);
  CHECK(traffic.at("compared") == 6);
  CHECK(traffic.at("answered") == 6);
  CHECK(traffic.at("equal") == 4);
  CHECK(traffic.at("different").at("all") == 2);
  CHECK(traffic.at("different").at("candidates") == 2);
  CHECK(traffic.at("not_recorded") == 0);
  CHECK(traffic.at("records").at(0).at("end") == "whole");
  CHECK(traffic.at("changed").at(0).at("request_id") == "visit 1");
  CHECK(traffic.at("changed").at(0).at("overlap").get<double>() == doctest::Approx(1.0 / 3));
  const json gone = move_of(traffic, "visit 1", 3);
  CHECK(gone.at("was") == 1);
  CHECK(gone.at("is").is_null());
  CHECK(gone.at("node") == "cutoff");
  CHECK(rankd_in(recorded().project().path(), {"diff", "reels_plan_a", after, "--traffic", recorded().file().string(),
                                               "--json", "--depth", "3", "--workers", "3"})
            .out == end.out);
  const json few = json::parse(recorded().diff("reels_plan_a", after, {"--json", "--changed", "1"}).out);
  CHECK(few.at("traffic").at("changed").size() == 1);
  CHECK(few.at("traffic").at("different").at("all") == 2);
}

TEST_CASE("less of a list is in the record, more is not, and is never guessed") {
  const auto fanout = [](int count) {
    return recorded().edited("fanout.json", [count](json& plan) { plan["nodes"][1]["params"]["fanout"] = count; });
  };
  const json less = json::parse(recorded().diff("reels_plan_a", fanout(4), {"--json"}).out).at("traffic");
  CHECK(less.at("compared") == 6);
  CHECK(move_of(less, "visit 1", 7).at("why") == "`follow` no longer returns it, fanout 4 was 10");
  // User 1 has more than the ten that were read; of the others all were.
  const process_end more = recorded().diff("reels_plan_a", fanout(50));
  CHECK(more.status == 1);
  CHECK(has(more.out, "6 requests to reels_plan_a, 5 compared: 5 equal, 0 different\n"));
  CHECK(has(more.out,
            "not compared: 1 with unrecorded reads (the first: `follow:1` of endpoint `ep_0001`; "
            "use --live to read from the stores)\n"));
  const json live = json::parse(recorded().diff("reels_plan_a", fanout(50), {"--json", "--live"}).out).at("traffic");
  CHECK(live.at("compared") == 6);
  CHECK(live.at("not_recorded") == 0);
  CHECK(live.at("live_batches") > 0);
  std::filesystem::remove_all(recorded().project().store());
}

TEST_CASE("the requests of another plan are run when they are asked for, and a plan without any is an error") {
  const process_end other = recorded().diff("reels_plan_a", "concat_plan", {"--requests-of", "concat_plan"});
  CHECK(other.status == 1);
  CHECK(has(other.out, "1 request to concat_plan"));
  const process_end none = recorded().diff("reels_plan_a", "concat_plan", {"--requests-of", "feed"});
  CHECK(none.status == 2);
  CHECK(none.err ==
        "no recorded request is for plan `feed` [unknown_plan]; the recordings have requests to: concat_plan, "
        "reels_plan_a; name a recorded plan with --requests-of\n");
  CHECK(rankd_in(recorded().project().path(), {"diff", "reels_plan_a", "concat_plan", "--live"}).status == 2);
}

TEST_CASE("a record that was cut is compared up to there, and one that is damaged or none at all is said to be") {
  const auto& project = recorded().project();
  const std::string bytes = read_text_file(recorded().file()).value();
  const auto diff = [&](const std::string& file) {
    return rankd_in(project.path(), {"diff", "reels_plan_a", "reels_plan_a", "--traffic", file});
  };
  const process_end torn = diff(project.write("torn.rec", bytes.substr(0, bytes.size() - 3)).string());
  CHECK(torn.status == 0);
  CHECK(has(torn.err, "ends within a record"));
  std::string wrong = bytes;
  wrong[wrong.size() - 3] ^= 1;
  const process_end damaged = diff(project.write("damaged.rec", wrong).string());
  CHECK(damaged.status == 1);
  CHECK(has(damaged.err, "is damaged"));
  CHECK(has(diff(project.write("other.rec", "text").string()).err, "not_traffic"));
  CHECK(has(diff(project.write("empty.rec", "").string()).err, "not_traffic"));
  CHECK(has(diff((project.path() / "registry").string()).err, "no_records"));
  // Where the endpoints are others, numbers of endpoints mean something else.
  const project_copy changed;
  for (const char* const each : {"dev", "prod", "test"}) {
    const std::string name = "registry/endpoints." + std::string(each) + ".toml";
    std::string text = read_text_file(changed.path() / name).value();
    for (std::size_t at = text.find("ep_0001"); at != std::string::npos; at = text.find("ep_0001"))
      text.replace(at, 7, "ep_0009");
    changed.write(name, text);
  }
  std::string plan = read_text_file("plans/compiled/reels_plan_a.json").value();
  for (std::size_t at = plan.find("ep_0001"); at != std::string::npos; at = plan.find("ep_0001"))
    plan.replace(at, 7, "ep_0009");
  json document = json::parse(plan);
  document.erase("registry_digests");
  const std::string file = changed.write("plan.json", document.dump()).string();
  const process_end elsewhere = rankd_in(changed.path(), {"diff", file, file, "--traffic", recorded().file().string()});
  CHECK(elsewhere.status == 2);
  CAPTURE(elsewhere.err);
  CHECK(has(elsewhere.err, "other_endpoints"));
}
