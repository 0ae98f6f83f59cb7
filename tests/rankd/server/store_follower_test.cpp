// tests/rankd/server/store_follower_test.cpp: a server answers from the data that a load has made, and says so.
#include <rankd/server/store_follower.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/records/record_writer.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::heard_answer;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// The list of the viewer, and the same with a cache.
auto following_plans() -> std::vector<known_plan> {
  const std::string viewer = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})");
  std::string follow = node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":10})");
  std::vector<known_plan> plans;
  plans.push_back(
      {.name = "plain", .bound = bound_from(artifact_of(viewer + "," + follow, "\"f\""), "plain"), .problems = {}});
  follow.pop_back();
  follow += R"(,"cache":{"ttl_ms":86400000}})";
  plans.push_back({.name = "kept",
                   .bound = bound_from(artifact_of(viewer + "," + follow, "\"f\"",
                                                   R"("capabilities_required":["cap.rfc.0011.cache.v1"],)"),
                                       "kept"),
                   .problems = {}});
  return plans;
}

/// A server on a store in which user 1 follows one list of ids after another.
struct following_world {
  scratch_folder folder;
  fs::path place = folder.path() / "store";
  std::unique_ptr<line_file> log_file = value_of(line_file::open(folder.path() / "log"));
  serve_log log{*log_file, log_level::info};
  std::unique_ptr<followed_store> store;
  std::atomic<bool> is_blind = false;  // the writer does not open what it has written
  std::optional<store_follower> follower;
  std::optional<record_writer> writer;
  fixed_plans plans{following_plans()};
  std::unique_ptr<rank_server> server;

  following_world() {
    load("[11]");
    store = value_of(followed_store::open(place, "ep_0001"));
    follower.emplace(std::vector<store_follower::target>{{"ep_0001", store.get()}}, log);
    REQUIRE(follower->look());
    writer.emplace(*store, vector_lengths(), [this] {
      if (!is_blind) static_cast<void>(follower->look());
    });
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.engine.cache.bytes = 1 << 20;
    options.loops = 2;
    std::vector<rankd::store*> stores(reference_project::get().declared.endpoints().size(), nullptr);
    stores.at(0) = store.get();
    server = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                          .stores = stores,
                                          .plans = &plans,
                                          .log = log,
                                          .records = {{"ep_0001", &*writer}},
                                          .follower = &*follower},
                                         options));
  }

  void load(const std::string& ids) const {
    const std::vector<fs::path> files = {folder.write("data.ndjson", R"({"list":"follow:1","values":)" + ids + "}\n")};
    REQUIRE(load_store(place, files, {}).has_value());
  }
  auto ask(std::string_view method, std::string_view path, std::string_view body = {}, std::string_view fields = {})
      -> heard_answer {
    braid::testing::http_caller one(server->address());
    one.say(braid::testing::request_text(method, path, fields, body));
    return one.hear().value();
  }
  /// The ids of the answer, and the generation that it was made from.
  auto rank(const std::string& plan) -> std::string {
    const json answer =
        json::parse(ask("POST", "/v1/rank", R"({"user_id":1,"explain":true,"plan":")" + plan + "\"}").body);
    std::string out = answer.at("explain").at("stores").dump() + " ";
    for (const json& each : answer.at("candidates")) out += each.at("id").dump() + ",";
    return out;
  }
  auto lines() -> std::string {
    log_file.reset();
    return read_text_file(folder.path() / "log").value();
  }
};

auto shown(int generation, const std::string& ids) -> std::string {
  return R"([{"endpoint":"ep_0001","generation":)" + std::to_string(generation) + "}] " + ids;
}

}  // namespace

TEST_CASE("the next request sees the new data, also where rows are kept, and log, metrics and readiness say so") {
  following_world world;
  for (const char* plan : {"plain", "kept", "kept"}) CHECK(world.rank(plan) == shown(1, "11,"));
  world.load("[12,13]");
  CHECK(world.rank("plain") == shown(1, "11,"));
  REQUIRE(world.follower->look());
  for (int time = 0; time < 4; ++time)  // on both loops
    for (const char* plan : {"plain", "kept"}) CHECK(world.rank(plan) == shown(2, "12,13,"));

  const std::string metrics = world.ask("GET", "/metrics").body;
  CHECK(metrics.find("rankd_store_generation{endpoint=\"ep_0001\"} 2\n") != std::string::npos);
  CHECK(metrics.find("rankd_store_records{endpoint=\"ep_0001\"} 1\n") != std::string::npos);
  CHECK(metrics.find("rankd_store_age_seconds{endpoint=\"ep_0001\"} ") != std::string::npos);
  CHECK(metrics.find("rankd_store_changes_total{endpoint=\"ep_0001\",result=\"done\"} 1\n") != std::string::npos);
  const json ready = json::parse(world.ask("GET", "/readyz").body);
  CHECK(ready.at("status") == "ready");
  CHECK(ready.at("checks") == json::parse(R"json([
      {"name": "stopping", "state": "ok", "message": "the server is not shutting down"},
      {"name": "store", "endpoint": "ep_0001", "generation": 2, "state": "ok",
       "message": "no damage was found in the embedded store"},
      {"name": "plans", "state": "ok", "message": "the newest artifact of each plan is served (plans: 2)"}])json"));
  CHECK(json::parse(world.ask("GET", "/healthz").body) == json::parse(R"({"status": "ok", "checks": [
      {"name": "loop", "state": "ok", "message": "the thread that serves this connection responds"}]})"));
  world.server.reset();
  CHECK(world.lines().find(R"("event":"store_changed","endpoint":"ep_0001","generation":2,"before":1,"records":1)") !=
        std::string::npos);
}

