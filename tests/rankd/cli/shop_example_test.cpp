// tests/rankd/cli/shop_example_test.cpp: the project of examples/shop, which docs/rankd.md shows, answers as the page
// says, and the same from Redis and from a cluster.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/real_cluster.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::process_end;
using braid::testing::real_cluster;
using braid::testing::redis_server;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class shop_project : public braid::testing::scratch_folder {
 public:
  shop_project() { fs::copy("examples/shop", path(), fs::copy_options::recursive); }

  /// Puts the data at `url` and has the plan read it there.
  void move_to(const std::string& url, const std::string& resolver) const {
    REQUIRE(rankd_in(path(), {"load", "data/shop.ndjson", "--store", url}).status == 0);
    write("registry/endpoints.dev.toml",
          "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"products\"\nkind = \"redis\"\n"
          "resolver = { " +
              resolver + " }\npolicy = { connect_timeout_ms = 20000, request_timeout_ms = 20000 }\n");
  }
};

auto example(const std::string& file) -> std::string { return rankd::read_text_file("examples/shop/" + file).value(); }

/// Customers with and without purchases, countries with and without a trend, one that must be escaped.
auto requests() -> std::string {
  std::string lines;
  for (const std::string_view customer : {"7", "8", "null", "-1"})
    for (const std::string_view country : {"US", "DE", "", "US:x"})
      lines += R"({"plan":"home","context":{"customer":)" + std::string(customer) + R"(,"country":")" +
               std::string(country) + "\"}}\n";
  return lines;
}

}  // namespace

TEST_CASE("the shop answers as the page says") {
  const shop_project project;
  const process_end done = rankd_in(project.path(), {"rank"}, example("request.json"));
  CHECK(done.status == 0);
  CHECK(json::parse(done.out) == json::parse(example("answer.json")));
}

TEST_CASE("the shop has the same answers from the embedded store, from Redis and from a cluster") {
  const shop_project embedded;
  const std::string expected = rankd_in(embedded.path(), {"batch"}, requests()).out;
  CHECK(has(expected, R"("title":"Tent for two")"));
  CHECK(has(expected, R"("candidates":[])"));
  CHECK_FALSE(has(expected, "error"));

  const redis_server server;
  const std::string port = std::to_string(server.port());
  const shop_project remote;
  remote.move_to("redis://127.0.0.1:" + port, R"(type = "static", host = "127.0.0.1", port = )" + port);
  CHECK(rankd_in(remote.path(), {"batch"}, requests()).out == expected);

  const real_cluster nodes;
  const std::string node = std::to_string(nodes.options().nodes.front().port);
  const shop_project spread;
  spread.move_to("redis-cluster://127.0.0.1:" + node,
                 R"(type = "cluster", nodes = [{ host = "127.0.0.1", port = )" + node + " }]");
  CHECK(rankd_in(spread.path(), {"batch"}, requests()).out == expected);
}

TEST_CASE("the list of operators says which of them need no rows, and which take keys") {
  const shop_project project;
  const json listed = json::parse(rankd_in(project.path(), {"ops", "--json"}).out);
  for (const json& each : listed.at("ops")) {
    const bool may_begin =
        each.at("op") == "core::list" || each.at("op") == "core::set" || each.at("op") == "core::sorted_set";
    const int optional = each.at("op") == "core::choose" ? 62 : may_begin ? 1 : 0;
    CHECK(each.value("optional_inputs", 0) == optional);
  }
  CHECK(has(rankd_in(project.path(), {"ops"}).out, "0-1  endpoint: endpoint_ref, key: key_template, count: int"));
}

TEST_CASE("explanations and graphs know the keys of the shop") {
  const shop_project project;
  const process_end why = rankd_in(project.path(), {"rank", "--why", "101,104,106"}, example("request.json"));
  CHECK(why.status == 0);
  for (const char* node : {"known", "new", "in_stock", "similar"}) CHECK(has(why.out, node));
  const process_end graph = rankd_in(project.path(), {"plans", "home", "--json"});
  CHECK(graph.status == 0);
  const json nodes = json::parse(graph.out).at("nodes");
  for (const json& node : nodes) {
    if (node.at("node") == "trending") {
      CHECK(node.at("params").at("key") == R"("trending:{P.country}")");
      CHECK(node.at("reads") == json::array());
      CHECK(node.at("writes") == json({"id", "interest"}));
    }
    if (node.at("node") == "similar") CHECK(node.at("reads") == json({"id"}));
    if (node.at("node") == "known") CHECK(node.at("writes") == json({"bought"}));
  }
}

