// tests/rankd/cli/places_example_test.cpp: the project of examples/places, which docs/operators.md shows, with its
// library of operators: what commands and servers say of them.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/op/describe.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::process_end;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class places_project : public braid::testing::scratch_folder {
 public:
  places_project() {
    fs::copy("examples/places", path(), fs::copy_options::recursive);
    fs::copy_file(GEO_OPERATORS, library());
  }

  [[nodiscard]] auto library() const -> fs::path { return path() / "operators/libgeo.so"; }

  /// Another file with the same operators, as a new build of them would be.
  void rebuild() const {
    const std::string bytes = rankd::read_text_file(library(), rankd::largest_library).value();
    fs::remove(library());
    write("operators/libgeo.so", bytes + "\n");
  }

  [[nodiscard]] auto digest() const -> std::string {
    return json::parse(rankd_in(path(), {"plans", "--json"}).out).at("plans")[0].at("digest");
  }
};

/// Of the answer to a request.
auto ids_of(const places_project& project, const json& asked) -> std::vector<int> {
  const process_end done = rankd_in(project.path(), {"rank"}, asked.dump());
  REQUIRE(done.status == 0);
  std::vector<int> ids;
  const json answer = json::parse(done.out);
  for (const json& each : answer.at("candidates")) ids.push_back(each.at("id"));
  return ids;
}

auto request() -> std::string { return rankd::read_text_file("examples/places/request.json").value(); }

}  // namespace

TEST_CASE("the example ranks by an operator of its own, with the place that the request gives") {
  const places_project project;
  const auto near = [&project](const json& asked) { return ids_of(project, asked); };
  json asked = json::parse(request());
  CHECK((near(asked) == std::vector{5, 3, 1}));
  const json first = json::parse(rankd_in(project.path(), {"rank"}, request()).out).at("candidates")[0];
  CHECK(first.at("fields").at("distance_km").get<double>() == doctest::Approx(1.891).epsilon(0.001));
  asked["param_overrides"] = {{"user_latitude", 53.55}, {"user_longitude", 10}};
  CHECK((near(asked) == std::vector{2}));
  asked["param_overrides"] = {{"user_latitude", 91}, {"user_longitude", 10}};
  CHECK(has(rankd_in(project.path(), {"rank"}, asked.dump()).out, "user_latitude"));
}

TEST_CASE("the example has a source of its own, and merges its rows with those of the request") {
  const places_project project;
  json asked = json::parse(request());
  asked["plan"] = "around";
  CHECK((ids_of(project, asked) == std::vector{5, 3, 1, 104, 105}));
  asked["explain"] = {{"ids", {101, 104}}};
  const json fates = json::parse(rankd_in(project.path(), {"rank"}, asked.dump()).out).at("explain").at("ids");
  CHECK(fates[0].at("produced_by") == json::array({"cities"}));
  CHECK(fates[0].at("dropped")[0].at("reason") == "merged");
  CHECK(fates[0].at("dropped")[0].at("from") == "cities");
  CHECK(fates[1].at("merged") == json::array({json{{"node", "unite"}, {"from", "cities"}, {"rows", 1}}}));
  asked.erase("explain");
  asked["param_overrides"] = {{"user_latitude", 48.1}, {"user_longitude", 11.5}};
  CHECK((ids_of(project, asked) == std::vector{106}));
}

TEST_CASE("operators of a project's own are listed, described, and named by its plans") {
  const places_project project;
  CHECK(has(rankd_in(project.path(), {"ops"}).out, "geo::nearest"));
  const json all = json::parse(rankd_in(project.path(), {"ops", "--json"}).out).at("ops");
  CHECK(all.back().at("op") == "geo::unite");
  CHECK(all.back().at("params")[0] == json{{"name", "others"}, {"kind", "node_ref"}, {"required", true}});
  const std::string own = rankd_in(project.path(), {"ops", "--own", "--toml"}).out;
  CHECK(own == rankd::read_text_file("examples/places/registry/own_ops.toml").value());
  CHECK(rankd_in(project.path(), {"ops", "--toml"}).out == rankd::ops_toml() + own);
  CHECK(json::parse(rankd_in(project.path(), {"ops", "--own", "--json"}).out).at("ops").size() == 4);
  CHECK(has(rankd_in(project.path(), {"validate"}).out, "ok    nearby (3 nodes)"));
  const std::string shown = rankd_in(project.path(), {"plans", "nearby"}).out;
  CHECK(has(shown, "operators     libgeo.so "));
  CHECK(has(shown, "geo::distance"));
  const json graph = json::parse(rankd_in(project.path(), {"plans", "--json", "nearby"}).out);
  CHECK(graph.at("operators")[0].at("library") == "libgeo.so");
  CHECK(graph.at("nodes")[1].at("reads") == json{"latitude", "longitude"});
  CHECK(graph.at("nodes")[1].at("writes") == json{"distance_km"});
  CHECK(graph.at("nodes")[2].at("columns") == json{"id", "latitude", "longitude", "distance_km"});
  CHECK(has(rankd_in(project.path(), {"doctor"}).out, "4 operators"));
  CHECK(has(rankd_in(project.path(), {"rank", "--explain"}, request()).out, "geo::distance"));
}