TEST_CASE("data that cannot be opened is logged once, and the old data goes on") {
  following_world world;
  world.load("[12]");
  const fs::path data = data_file(world.place, 2);
  const std::string good = read_text_file(data).value();
  std::string bad = good;
  bad[100] ^= 1;
  REQUIRE(write_file(data, bad).has_value());
  CHECK_FALSE(world.follower->look());
  CHECK_FALSE(world.follower->look());
  CHECK(world.rank("plain") == shown(1, "11,"));
  CHECK(world.follower->counts().front().refused == 2);
  REQUIRE(write_file(data, good).has_value());
  CHECK(world.follower->look());
  CHECK(world.rank("plain") == shown(2, "12,"));
  world.server.reset();
  const std::string lines = world.lines();
  const std::string line = R"("event":"store_refused","endpoint":"ep_0001","code":"store_corrupt")";
  CHECK(lines.find(line) != std::string::npos);
  CHECK(lines.find(line) == lines.rfind(line));
}

TEST_CASE("the thread of a follower changes the store by itself") {
  following_world world;
  REQUIRE(world.follower->start().has_value());
  const replaced_manifest replaced(world.place);
  world.load("[12]");
  CHECK(replaced.wait_for_readers(std::chrono::hours(1)) == store_readers::changed);
  CHECK(world.rank("kept") == shown(2, "12,"));
}

TEST_CASE("records that are posted are in the next answer") {
  following_world world;
  const auto post = [&](std::string_view body, std::string_view fields = {}, std::string_view query = {}) {
    return world.ask("POST", "/v1/records" + std::string(query), body, fields);
  };
  const heard_answer done = post(R"({"list":"follow:1","values":[21,22]})", "Idempotency-Key: a\r\n");
  CHECK(done.status == 200);
  CHECK(done.body == "{\"generation\":2,\"records\":1,\"deletions\":0,\"repeated\":false}\n");
  CHECK(world.rank("kept") == shown(2, "21,22,"));
  CHECK(post(R"({"list":"follow:1","values":[21,22]})", "Idempotency-Key: a\r\n").body ==
        "{\"generation\":2,\"records\":1,\"deletions\":0,\"repeated\":true}\n");
  CHECK(post(R"({"delete":"follow:1"})", "Content-Type: application/x-ndjson; charset=utf-8\r\n", "?endpoint=ep_0001")
            .status == 200);
  CHECK(world.rank("plain") == shown(3, ""));

  const auto code = [&](const heard_answer& answer) {
    return std::to_string(answer.status) + " " + json::parse(answer.body).at("error").at("code").get<std::string>();
  };
  CHECK(code(post("{\"delete\":\"a\"}\n{}\n")) == "400 missing_member");
  CHECK(json::parse(post("{\"delete\":\"a\"}\n{}\n").body)
            .at("error")
            .at("message")
            .get<std::string>()
            .starts_with("line 2: "));
  CHECK(code(post("{\"delete\":\"b\"}", "Idempotency-Key: a\r\n")) == "409 id_reused");
  CHECK(code(post("{\"delete\":\"b\"}", "Idempotency-Key: a b\r\n")) == "400 bad_idempotency_key");
  CHECK(code(post("{\"delete\":\"b\"}", {}, "?endpoint=ep_none")) == "400 unknown_endpoint");
  CHECK(code(post("{\"delete\":\"b\"}", "Content-Type: text/plain\r\n")) == "415 unsupported_media_type");
  CHECK(world.store->generation() == 3);

  world.is_blind = true;
  const std::string_view late = R"({"list":"follow:1","values":[31]})";
  for (int time = 0; time < 2; ++time) CHECK(code(post(late, "Idempotency-Key: late\r\n")) == "503 records_not_served");
  CHECK(world.rank("plain") == shown(3, ""));
  world.is_blind = false;
  CHECK(post(late, "Idempotency-Key: late\r\n").body ==
        "{\"generation\":4,\"records\":1,\"deletions\":0,\"repeated\":true}\n");
  CHECK(world.rank("plain") == shown(4, "31,"));
  const std::string metrics = world.ask("GET", "/metrics").body;
  CHECK(metrics.find("rankd_record_calls_total{endpoint=\"ep_0001\",result=\"written\"} 2\n") != std::string::npos);
  CHECK(metrics.find("rankd_record_calls_total{endpoint=\"ep_0001\",result=\"repeated\"} 2\n") != std::string::npos);
  CHECK(metrics.find("rankd_record_calls_total{endpoint=\"ep_0001\",result=\"failed\"} 2\n") != std::string::npos);
}
