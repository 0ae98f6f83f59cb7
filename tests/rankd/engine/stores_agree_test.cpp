// tests/rankd/engine/stores_agree_test.cpp: plans give the same bytes with every store, also where the data is odd.
#include <rankd/engine/engine.hpp>

#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/redis_store.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/made_plans.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/tls_redis_server.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;
using braid::testing::environment;
using braid::testing::eventually;
using braid::testing::real_cluster;
using braid::testing::redis_server;
using braid::testing::scratch_folder;
using braid::testing::tls_people;
using braid::testing::tls_redis_server;
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
{"hash":"features:905","fields":{"final_score":"0.1","title":"\u0000\u20ac","model_score_1":"1e400"}}
{"hash":"features:906","fields":{"final_score":"-1e-3"}}
{"hash":"features:903","fields":{}}
{"list":"features:901","values":[1]}
{"hash":"user:906","fields":{"country":"\u0000\"\u20ac","title":"x"}}
{"list":"recommendation:905","values":["x",906,1]}
{"list":"media:905","values":[1,"x",2,3]}
{"list":"media:906","values":[9]}
{"sorted_set":"near:905","scores":{"905":2.5,"x":1,"906":-1,"907":2.5,"-8":2.5,"901":1e-300}}
{"sorted_set":"near:904","scores":{}}
{"hash":"near:903","fields":{"a":"b"}}
{"set":"seen:905","members":[906,"x",-7,905]}
{"list":"seen:2","values":[1]}
{"string":"price:905","value":"0.25"}
{"string":"price:906","value":"much"}
{"string":"price:903","value":""}
{"list":"price:-1","values":[1]}
)";

/// The reference data and the odd one, which is written into `folder`.
auto all_data(const reference_project& project, const scratch_folder& folder) -> std::vector<std::filesystem::path> {
  std::vector<std::filesystem::path> files{folder.write("odd.ndjson", odd_data)};
  for (const auto& each : std::filesystem::directory_iterator(project.where.data.value()))
    if (each.path().extension() == ".ndjson") files.push_back(each.path());
  return files;
}

/// For servers that a busy machine may make slow.
auto patient_endpoint(const reference_project& project) -> endpoint_entry {
  endpoint_entry endpoint = *project.declared.find_endpoint("ep_0001");
  endpoint.policy.request_timeout = std::chrono::seconds(20);
  endpoint.policy.connect_timeout = std::chrono::seconds(20);
  return endpoint;
}

/// The reference data and the odd one, by all kinds of stores.
struct both_stores {
  reference_project project;
  scratch_folder folder;
  redis_server server;
  real_cluster nodes;
  std::unique_ptr<store> embedded;
  std::unique_ptr<store> remote;
  std::unique_ptr<store> spread;

  both_stores() {
    const std::vector<std::filesystem::path> files = all_data(project, folder);
    endpoint_entry endpoint = patient_endpoint(project);
    endpoint.resolver = embedded_resolver{"both.lmdb"};
    value_of(load_store(folder.path() / "both.lmdb", files, {}));
    embedded = value_of(open_store(endpoint, folder.path()));
    endpoint.resolver = static_resolver{"127.0.0.1", server.port()};
    value_of(load_redis(value_of(parse_redis_options(endpoint)), files, {}));
    remote = value_of(open_store(endpoint, folder.path()));
    endpoint.resolver = cluster_resolver{.nodes = {{"127.0.0.1", nodes.node(2).port()}}};
    value_of(load_redis(value_of(parse_redis_options(endpoint)), files, {}));
    spread = value_of(open_store(endpoint, folder.path()));
  }
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

/// Features of the rows that a user follows, several at a time and one alone.
auto features_plan() -> std::string {
  return artifact_of(node("v", "core::viewer", "", endpoint_and("")) + "," +
                         node("f", "core::follow", "v", endpoint_and(R"(,"fanout":100)")) + "," +
                         node("u", "core::fetch_features", "v", endpoint_and(R"(,"keys":[3002],"hash":"user")")) + "," +
                         node("s", "core::fetch_features", "f", endpoint_and(R"(,"keys":[2001,1001,3002])")) + "," +
                         node("o", "core::fetch_features", "f", endpoint_and(R"(,"keys":[1001])")),
                     R"("u","s","o")");
}

/// Features made of what the store has, integers and texts, which may be null.
auto extracted_plan() -> std::string {
  const auto extract = [](const std::string& id, const std::string& from, const std::string& params) {
    return "," + node(id, "core::extract_features", from, "{" + params + "}");
  };
  return artifact_of(
      node("v", "core::viewer", "", endpoint_and("")) + "," +
          node("f", "core::follow", "v", endpoint_and(R"(,"fanout":100)")) + "," +
          node("s", "core::fetch_features", "f", endpoint_and(R"(,"keys":[3002])")) +
          extract("h", "s",
                  R"("transform":"one_hot","keys":[3001],"out_keys":[1001,1002],"values":["US","\u0000\"\u20ac"])") +
          extract("n", "h", R"("transform":"is_null","keys":[3002],"out_keys":[2001])") +
          extract("b", "s", R"("transform":"bucket","keys":[1],"out_keys":[1001],"boundaries":[0,2.5,905,1e18])") +
          extract("c", "b", R"("transform":"clip","keys":[1],"out_keys":[1002],"max":5000)") +
          extract("l", "c", R"("transform":"log1p","keys":[1002],"out_keys":[2001])"),
      R"("n","l")");
}

