// tests/rankd/server/fallbacks_test.cpp: substitutes behind HTTP: answers, the field, audit and metrics.
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/store/faulty_store.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using nlohmann::json;

namespace {

const std::string required = R"("capabilities_required":["cap.rfc.0004.fallback.v1"],)";

auto failing(const std::string& id) -> std::string { return sleep(id, "s", 0, sleep_end::failing); }

auto named(std::string artifact, const std::string& name) -> std::string {
  return artifact.replace(artifact.find("\"t\""), 3, "\"" + name + "\"");
}

/// `first` fails, and `other` stands in, of which a node fails, and its input stands in for that. `last` fails, and so
/// does `none`, which is to stand in.
class fallback_world {
 public:
  fallback_world() {
    std::string node = failing("x");
    node.pop_back();
    node += R"(,"fallback":{"on":["*"],"use":"input"}})";
    folder.write("other.json", named(artifact_of(source("s", 2) + "," + node, R"("x")", required), "other"));
    folder.write("first.json",
                 named(artifact_of(source("s", 1) + "," + failing("y"), R"("y")",
                                   required + R"("fallback_plan":{"plan":"other","on":["test_failure"]},)"),
                       "first"));
    folder.write("none.json", named(artifact_of(source("s", 2) + "," + failing("w"), R"("w")"), "none"));
    folder.write("last.json", named(artifact_of(source("s", 1) + "," + failing("y"), R"("y")",
                                                required + R"("fallback_plan":{"plan":"none","on":["test_failure"]},)"),
                                    "last"));
    std::string again =
        rankd::testing::node("l", "core::list", "", R"({"endpoint":"ep_0001","key":"follow:9","count":3})");
    again.pop_back();
    folder.write("again.json", named(artifact_of(again + R"(,"retries":1})", R"("l")",
                                                 R"("capabilities_required":["cap.rfc.0008.retries.v1"],)"),
                                     "again"));
    value_of(library.reload(folder.path()));
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    server_ = value_of(rank_server::start(
        {.declared = &reference_project::get().declared, .stores = stores(), .plans = &plans_, .audit = audit.get()},
        std::move(options)));
  }

  /// Of which one key cannot be read.
  auto stores() -> std::vector<store*> {
    std::vector<store*> all = reference_project::get().stores;
    all.front() = &faulty_;
    return all;
  }

  auto ask(std::string_view method, std::string_view path, std::string_view body = {}) -> heard_answer {
    braid::testing::http_caller one(server_->address());
    one.say(braid::testing::request_text(method, path, {}, body));
    return one.hear().value();
  }
  auto rank(const std::string& plan) -> heard_answer {
    return ask("POST", "/v1/rank", R"({"user_id":1,"plan":")" + plan + "\"}");
  }
  /// The lines of the audit. No request comes after it.
  auto audited() -> std::vector<json> {
    server_.reset();
    audit.reset();
    std::ifstream file(folder.path() / "audit");
    std::vector<json> out;
    for (std::string line; std::getline(file, line);) out.push_back(json::parse(line));
    return out;
  }

  braid::testing::scratch_folder folder;
  std::unique_ptr<line_file> audit = value_of(line_file::open(folder.path() / "audit"));
  plan_library library{reference_project::get().declared};

 private:
  faulty_store faulty_{*reference_project::get().stores.front(), "ep_0001", {{.key_prefix = "follow:9", .code = 0}}};
  library_plans plans_{library};
  std::unique_ptr<rank_server> server_;
};

const json of_node = {{"node", "x"}, {"code", "test_failure"}, {"used", "input"}};
const json of_plan = {{"plan", "first"}, {"code", "test_failure"}, {"used", "other"}};

}  // namespace

TEST_CASE("an answer says what stood in, in its body and by a field") {
  fallback_world world;
  const heard_answer one = world.rank("other");
  CHECK(one.status == 200);
  CHECK(one.field("X-Rankd-Degraded") == "1");
  CHECK(json::parse(one.body).at("degraded") == json::array({of_node}));
  const heard_answer both = world.rank("first");
  CHECK(json::parse(both.body).at("plan") == "first");
  CHECK(json::parse(both.body).at("degraded") == json::array({of_plan, of_node}));
  const heard_answer batch = world.ask("POST", "/v1/rank/batch", R"({"requests":[{"user_id":1,"plan":"other"}]})");
  CHECK(json::parse(batch.body).at("responses").at(0).at("degraded") == json::array({of_node}));
  CHECK(batch.field("X-Rankd-Degraded").empty());
}

TEST_CASE("failures that are stood in for are counted, and nodes of both plans") {
  fallback_world world;
  CHECK(world.ask("GET", "/metrics").body.find("rankd_fallbacks_total") == std::string::npos);
  CHECK(world.rank("first").status == 200);
  CHECK(world.rank("other").status == 200);
  const std::string text = world.ask("GET", "/metrics").body;
  const auto has = [&text](const std::string& line) { return text.find("\n" + line + "\n") != std::string::npos; };
  CHECK(has(R"(rankd_fallbacks_total{plan="first",node="",code="test_failure"} 1)"));
  CHECK(has(R"(rankd_fallbacks_total{plan="first",node="x",code="test_failure"} 1)"));
  CHECK(has(R"(rankd_fallbacks_total{plan="other",node="x",code="test_failure"} 1)"));
  CHECK(has(R"(rankd_node_errors_total{plan="first",node="y"} 1)"));
  CHECK(has(R"(rankd_node_errors_total{plan="other",node="x"} 2)"));
}

TEST_CASE("nodes that are run again are counted") {
  fallback_world world;
  CHECK(world.ask("GET", "/metrics").body.find("rankd_node_retries_total") == std::string::npos);
  const heard_answer failed = world.rank("again");
  CHECK(failed.status == 504);
  CHECK(json::parse(failed.body).at("error").at("code") == "store_timeout");
  const std::string text = world.ask("GET", "/metrics").body;
  CHECK(text.find("\nrankd_node_retries_total{plan=\"again\",node=\"l\"} 1\n") != std::string::npos);
}

TEST_CASE("nodes of a plan that was to stand in and failed are counted, too") {
  fallback_world world;
  CHECK(world.rank("last").status != 200);
  const std::string text = world.ask("GET", "/metrics").body;
  const auto has = [&text](const std::string& line) { return text.find("\n" + line + "\n") != std::string::npos; };
  CHECK(has(R"(rankd_node_errors_total{plan="last",node="y"} 1)"));
  CHECK(has(R"(rankd_node_errors_total{plan="none",node="w"} 1)"));
  CHECK(has(R"(rankd_node_runs_total{plan="none",node="s"} 1)"));
}

TEST_CASE("the audit says what stood in") {
  fallback_world world;
  CHECK(world.rank("other").status == 200);
  const std::vector<json> lines = world.audited();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("degraded") == json::array({of_node}));
}