TEST_CASE("a key of the shop that is wrong is found when the plan is loaded") {
  const shop_project project;
  std::string plan = example("plans/home.json");
  plan.replace(plan.find("trending:{P.country}"), 20, "trending:{P.county}!");
  project.write("plans/home.json", plan);
  const process_end done = rankd_in(project.path(), {"validate", "home", "--json"});
  CHECK(done.status == 1);
  CHECK(has(done.out, "unknown_param"));
  CHECK(has(done.out, "/nodes/0/params/key"));
  CHECK(has(done.out, "did you mean `country`?"));
}

TEST_CASE("the shop refuses a context that lacks what its plan reads") {
  const shop_project project;
  const process_end done = rankd_in(project.path(), {"rank"}, R"({"plan":"home","context":{"customer":7}})");
  CHECK(done.status == 1);
  const json error = json::parse(done.out).at("error");
  CHECK(error.at("code") == "missing_field");
  CHECK(error.at("pointer") == "/context");
  CHECK(has(error.at("message").get<std::string>(), "`country`"));
  const process_end listed = rankd_in(project.path(), {"registry", "params"});
  CHECK(has(listed.out, " 1  customer  int     yes       -         active  read, context"));
  CHECK(has(listed.out, " 2  country   string  no        required  active  read, context"));
  const json params = json::parse(rankd_in(project.path(), {"registry", "params", "--json"}).out).at("params");
  CHECK(params[1].at("source") == "context");
  CHECK(params[1].at("required") == true);
  CHECK(params[1].at("allow_write") == false);
}

TEST_CASE("a batch of the shop answers each line by its own context, and a load takes requests that have one") {
  const shop_project project;
  const process_end answers = rankd_in(project.path(), {"batch", "--plan", "home"},
                                       R"({"context":{"country":"DE"}})"
                                       "\n{}\n");
  CHECK(answers.status == 1);
  CHECK(has(answers.out, R"("title":"Umbrella")"));
  CHECK(has(answers.out, R"("code":"missing_field")"));
  project.write("asked.ndjson", R"({"context":{"country":"DE"}})");
  const process_end load = rankd_in(project.path(), {"bench", "--plan", "home", "--requests", "asked.ndjson",
                                                     "--duration-ms", "20", "--clients", "1", "--json"});
  CHECK(load.status == 0);
  CHECK(json::parse(load.out).at("runs")[0].at("failed") == 0);
}

TEST_CASE("the shop may read prices by country from strings, whatever store has them") {
  const auto priced = [](const shop_project& project) {
    std::string plan = example("plans/home.json");
    const auto replace = [&plan](std::string_view from, std::string_view to) {
      REQUIRE(plan.find(from) != std::string::npos);
      plan.replace(plan.find(from), from.size(), to);
    };
    replace(R"("keys": [2, 3, 4]}},)", R"("keys": [2, 4]}},
      {"node_id": "priced", "op": "core::strings", "inputs": ["products"],
       "params": {"endpoint": "ep_0001", "key": "price:{id}:{P.country}", "out_key": 3}},)");
    replace(R"("inputs": ["products"], "params": {"pred_id": "in_stock"})",
            R"("inputs": ["priced"], "params": {"pred_id": "in_stock"})");
    project.write("plans/home.json", plan);
    project.write("data/prices.ndjson", R"({"string":"price:102:US","value":"100"}
{"string":"price:103:US","value":"cheap"}
{"string":"price:106:DE","value":"1"}
)");
  };
  const shop_project embedded;
  priced(embedded);
  const std::string expected = rankd_in(embedded.path(), {"rank"}, example("request.json")).out;
  const json answer = json::parse(expected);
  CHECK(answer.at("malformed_values") == 1);
  CHECK(answer.at("candidates")[0].at("id") == 103);  // without a price it costs nothing
  CHECK(answer.at("candidates")[1].at("fields").at("score") == 7.5);
  CHECK(json::parse(rankd_in(embedded.path(), {"dump", "--prefix", "price:106"}).out) ==
        json::parse(R"({"string":"price:106:DE","value":"1"})"));

  const redis_server server;
  const std::string port = std::to_string(server.port());
  const shop_project remote;
  priced(remote);
  REQUIRE(rankd_in(remote.path(), {"load", "data/prices.ndjson", "--store", "redis://127.0.0.1:" + port}).status == 0);
  remote.move_to("redis://127.0.0.1:" + port, R"(type = "static", host = "127.0.0.1", port = )" + port);
  CHECK(rankd_in(remote.path(), {"rank"}, example("request.json")).out == expected);
}