/// Everything that reads keys of a plan's own.
auto named_plan() -> std::string {
  const auto named = [](const std::string& id, const std::string& op, const std::string& from, const std::string& key,
                        const std::string& more) {
    return "," + node(id, op, from, endpoint_and(R"(,"key":")" + key + "\"" + more));
  };
  return artifact_of(
      node("v", "core::viewer", "", endpoint_and("")) +
          named("l", "core::list", "v", "follow:{id}", R"(,"count":100)") +
          named("t", "core::list", "l", "follow:{id}", R"(,"count":2,"offset":1)") +
          named("n", "core::sorted_set", "v", "near:{id}", R"(,"count":4,"order":"desc","min":-1,"out_key":1001)") +
          named("a", "core::sorted_set", "", "near:905", R"(,"count":9,"offset":1)") +
          named("s", "core::set", "l", "seen:{id}", R"(,"count":2)") +
          named("h", "core::hash", "t", "features:{id}", R"(,"keys":[2001,1001,3002])") +
          named("p", "core::strings", "l", "price:{id}", R"(,"out_key":1001)") +
          named("q", "core::strings", "p", "price:905", R"(,"out_key":3002)") +
          named("m", "core::members_of", "a", "near:905", R"(,"of":"sorted_set","out_key":1002)"),
      R"("q","n","s","h","m")");
}

/// What many plans answer to many users.
auto answers_of(store& from, const registries& declared) -> std::vector<std::string> {
  constexpr std::uint64_t generated = 40;
  engine_world world(declared, {&from, nullptr}, 2);
  std::vector<const bound_plan*> plans{&world.reference_plan("reels_plan_a"), &world.reference_plan("concat_plan"),
                                       &world.bind(sources_plan()),           &world.bind(features_plan()),
                                       &world.bind(extracted_plan()),         &world.bind(named_plan())};
  for (std::uint64_t seed = 100; seed < 100 + generated; ++seed) plans.push_back(&world.bind(plan_maker(seed).make()));
  std::vector<std::string> out;
  for (const bound_plan* plan : plans)
    for (const int user : {1, 3, 5, 11, 13, 14, 900, 901, 902, 903, 904, 905, 906, 907})
      out.push_back(to_json(world.rank(*plan, R"({"user_id":)" + std::to_string(user) + R"(,"request_id":"r"})")));
  return out;
}

}  // namespace

TEST_CASE("the reference plans and made ones give the same bytes on all stores") {
  const both_stores stores;
  const registries& declared = stores.project.declared;
  const std::vector<std::string> expected = answers_of(*stores.embedded, declared);
  const std::vector<std::string> got = answers_of(*stores.remote, declared);
  const std::vector<std::string> spread = answers_of(*stores.spread, declared);
  REQUIRE(got.size() == expected.size());
  REQUIRE(spread.size() == expected.size());
  std::map<std::string, int> endings;
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == expected[i]);
    CHECK(spread[i] == expected[i]);
    for (const char* what :
         {R"("malformed_ids":)", R"("malformed_values":)", R"("code":"store_wrong_type")", R"("candidates":[{)"})
      if (expected[i].find(what) != std::string::npos) ++endings[what];
  }
  CHECK(endings.size() == 4);  // all of them are worth comparing
}

TEST_CASE("a request whose deadline passes while its server stands still is answered, and the next one is right") {
  const watchdog guard(60s);
  const both_stores stores;
  braid::redis_options options;
  options.port = stores.server.port();
  options.request_timeout = braid::duration::max();
  options.connect_timeout = 20s;
  options.silence = 1h;
  options.silence_when_left = 1h;
  redis_store endless({.endpoint_id = "ep_0001", .server = options});
  engine_world world(stores.project.declared, {&endless, nullptr}, 1);
  engine_world right(stores.project.declared, {stores.embedded.get(), nullptr}, 1);
  const std::string request = R"({"user_id":1,"request_id":"r"})";
  const std::string expected = to_json(right.rank(right.reference_plan("reels_plan_a"), request));
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  CHECK(to_json(world.rank(plan, request)) == expected);

  stores.server.freeze();
  for (int i = 0; i < 20; ++i)
    CHECK(error_of(world.rank(plan, R"({"user_id":2,"request_id":"r","deadline_ms":5})")) ==
          "deadline_exceeded follow");
  stores.server.thaw();
  CHECK(to_json(world.rank(plan, request)) == expected);
}

