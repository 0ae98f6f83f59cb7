// tests/rankd/server/cached_rows_test.cpp: rows that a server keeps: its answers, metrics, and new versions of plans.
#include <rankd/server/rank_server.hpp>
#include <rankd/store/faulty_store.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;

namespace {

/// A plan that keeps the rows of a source for a day.
auto kept_plan(int rows) -> std::string {
  std::string node = source("s", rows);
  node.pop_back();
  return artifact_of(
      node + R"(,"cache":{"ttl_ms":86400000}},)" + rankd::testing::node("t", "core::take", "s", R"({"count":9})"),
      R"("t")", R"("capabilities_required":["cap.rfc.0011.cache.v1"],)");
}

class kept_world {
 public:
  explicit kept_world(std::size_t cache_bytes) {
    folder.write("t.json", kept_plan(3));
    value_of(library.reload(folder.path()));
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.engine.cache.bytes = cache_bytes;
    server_ = value_of(rank_server::start(
        {.declared = &reference_project::get().declared, .stores = reference_project::get().stores, .plans = &plans_},
        std::move(options)));
  }

  auto ask(std::string_view method, std::string_view path, std::string_view body = {}) -> heard_answer {
    braid::testing::http_caller one(server_->address());
    one.say(braid::testing::request_text(method, path, {}, body));
    return one.hear().value();
  }
  auto rank() -> heard_answer { return ask("POST", "/v1/rank", R"({"plan":"t","request_id":"r"})"); }
  auto metrics() -> std::map<std::string, double> { return metric_reader().read(ask("GET", "/metrics").body); }

  braid::testing::scratch_folder folder;
  plan_library library{reference_project::get().declared};

 private:
  library_plans plans_{library};
  std::unique_ptr<rank_server> server_;
};

}  // namespace

TEST_CASE("an answer with kept rows has the same body and a field that says so, and is counted") {
  kept_world world(1 << 20);
  const heard_answer first = world.rank();
  CHECK(first.status == 200);
  CHECK(first.field("X-Rankd-Cached").empty());
  const heard_answer second = world.rank();
  CHECK(second.field("X-Rankd-Cached") == "1");
  CHECK(second.body == first.body);
  auto now = world.metrics();
  CHECK(now.at(R"(rankd_cache_requests_total{result="hit"})") == 1);
  CHECK(now.at(R"(rankd_cache_requests_total{result="miss"})") == 1);
  CHECK(now.at("rankd_cache_entries") == 1);
  CHECK(now.at("rankd_cache_bytes") > 0);
  CHECK(now.at("rankd_cache_evicted_total") == 0);
}

TEST_CASE("a new version of a plan takes no rows of the one before") {
  kept_world world(1 << 20);
  const std::string before = world.rank().body;
  world.folder.write("t.json", kept_plan(2));
  value_of(world.library.reload(world.folder.path()));
  const heard_answer after = world.rank();
  CHECK(after.field("X-Rankd-Cached").empty());
  CHECK(after.body != before);
  CHECK(world.rank().body == after.body);
}

TEST_CASE("a server without a cache keeps nothing, and has no such metrics") {
  kept_world world(0);
  CHECK(world.rank().status == 200);
  CHECK(world.rank().field("X-Rankd-Cached").empty());
  CHECK_FALSE(world.metrics().contains("rankd_cache_entries"));
}

TEST_CASE("metrics tell what a record cache holds, and each loop has its share of it") {
  faulty_store elsewhere(*reference_project::get().stores.front(), "ep_0001", {});
  serve_options kept;
  kept.loops = 2;
  kept.engine.records.bytes = 1U << 20U;
  kept.engine.records.age = kept.engine.records.absent_age = std::chrono::hours(1);
  serve_world world(kept, nullptr, {}, {&elsewhere, nullptr});
  for (int i = 0; i < 4; ++i) CHECK(world.rank(R"({"user_id":1,"plan":"concat_plan"})").status == 200);
  auto metrics = metric_reader().read(world.ask("GET", "/metrics").body);
  const auto keys = [&](const std::string& result) {
    return metrics[R"(rankd_record_cache_keys_total{endpoint="ep_0001",result=")" + result + R"("})"];
  };
  CHECK(keys("miss") > 0);
  CHECK(keys("hit") >= keys("miss"));
  CHECK(metrics[R"(rankd_record_cache_entries{endpoint="ep_0001"})"] > 0);
  CHECK(metrics[R"(rankd_record_cache_bytes{endpoint="ep_0001"})"] > 0);
  CHECK(metrics[R"(rankd_record_cache_tracked{endpoint="ep_0001"})"] == 0);  // the store reports nothing
  CHECK(metrics[R"(rankd_record_cache_dropped_total{endpoint="ep_0001",reason="space"})"] == 0);
  CHECK(metrics[R"(rankd_record_cache_dropped_total{endpoint="ep_0001",reason="changed"})"] == 0);
  CHECK(metrics[R"(rankd_record_cache_emptied_total{endpoint="ep_0001"})"] == 0);
  CHECK(!metrics.contains(R"(rankd_record_cache_entries{endpoint="ep_0002"})"));
}
