// tests/rankd/engine/stores_agree_test.cpp: plans give the same bytes whoever keeps the data, also where it is odd.
#include <rankd/engine/engine.hpp>

#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/redis_store.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/made_plans.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/watchdog.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::redis_server;
using braid::testing::scratch_folder;
using braid::testing::watchdog;

namespace {

/// Lists that are hashes, hashes that are lists, such as are empty, ids that are none, text that must be escaped.
constexpr std::string_view odd_data = R"({"hash":"follow:900","fields":{"a":"b"}}
{"list":"user:901","values":[1]}
{"list":"follow:901","values":[1]}
{"list":"follow:902","values":[]}
{"hash":"user:902","fields":{}}
{"list":"user:903","values":[]}
{"hash":"follow:903","fields":{}}
{"list":"follow:904","values":["1","","-0","+1","01"," 1","1.0","9223372036854775807","9223372036854775808",2,901]}
{"hash":"user:905","fields":{"country":""}}
{"list":"follow:905","values":[905,906,905,902,903,-1]}
{"hash":"user:906","fields":{"country":"\u0000\"\u20ac","title":"x"}}
{"list":"recommendation:905","values":["x",906,1]}
{"list":"media:905","values":[1,"x",2,3]}
{"list":"media:906","values":[9]}
)";

/// The reference data and the odd one, by both kinds of stores.
struct both_stores {
  reference_project project;
  scratch_folder folder;
  redis_server server;
  std::unique_ptr<store> embedded;
  std::unique_ptr<store> remote;

  both_stores() {
    std::vector<std::filesystem::path> files{folder.write("odd.ndjson", odd_data)};
    for (const auto& each : std::filesystem::directory_iterator(project.where.data.value()))
      if (each.path().extension() == ".ndjson") files.push_back(each.path());
    endpoint_entry endpoint = *project.declared.find_endpoint("ep_0001");
    endpoint.resolver = embedded_resolver{"both.lmdb"};
    value_of(load_store(folder.path() / "both.lmdb", files, {}));
    embedded = value_of(open_store(endpoint, folder.path()));
    endpoint.resolver = static_resolver{"127.0.0.1", server.port()};
    value_of(load_redis(value_of(redis_options_of(endpoint)), files, {}));
    remote = value_of(open_store(endpoint, folder.path()));
  }

  auto answers(store& from) const -> std::vector<std::string>;
};

auto endpoint_and(const std::string& more) -> std::string { return R"({"endpoint":"ep_0001")" + more + "}"; }

/// All sources of the store behind each other.
auto sources_plan() -> std::string {
  const std::string some = endpoint_and(R"(,"fanout":3)");
  return artifact_of(node("v", "core::viewer", "", endpoint_and("")) + "," +
                         node("f", "core::follow", "v", endpoint_and(R"(,"fanout":100)")) + "," +
                         node("g", "core::follow", "f", some) + "," + node("r", "core::recommendation", "f", some) +
                         "," + node("m", "core::media", "f", some),
                     R"("v","f","g","r","m")");
}

auto both_stores::answers(store& from) const -> std::vector<std::string> {
  constexpr std::uint64_t generated = 40;
  engine_world world(project.declared, {&from, nullptr}, 2);
  std::vector<const bound_plan*> plans{&world.reference_plan("reels_plan_a"), &world.reference_plan("concat_plan"),
                                       &world.bind(sources_plan())};
  for (std::uint64_t seed = 100; seed < 100 + generated; ++seed) plans.push_back(&world.bind(plan_maker(seed).make()));
  std::vector<std::string> out;
  for (const bound_plan* plan : plans)
    for (const int user : {1, 3, 5, 11, 13, 14, 900, 901, 902, 903, 904, 905, 906, 907})
      out.push_back(to_json(world.rank(*plan, R"({"user_id":)" + std::to_string(user) + R"(,"request_id":"r"})")));
  return out;
}

}  // namespace

TEST_CASE("the reference plans and made ones give the same bytes on both stores") {
  const both_stores stores;
  const std::vector<std::string> expected = stores.answers(*stores.embedded);
  const std::vector<std::string> got = stores.answers(*stores.remote);
  REQUIRE(got.size() == expected.size());
  std::map<std::string, int> endings;
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == expected[i]);
    for (const char* what : {R"("malformed_ids":)", R"("code":"store_wrong_type")", R"("candidates":[{)"})
      if (expected[i].find(what) != std::string::npos) ++endings[what];
  }
  CHECK(endings.size() == 3);  // all three are worth comparing
}

TEST_CASE("a request whose deadline passes while its server stands still is answered, and the next one is right") {
  const watchdog guard(60s);
  const both_stores stores;
  braid::redis_options options;
  options.port = stores.server.port();
  options.request_timeout = braid::duration::max();
  options.silence = 1h;
  redis_store endless({.endpoint_id = "ep_0001", .server = options});
  engine_world world(stores.project.declared, {&endless, nullptr}, 1);
  engine_world right(stores.project.declared, {stores.embedded.get(), nullptr}, 1);
  const std::string request = R"({"user_id":1,"request_id":"r"})";
  const std::string expected = to_json(right.rank(right.reference_plan("reels_plan_a"), request));
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  CHECK(to_json(world.rank(plan, request)) == expected);

  stores.server.freeze();
  for (int i = 0; i < 20; ++i)
    CHECK(error_of(world.rank(plan, R"({"user_id":2,"request_id":"r","deadline_ms":5})")) == "deadline_exceeded ");
  stores.server.thaw();
  CHECK(to_json(world.rank(plan, request)) == expected);
}

TEST_CASE("a server that is away or slow is an error of the node, with endpoint and reason") {
  const watchdog guard(60s);
  redis_server server;
  braid::redis_options options;
  options.port = server.port();
  options.request_timeout = 20ms;
  options.backoff = {.first = 1ms, .longest = 5ms, .seed = 1};
  redis_store from({.endpoint_id = "ep_0001", .server = options});
  engine_world world(reference_project::get().declared, {&from, nullptr}, 1);
  const bound_plan& plan = world.reference_plan("concat_plan");
  const auto ask = [&] { return world.rank(plan, R"({"user_id":1,"request_id":"r"})"); };
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));

  server.freeze();
  ranking slow = ask();
  REQUIRE(slow.error);
  CHECK(slow.error->code == "store_timeout");
  CHECK(slow.error->message.find("endpoint `ep_0001` at redis://127.0.0.1:") != std::string::npos);
  CHECK_FALSE(slow.error->node.empty());
  server.thaw();
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));

  server.kill();
  CHECK(error_of(ask()).starts_with("store_unreachable "));
  CHECK(error_of(ask()).starts_with("store_unreachable "));
  server.start();
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));
}