TEST_CASE("a server that is away or slow is an error of the node, with endpoint and reason") {
  const watchdog guard(60s);
  redis_server server;
  braid::redis_options options;
  options.port = server.port();
  options.request_timeout = 20ms;
  options.backoff = {.first = 1ms, .max_delay = 5ms, .seed = 1};
  redis_store hasty({.endpoint_id = "ep_0001", .server = options});
  options.request_timeout = 20s;
  options.connect_timeout = 20s;
  redis_store patient({.endpoint_id = "ep_0001", .server = options});
  engine_world world(reference_project::get().declared, {&hasty, nullptr}, 1);
  engine_world unhurried(reference_project::get().declared, {&patient, nullptr}, 1);
  const auto asker_of = [](engine_world& in) {
    return
        [&in, &plan = in.reference_plan("concat_plan")] { return in.rank(plan, R"({"user_id":1,"request_id":"r"})"); };
  };
  const auto ask = asker_of(world);
  const auto ask_patiently = asker_of(unhurried);
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));

  server.freeze();
  ranking slow = ask();
  REQUIRE(slow.error);
  CHECK(slow.error->code == "store_timeout");
  CHECK(slow.error->message.find("endpoint `ep_0001` at redis://127.0.0.1:") != std::string::npos);
  CHECK_FALSE(slow.error->node.empty());
  server.thaw();
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));

  CHECK(error_of(ask_patiently()) == "fine");
  server.kill();
  CHECK(error_of(ask_patiently()).starts_with("store_unreachable "));
  CHECK(error_of(ask_patiently()).starts_with("store_unreachable "));
  server.start();
  CHECK(eventually([&] { return error_of(ask()) == "fine"; }));
}

namespace {

constexpr const char* trusted_variable = "RANKD_REDIS_AUTHORITIES";

/// A server by TLS, the endpoint that names it, and files with authorities that one may trust.
struct guarded_scene {
  reference_project project;
  scratch_folder folder;
  tls_redis_server server;
  endpoint_entry endpoint = patient_endpoint(project);
  std::string good = folder.write("good.pem", tls_people::known().authority.certificate).string();
  std::string stranger =
      folder
          .write("stranger.pem", braid::testing::make_certificate({.name = "stranger", .authority = true}).certificate)
          .string();

  guarded_scene() { endpoint.resolver = static_resolver{"127.0.0.1", server.port(), true}; }

  [[nodiscard]] auto url() const -> std::string { return "rediss://127.0.0.1:" + std::to_string(server.port()); }
};

}  // namespace

TEST_CASE("a server by TLS is filled, and then ranked from with the bytes of the embedded store") {
  const watchdog guard(60s);
  guarded_scene scene;
  const std::vector<std::filesystem::path> files = all_data(scene.project, scene.folder);
  value_of(load_store(scene.folder.path() / "own.lmdb", files, {}));
  endpoint_entry own = scene.endpoint;
  own.resolver = embedded_resolver{"own.lmdb"};
  const auto embedded = value_of(open_store(own, scene.folder.path()));

  const environment trusted(trusted_variable, scene.good.c_str());
  value_of(load_redis(value_of(parse_redis_options(scene.url())), files, {}));
  const auto remote = value_of(open_store(scene.endpoint, scene.folder.path()));
  const auto expected = answers_of(*embedded, scene.project.declared);
  CHECK(answers_of(*remote, scene.project.declared) == expected);
  CHECK(std::ranges::any_of(expected, [](const auto& each) { return each.contains(R"("candidates":[{)"); }));
}

TEST_CASE("a server whose authority is not trusted is refused, by endpoint, place and reason; so is a load") {
  const watchdog guard(60s);
  guarded_scene scene;
  const environment trusted(trusted_variable, scene.stranger.c_str());
  const auto remote = value_of(open_store(scene.endpoint, scene.folder.path()));
  engine_world world(scene.project.declared, {remote.get(), nullptr}, 1);
  const ranking answer = world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1,"request_id":"r"})");
  REQUIRE(answer.error);
  CHECK(answer.error->code == "store_untrusted");
  CHECK(answer.error->node == "follow");
  CHECK(answer.error->message.contains("endpoint `ep_0001` at " + scene.url() + "/0: "));
  CHECK(answer.error->message.contains("certificate"));

  const auto load = load_redis(value_of(parse_redis_options(scene.url())), all_data(scene.project, scene.folder), {});
  REQUIRE_FALSE(load);
  CHECK(load.error().front().code == "store_untrusted");
}

TEST_CASE("authorities of one endpoint alone are those that it trusts; a file that is not there is named") {
  const watchdog guard(60s);
  guarded_scene scene;
  const environment others(trusted_variable, scene.stranger.c_str());
  {
    const environment own("RANKD_REDIS_AUTHORITIES_EP_0001", scene.good.c_str());
    const auto remote = value_of(open_store(scene.endpoint, scene.folder.path()));
    engine_world world(scene.project.declared, {remote.get(), nullptr}, 1);
    CHECK(error_of(world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1})")) == "fine");
  }
  const environment missing("RANKD_REDIS_AUTHORITIES_EP_0001", "/no/such/file.pem");
  const auto refused = open_store(scene.endpoint, scene.folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "bad_environment");
  CHECK(refused.error().front().message.contains("/no/such/file.pem"));
}
