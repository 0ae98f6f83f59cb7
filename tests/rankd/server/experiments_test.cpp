// tests/rankd/server/experiments_test.cpp: experiments behind HTTP: answers, the right to name arms, audit and metrics.
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/rank_server.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/changing_world.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

const std::string qa = "Authorization: Bearer 0123456789abcdef\r\n";
const std::string feed = "Authorization: Bearer fedcba9876543210\r\n";

/// All users are in the arm `all`, which sets `page_size`; another one is there to be named.
auto experiments_text(int size) -> std::string {
  return "[[layer]]\nname = \"feed\"\nsalt = \"s\"\nbuckets = 10\n[[experiment]]\nid = \"exp_0001\"\nname = \"sizes\"\n"
         "layer = \"feed\"\nstatus = \"active\"\nplans = [\"a\"]\narms = [{ name = \"all\", from = 0, to = 8, set = { "
         "page_size = " +
         std::to_string(size) + " } }, { name = \"other\", from = 9, to = 9, set = { page_size = 2 } }]\n";
}

/// A user in the arm `all`.
auto some_user() -> std::string {
  for (int id = 1;; ++id)
    if (hash_to_bucket("s", std::to_string(id), 10) < 9) return std::to_string(id);
}

auto page_plan(const std::string& name) -> std::string {
  std::string text =
      artifact_of(source("a", 50) + "," + node("k", "core::take", "a", R"({"count":{"param_id":4,"min":1,"max":40}})"),
                  R"("k")", R"("capabilities_required":["cap.rfc.0003.bound_params.v1"],)");
  return text.replace(text.find(R"("t")"), 3, "\"" + name + "\"");
}

auto read_experiments(const scratch_folder& folder) -> braid::checked<experiment_set> {
  return experiment_set::load(folder.path(), reference_project::get().declared);
}

/// A server of the plans `a`, which has an experiment, and `b`, which has none.
class experiment_world {
 public:
  explicit experiment_world(int size = 7) {
    registry.write("experiments.toml", experiments_text(size));
    plans_folder.write("a.json", page_plan("a"));
    plans_folder.write("b.json", page_plan("b"));
    changes.experiments_by([this](const registries&) { return read_experiments(registry); });
    value_of(changes.reload());
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.tokens = value_of(token_list::parse("qa [force] 0123456789abcdef\nfeed fedcba9876543210\n", "tokens"));
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = reference_project::get().stores,
                                           .plans = &plans_,
                                           .changes = &changes,
                                           .audit = audit.get()},
                                          std::move(options)));
  }

  auto ask(std::string_view method, std::string_view path, const std::string& who, std::string_view body = {})
      -> heard_answer {
    braid::testing::http_caller one(server_->address());
    one.say(braid::testing::request_text(method, path, who, body));
    return one.hear().value();
  }
  auto rank(const std::string& body, const std::string& who = feed) -> heard_answer {
    return ask("POST", "/v1/rank", who, body);
  }
  /// The lines of the audit. No request comes after it.
  auto audited() -> std::vector<json> {
    server_.reset();
    audit.reset();
    std::ifstream file(files.path() / "audit");
    std::vector<json> out;
    for (std::string line; std::getline(file, line);) out.push_back(json::parse(line));
    return out;
  }

  scratch_folder registry;
  scratch_folder plans_folder;
  scratch_folder files;
  std::unique_ptr<line_file> audit = value_of(line_file::open(files.path() / "audit"));
  plan_library library{reference_project::get().declared};
  plan_changes changes{library, plans_folder.path(), {}};

 private:
  library_plans plans_{library};
  std::unique_ptr<rank_server> server_;
};

auto request_for(const std::string& plan, const std::string& more = "") -> std::string {
  return R"({"user_id":)" + some_user() + R"(,"plan":")" + plan + "\"" + more + "}";
}

auto rows_in(const heard_answer& answer) -> std::size_t { return json::parse(answer.body).at("candidates").size(); }

auto error_in(const heard_answer& answer) -> std::string {
  const json error = json::parse(answer.body).at("error");
  return std::to_string(answer.status) + " " + error.at("code").get<std::string>() + " " +
         error.at("pointer").get<std::string>();
}

}  // namespace

TEST_CASE("an answer says in which arm the request was, where its plan has experiments") {
  experiment_world world;
  const heard_answer in_arm = world.rank(request_for("a"));
  CHECK(rows_in(in_arm) == 7);
  CHECK(json::parse(in_arm.body).at("experiments") == json::parse(R"({"sizes":"all"})"));
  const heard_answer without = world.rank(request_for("b"));
  CHECK(rows_in(without) == 20);
  CHECK(!json::parse(without.body).contains("experiments"));
}