TEST_CASE("another build of a library is another version of the plans that use it") {
  const places_project project;
  const std::string before = project.digest();
  project.rebuild();
  const std::string after = project.digest();
  CHECK(before != after);
  CHECK(after == project.digest());
}

TEST_CASE("a project whose library is missing, or refuses an option, says so") {
  const places_project project;
  json plan = json::parse(rankd::read_text_file("examples/places/plans/nearby.json").value());
  plan.erase("registry_digests");
  plan["nodes"][1]["params"]["out_key"] = 5;
  project.write("nearby.json", plan.dump());
  project.write("registry/keys.toml", rankd::read_text_file("examples/places/registry/keys.toml").value() +
                                          "\n[[key]]\nkey_id = 5\nname = \"km\"\ntype = \"float\"\nnullable = false\n"
                                          "default = 0.0\n");
  const process_end refused = rankd_in(project.path(), {"validate", "nearby.json"});
  CHECK(refused.status == 1);
  CHECK(has(refused.out, "`geo::distance` refuses this: a row without a place has no distance"));
  fs::remove(project.library());
  const process_end missing = rankd_in(project.path(), {"validate"});
  CHECK(missing.status == 1);
  CHECK(has(missing.err, "libgeo.so"));
  CHECK(has(missing.err, "there is no such file"));
  CHECK(has(rankd_in(project.path(), {"doctor"}).out, "operators"));
  project.write("rankd.toml", rankd::read_text_file("examples/places/rankd.toml").value() +
                                  "\n[[operators]]\nlibrary = \"\"\nfolder = \"x\"\n\n[[operators]]\nlibrary = "
                                  "\"./operators/libgeo.so\"\n");
  const std::string wrong = rankd_in(project.path(), {"validate"}).err;
  for (const char* const code : {"bad_value", "unknown_field", "duplicate_value"}) CHECK(has(wrong, code));
}

TEST_CASE("a server runs operators, counts and records them, and refuses to load another library") {
  const places_project project;
  running_server server(project.path(), {"--record", "t.rec"});
  const auto asked = [&server](std::string_view method, std::string_view target, std::string_view body) {
    auto caller = server.caller();
    caller.say(braid::testing::request_text(method, target, "Content-Type: application/json\r\n", body));
    return caller.hear().value();
  };
  const std::string expected = rankd_in(project.path(), {"rank"}, request()).out;
  for (int times = 0; times < 3; ++times) CHECK(asked("POST", "/v1/rank", request()).body == expected);
  CHECK(has(asked("GET", "/metrics", "").body, "node=\"distance\""));
  CHECK(has(asked("GET", "/v1/plans/nearby?form=full", "").body, "\"library\":\"libgeo.so\""));
  server.signal(SIGHUP);
  CHECK(eventually([&server] { return has(server.err(), "plans_loaded"); }));
  const fs::path kept = project.path() / "kept.so";
  fs::copy_file(project.library(), kept);
  project.rebuild();
  server.signal(SIGHUP);
  CHECK(eventually([&server] { return has(server.err(), "library_changed"); }));
  CHECK(asked("POST", "/v1/rank", request()).body == expected);
  server.signal(SIGTERM);
  REQUIRE(server.wait() == 0);
  const braid::testing::scratch_folder elsewhere;
  const std::string record = (project.path() / "t.rec").string();
  fs::rename(kept, elsewhere.path() / "libgeo.so");
  const std::string library = (elsewhere.path() / "libgeo.so").string();
  CHECK(rankd_in(elsewhere.path(), {"replay", record, "--operators", library}).out == "4 requests: 4 equal\n");
  const process_end without = rankd_in(elsewhere.path(), {"replay", record});
  CHECK(without.status == 1);
  CHECK(has(without.out, "4 requests: 0 equal, 4 missing\n"));
  CHECK(has(without.out, "(unknown_op); name the library"));
}