TEST_CASE("a client whose token has the right names the arm, and others are refused") {
  experiment_world world;
  const std::string other = R"(,"experiments":{"sizes":"other"})";
  CHECK(rows_in(world.rank(request_for("a", other), qa)) == 2);
  CHECK(error_in(world.rank(request_for("a", other), feed)) == "403 force_forbidden /experiments");
  CHECK(error_in(world.rank(request_for("none", other), feed)) == "403 force_forbidden /experiments");
  CHECK(error_in(world.rank(request_for("a", R"(,"experiments":{"sizes":"none"})"), qa)) ==
        "400 unknown_arm /experiments/sizes");
  CHECK(error_in(world.rank(request_for("b", other), qa)) == "400 unknown_experiment /experiments/sizes");
  CHECK(error_in(world.rank(request_for("a", R"(,"experiments":{"sizes":1})"), qa)) ==
        "400 wrong_type /experiments/sizes");
  const std::string batch = R"({"requests":[)" + request_for("a", other) + "]}";
  const auto first = [&](const std::string& who) {
    return json::parse(world.ask("POST", "/v1/rank/batch", who, batch).body).at("responses").at(0);
  };
  CHECK(first(qa).at("candidates").size() == 2);
  CHECK(first(feed).at("error").at("code") == "force_forbidden");
}

TEST_CASE("requests are counted by the arm of their unit, and not by an arm that they name") {
  experiment_world world;
  CHECK(world.ask("GET", "/metrics", feed).body.find("rankd_experiment") == std::string::npos);
  for (int i = 0; i < 3; ++i) CHECK(world.rank(request_for("a")).status == 200);
  CHECK(world.rank(request_for("a", R"(,"experiments":{"sizes":"other"})"), qa).status == 200);
  CHECK(world.rank(request_for("b")).status == 200);
  const std::string text = world.ask("GET", "/metrics", feed).body;
  CHECK(text.find("\nrankd_experiment_requests_total{experiment=\"sizes\",arm=\"all\"} 3\n") != std::string::npos);
  CHECK(text.find("arm=\"other\"") == std::string::npos);
}

TEST_CASE("the audit has the arms, and the request as it came") {
  experiment_world world;
  CHECK(world.rank(request_for("a")).status == 200);
  CHECK(world.rank(request_for("a", R"(,"param_overrides":{"page_size":3})")).status == 200);
  CHECK(world.rank(request_for("a", R"(,"experiments":{"sizes":"other"})"), qa).status == 200);
  CHECK(world.rank(request_for("b")).status == 200);
  const std::vector<json> lines = world.audited();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].at("experiments") == json::parse(R"({"sizes":"all"})"));
  CHECK(!lines[0].at("request").contains("experiments"));
  CHECK(!lines[0].at("request").contains("param_overrides"));
  CHECK(lines[1].at("experiments_overridden") == json::parse(R"(["sizes"])"));
  CHECK(lines[2].at("experiments") == json::parse(R"({"sizes":"other"})"));
  CHECK(lines[2].at("request").at("experiments") == json::parse(R"({"sizes":"other"})"));
  CHECK(!lines[3].contains("experiments"));
}

TEST_CASE("a reload brings the experiments that are there now, and a bad file changes nothing") {
  experiment_world world;
  world.registry.write("experiments.toml", experiments_text(9));
  CHECK(rows_in(world.rank(request_for("a"))) == 7);
  const reload_report changed = value_of(world.changes.reload());
  CHECK(changed.changed == std::vector<std::string>{"a"});
  CHECK(changed.unchanged == std::vector<std::string>{"b"});
  CHECK(rows_in(world.rank(request_for("a"))) == 9);
  CHECK(value_of(world.changes.reload()).changed.empty());

  world.registry.write("experiments.toml", experiments_text(41));
  CHECK(codes_of(world.changes.reload()) == std::vector<std::string>{"param_out_of_range"});
  std::string stranger = experiments_text(9);
  stranger.replace(stranger.find("[\"a\"]"), 5, "[\"z\"]");
  world.registry.write("experiments.toml", stranger);
  CHECK(codes_of(world.changes.reload()) == std::vector<std::string>{"unknown_plan"});
  world.registry.write("experiments.toml", "[[layer]]\n");
  CHECK(codes_of(world.changes.reload()) == std::vector<std::string>{"missing_field", "missing_field"});
  CHECK(rows_in(world.rank(request_for("a"))) == 9);

  world.registry.write("experiments.toml", "");
  value_of(world.changes.reload());
  CHECK(rows_in(world.rank(request_for("a"))) == 20);
}
