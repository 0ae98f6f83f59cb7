// tests/rankd/cli/commands_test.cpp: the program itself: what it prints where, and how it exits.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/store/folder.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/child.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using braid::testing::scratch_folder;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

namespace fs = std::filesystem;

auto rankd_here(words arguments) -> process_end { return rankd_in("/", std::move(arguments)); }

/// The error of a response on standard output; requires that it failed and said nothing on standard error.
auto error_of(const process_end& end) -> json {
  CHECK(end.status == 1);
  CHECK(end.err.empty());
  CHECK(end.out.ends_with("}\n"));
  return json::parse(end.out).at("error");
}

auto ids_of(const process_end& end) -> std::vector<std::int64_t> {
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  std::vector<std::int64_t> ids;
  const json response = json::parse(end.out);  // named: g++ 12 ends temporaries of a range before its loop
  for (const json& each : response.at("candidates")) ids.push_back(each.at("id").get<std::int64_t>());
  return ids;
}

}  // namespace

TEST_CASE("a command line that makes no sense exits with 2 and says why on standard error") {
  const std::vector<words> table{{},
                                 {"frobnicate"},
                                 {"rank", "--nonsense"},
                                 {"rank", "--plan"},
                                 {"rank", "--workers", "0"},
                                 {"rank", "--workers", "many"},
                                 {"rank", "--node-timeout-ms", "0"},
                                 {"rank", "extra"},
                                 {"bench"},
                                 {"bench", "--plan", "p", "--clients", "0"},
                                 {"bench", "--plan", "p", "--duration-ms", "0"},
                                 {"init"},
                                 {"init", "demo"},
                                 {"init", "demo", ""},
                                 {"init", "empty"},
                                 {"init", "empty", "x", "--users", "5"},
                                 {"init", "demo", "x", "--users", "0"},
                                 {"rank", "--plan", ""},
                                 {"rank", "--request", ""},
                                 {"validate", ""},
                                 {"eval"},
                                 {"eval", "p"},
                                 {"eval", "p", "q", "r", "--judgements", "f"},
                                 {"eval", "p", "--judgements", "f", "--depth", "0"},
                                 {"eval", "p", "--judgements", "f", "--gain", "square"},
                                 {"load", ""},
                                 {"load", "--store", ""},
                                 {"load", "--store", "lmdb:"},
                                 {"load", "--store", "redis://"},
                                 {"load", "--store", "redis://h/x"},
                                 {"load", "--store", "http://h"},
                                 {"load", "--store", "redis://127.0.0.1:6379", "--replace"},
                                 {"ops", "--json", "--toml"},
                                 {"plans", "--table"},
                                 {"dump", "x"},
                                 {"dump", "--out", ""},
                                 {"dump", "--store", ""}};
  for (const words& line : table) {
    CAPTURE(line.size() > 1 ? line[1] : line.empty() ? "nothing" : line[0]);
    const process_end end = rankd_here(line);
    CHECK(end.status == 2);
    CHECK(end.out.empty());
    CHECK_FALSE(end.err.empty());
  }
}

TEST_CASE("every subcommand has help, on standard output") {
  for (const words& line : {words{},
                            {"rank"},
                            {"batch"},
                            {"bench"},
                            {"load"},
                            {"dump"},
                            {"validate"},
                            {"plans"},
                            {"diff"},
                            {"ops"},
                            {"registry"},
                            {"init"},
                            {"init", "demo"}}) {
    words with_help = line;
    with_help.emplace_back("--help");
    CAPTURE(line.empty() ? "rankd" : line.back());
    const process_end end = rankd_here(with_help);
    CHECK(end.status == 0);
    CHECK(has(end.out, "Usage:"));
    CHECK(has(end.out, "Exit status: "));
    CHECK(end.err.empty());
  }
  const process_end version = rankd_here({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("rankd "));
}

TEST_CASE("the first request fills the store, and the answer is the same however the request comes") {
  const project_copy project;
  const std::string request = R"({"user_id": 1, "output_keys": ["final_score"], "request_id": "r"})";
  REQUIRE_FALSE(fs::exists(project.store()));
  const process_end first = rankd_in(project.path(), {"rank", "--plan", "reels_plan_a"}, request);
  CHECK(fs::exists(project.store()));
  CHECK((ids_of(first) == std::vector<std::int64_t>{3, 4, 5, 6, 7}));
  CHECK(has(first.out, R"("candidates":[{"id":3,"fields":{"final_score":0.6000000000000001}},{"id":4,)"));
  CHECK(std::count(first.out.begin(), first.out.end(), '\n') == 1);

  const fs::path file = project.write("request.json", request);
  const std::vector<words> others{{"--request", request}, {"--request", file.string()}, {"--workers", "2"}};
  for (const words& other : others) {
    words line{"rank", "--plan", "reels_plan_a"};
    line.insert(line.end(), other.begin(), other.end());
    CHECK(rankd_in(project.path(), line, request).out == first.out);
  }
  const process_end elsewhere =
      rankd_in("/", {"rank", "--project", project.path(), "--request", R"({"user_id":1,"plan":"concat_plan"})"});
  CHECK((ids_of(elsewhere) == std::vector<std::int64_t>{1, 2, 3, 4, 1001, 1002, 1003, 1004}));
}

TEST_CASE("a byte order mark may begin a file, for every command alike, and stands nowhere else") {
  const project_copy project;
  const std::string mark(byte_order_mark);
  const std::string request = R"({"user_id":1,"plan":"concat_plan","request_id":"r"})";
  const process_end plain = rankd_in(project.path(), {"rank"}, request);
  CHECK(plain.status == 0);
  const fs::path file = project.write("request.json", mark + request);
  CHECK(rankd_in(project.path(), {"rank"}, mark + request).out == plain.out);
  CHECK(rankd_in(project.path(), {"rank", "--request", file}).out == plain.out);
  const std::string batch = rankd_in(project.path(), {"batch"}, request).out;
  CHECK(rankd_in(project.path(), {"batch"}, mark + request).out == batch);
  CHECK(rankd_in(project.path(), {"batch", "--in", file}).out == batch);
  project.write("data.ndjson", mark + "{\"list\":\"a\",\"values\":[1]}\n");
  CHECK(rankd_in(project.path(), {"load", "data.ndjson", "--store", "db"}).out == "loaded 1 record into db\n");

  const process_end twice = rankd_in(project.path(), {"rank"}, mark + mark + request);
  CHECK(error_of(twice).at("code") == "json_syntax");
  CHECK(error_of(twice).at("request_id") == "r");
  const process_end later = rankd_in(project.path(), {"batch"}, request + "\n" + mark + request);
  CHECK(later.out == batch + twice.out);
  project.write("data.ndjson", "{\"list\":\"a\",\"values\":[1]}\n" + mark + "{\"list\":\"b\",\"values\":[1]}\n");
  CHECK(has(rankd_in(project.path(), {"load", "data.ndjson", "--store", "db"}).err, "line 2: "));
}

TEST_CASE("bench tells how many requests were answered and how fast, for people and for programs") {
  const project_copy project;
  const words short_load{"bench", "--plan", "reels_plan_a", "--duration-ms", "20", "--clients", "1,3"};
  words for_programs = short_load;
  for_programs.insert(for_programs.end(), {"--json", "--loops", "2", "--sequential"});
  const process_end end = rankd_in(project.path(), for_programs);
  CHECK(end.status == 0);
  const json said = json::parse(end.out);
  CHECK(said.at("plan") == "reels_plan_a");
  REQUIRE(said.at("runs").size() == 2);
  CHECK(said.at("runs")[1].at("clients") == 3);
  CHECK(said.at("runs")[1].at("loops") == 2);
  for (const char* metric : {"requests", "rps", "p50_us", "p90_us", "p99_us", "p999_us", "max_us"})
    CHECK(said.at("runs")[0].at(metric).get<double>() > 0);
  CHECK(said.at("runs")[0].at("failed") == 0);
  CHECK(has(rankd_in(project.path(), short_load).out, "per second"));

  words drawn = short_load;
  drawn.insert(drawn.end(), {"--plot", "plot.svg"});
  CHECK(rankd_in(project.path(), drawn).status == 0);
  CHECK(has(read_text_file(project.path() / "plot.svg").value(), ">plan reels_plan_a<"));
  const std::string before = read_text_file(project.path() / "plot.svg").value();
  const std::string full_disk = "ulimit -f 1; trap '' 25; exec " + std::string(RANKD_BINARY) + " " +
                                "bench --plan reels_plan_a --duration-ms 20 --clients 1,2,3,4,5,6,7,8 --plot plot.svg";
  const process_end cut = braid::testing::run_process({"/bin/sh", "-c", full_disk}, {.folder = project.path()});
  CHECK(cut.status == 1);
  CHECK(has(cut.err, "plot.svg"));
  CHECK(has(cut.err, "File too large"));
  CHECK(read_text_file(project.path() / "plot.svg").value() == before);
  CHECK_FALSE(fs::exists(project.path() / "plot.svg.unfinished"));
  drawn.back() = "nowhere/plot.svg";
  const process_end undrawn = rankd_in(project.path(), drawn);
  CHECK(undrawn.status == 1);
  CHECK(has(undrawn.err, "[output_unwritable]"));

  const fs::path wrong = project.write("requests.ndjson", "{}\n");
  words failing = short_load;
  failing.insert(failing.end(), {"--requests", wrong.string()});
  const process_end failed = rankd_in(project.path(), failing);
  CHECK(failed.status == 1);
  CHECK(has(failed.out, "first failure with 3 clients: {\"error\":{\"code\":\"missing_field\""));
  failing.emplace_back("--json");
  const json told = json::parse(rankd_in(project.path(), failing).out);
  CHECK(has(told.at("runs")[0].at("first_failure").get<std::string>(), "missing_field"));
  failing.pop_back();
  project.write("requests.ndjson", "\n");
  CHECK(has(rankd_in(project.path(), failing).err, "no request"));

  fs::remove_all(project.store());
  const process_end nobody = rankd_in(project.path(), {"bench", "--plan", "reels_plan_a", "--http", "http://[::1]:1"});
  CHECK(nobody.status == 1);
  CHECK(has(nobody.err, "[no_requests]"));
  CHECK(has(nobody.err, "without --requests, rankd needs the users of an embedded store; there is no store here"));
  CHECK(has(nobody.err, "--requests"));
}

TEST_CASE("what goes wrong with a request is JSON on standard output") {
  const project_copy project;
  const auto rank = [&](const words& more) {
    words line{"rank"};
    line.insert(line.end(), more.begin(), more.end());
    return rankd_in(project.path(), line, "");
  };
  const json unknown = error_of(rank({"--plan", "reels_plan_b", "--request", R"({"user_id":1,"request_id":"r"})"}));
  CHECK(unknown.at("code") == "unknown_plan");
  CHECK(unknown.at("request_id") == "r");
  CHECK(has(unknown.at("message"), "did you mean `reels_plan_a`?"));

  const std::vector<std::pair<words, std::string>> table{
      {{"--plan", "concat_plan"}, "json_syntax"},
      {{"--request", R"({"user_id":1})"}, "missing_field"},
      {{"--plan", "concat_plan", "--request", R"({"user_id":1,"plan":"reels_plan_a"})"}, "plan_mismatch"},
      {{"--plan", "concat_plan", "--request", R"({"user_id":1e400})"}, "number_out_of_range"},
      {{"--plan", "concat_plan", "--request", R"({"user_id":0})"}, "bad_user_id"},
      {{"--plan", "concat_plan", "--request", "missing.json"}, "unreadable_file"},
      {{"--plan", "concat_plan", "--request", "registry"}, "unreadable_file"},
      {{"--plan", "zzz", "--request", R"({"user_id":1})"}, "unknown_plan"},
      {{"--plan", "missing.json", "--request", R"({"user_id":1})"}, "unreadable_file"}};
  for (const auto& [arguments, code] : table) {
    CAPTURE(code);
    CHECK(error_of(rank(arguments)).at("code") == code);
  }
  const json both = json::parse(rank({"--request", R"({"user_id":0,"deadline_ms":0,"request_id":"q"})"}).out);
  CHECK(both.at("diagnostics").size() == 2);
  CHECK(both.at("error").at("request_id") == "q");
}

TEST_CASE("a node that fails, and one that takes too long, are named") {
  const project_copy project;
  constexpr std::string_view slow = R"({"schema_version":1,"plan_name":"slow","outputs":["z"],"nodes":[
    {"node_id":"s","op":"test::fixed_source","inputs":[]},
    {"node_id":"z","op":"test::busy_cpu","inputs":["s"],"params":{"busy_wait_ms":3600000}}]})";
  const std::string plan = project.write("slow.json", slow);
  const json late =
      error_of(rankd_in(project.path(), {"rank", "--plan", plan, "--request", R"({"user_id":1,"deadline_ms":1})"}));
  CHECK(late.at("code") == "deadline_exceeded");
  const words line{"rank", "--plan", plan, "--node-timeout-ms", "1", "--request", R"({"user_id":1})"};
  const json timeout = error_of(rankd_in(project.path(), line));
  CHECK(timeout.at("code") == "node_timeout");
  CHECK(timeout.at("node") == "z");
}

TEST_CASE("outside of a project every command says so in the form that is asked for") {
  const scratch_folder nowhere;
  const words request{"--request", R"({"user_id":1})"};
  for (const words& line : {words{"rank", request[0], request[1]}, {"plans", "--json"}, {"validate", "--json"}})
    CHECK(error_of(rankd_in(nowhere.path(), line)).at("code") == "no_project");
  for (const words& line : {words{"rank", "--table", request[0], request[1]}, {"plans"}, {"validate"}, {"load"}}) {
    CAPTURE(line[0]);
    const process_end end = rankd_in(nowhere.path(), line);
    CHECK(end.status == 1);
    CHECK(end.out.empty());
    CHECK(has(end.err, "[no_project]; change to a project folder, set --project"));
  }
}

TEST_CASE("a table shows what the plan outputs: short numbers, and a dash for what is absent") {
  const project_copy project;
  const auto table = [&](const std::string& plan, const std::string& request) {
    return rankd_in(project.path(), {"rank", "--plan", plan, "--table", "--request", request});
  };
  const process_end scores =
      table("reels_plan_a", R"({"user_id":1,"param_overrides":{"media_age_penalty_weight":0.333333333333}})");
  CHECK(scores.status == 0);
  CHECK(scores.err.empty());
  CHECK(
      scores.out.starts_with("rank  id  final_score  country\n"
                             "----  --  -----------  -------\n"
                             "   1   2     0.666667  CA\n"
                             "   2   3            1  DE\n"));
  CHECK(has(scores.out, "\nnode    operator"));
  CHECK(has(scores.out, "\ntotal: "));

  const process_end absent = table("concat_plan", R"({"user_id":3})");
  CHECK(
      absent.out.starts_with("rank    id  country\n"
                             "----  ----  -------\n"
                             "   1     1  US\n"
                             "   2     2  CA\n"
                             "   3    11  -\n"
                             "   4    12  -\n"));

  const std::string media =
      project.write("media.json", R"({"schema_version":1,"plan_name":"media","outputs":["m"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}},
    {"node_id":"m","op":"core::media","inputs":["v"],"params":{"endpoint":"ep_0001","fanout":3}}]})");
  project.write("build/one.ndjson", "{\"list\":\"media:1\",\"values\":[2]}\n");
  REQUIRE(rankd_in(project.path(), {"load", "build/one.ndjson"}).status == 0);
  CHECK(table(media, R"({"user_id":1})")
            .out.starts_with("rank  id\n"
                             "----  --\n"
                             "   1   2\n"));

  const std::string given = project.write("given.json", R"({"schema_version":1,"plan_name":"given","outputs":["c"],
    "nodes":[{"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[1001,3002]}}]})");
  CHECK(table(given, R"({"candidates":{"id":[7,8],"model_score_1":[0.5,2],"title":["seven",null]}})")
            .out.starts_with("rank  id  model_score_1  title\n"
                             "----  --  -------------  -----\n"
                             "   1   7            0.5  seven\n"
                             "   2   8              2  -\n"));

  const process_end failed = table("reels_plan_a", R"({"user_id":0})");
  CHECK(failed.status == 1);
  CHECK(failed.out.empty());
  CHECK(has(failed.err, "request#/user_id: "));
}

TEST_CASE("a demo is made, loaded, validated and asked") {
  const scratch_folder folder;
  const process_end made = rankd_in(folder.path(), {"init", "demo", "feed", "--users", "50", "--media", "100"});
  CHECK(made.status == 0);
  CHECK(made.out.starts_with("wrote "));
  const fs::path demo = folder.path() / "feed";

  const process_end loaded = rankd_in(demo, {"load"});
  CHECK(loaded.status == 0);
  CHECK(loaded.out.starts_with("loaded 200 records into "));
  CHECK(has(rankd_in(demo, {"load", "data/users.ndjson"}).out, "loaded 50 records into "));
  CHECK_FALSE(has(rankd_in(demo, {"load", "--replace"}).out, "kept"));

  const process_end valid = rankd_in(demo, {"validate"});
  CHECK(valid.status == 0);
  CHECK(valid.out == "ok    concat_plan (5 nodes)\nok    home_feed (9 nodes)\nok    reels_plan_a (6 nodes)\n");
  const process_end inside = rankd_in(demo / "data", {"rank", "--plan", "home_feed", "--request", R"({"user_id": 1})"});
  CHECK(ids_of(inside).size() == 20);

  const process_end again = rankd_in(folder.path(), {"init", "demo", "feed"});
  CHECK(again.status == 1);
  CHECK(again.out.empty());
  CHECK(has(again.err, "[demo_exists]"));
}

TEST_CASE("an empty project is valid, answers from the request, and is written once") {
  const scratch_folder folder;
  CHECK(rankd_in(folder.path(), {"init", "empty", "mine"}).out == "wrote 16 files into mine\n");
  const fs::path mine = folder.path() / "mine";
  for (const char* name : {"package.json", "tsconfig.json", ".gitignore", ".vscode/tasks.json", "README.md"})
    CHECK(fs::exists(mine / name));
  CHECK(rankd_in(mine, {"validate"}).out == "ok    first (4 nodes)\n");
  const words asked{"rank",    "--plan",    "first",
                    "--table", "--request", R"({"candidates": {"id": [7, 8, 9], "score": [0.5, 2, -1]}})"};
  CHECK(rankd_in(mine, asked)
            .out.starts_with("rank  id  score\n"
                             "----  --  -----\n"
                             "   1   8      2\n"
                             "   2   7    0.5\n\n"));
  CHECK(has(rankd_in(folder.path(), {"init", "empty", "mine"}).err, "[demo_exists]"));
  CHECK(has(rankd_in(folder.path(), {"init", "demo", "mine"}).err, "[demo_exists]"));
}

TEST_CASE("data that cannot be loaded is refused as a whole, with every line that is wrong") {
  const project_copy project;
  const fs::path bad =
      project.write("bad.ndjson", "{\"list\":\"follow:1\",\"values\":[1]}\nnonsense\n{\"list\":\"follow:2\"}\n");
  const fs::path empty = project.write("empty/README.md", "").parent_path();
  const auto load = [&](const words& arguments) {
    words line{"load"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    process_end end = rankd_in(project.path(), line);
    CHECK(end.status == 1);
    CHECK(end.out.empty());
    return end.err;
  };
  const std::string lines = load({bad, "--store", "fresh.lmdb"});
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  CHECK(has(load({"missing.ndjson"}), "[data_unreadable]"));
  CHECK(has(load({empty}), "[data_missing]"));
  CHECK(has(load({"data/reference", "--store", empty}), "[store_foreign]"));
  CHECK_FALSE(fs::exists(project.store() / store_manifest::file_name));
}

TEST_CASE("a store is filled in any folder, named as a path or as lmdb:PATH") {
  const project_copy project;
  for (const std::string name : {"a.lmdb", "lmdb:deep/b.lmdb"}) {
    const process_end end =
        rankd_in(project.path(), {"load", "--store", name, "data/reference", "data/reference/README.md"});
    CHECK(end.status == 1);  // a file that is named is read, whatever it is called
    CHECK(rankd_in(project.path(), {"load", "--store", name}).status == 0);
  }
  CHECK(fs::exists(project.path() / "a.lmdb"));
  CHECK(fs::exists(project.path() / "deep/b.lmdb"));
  CHECK_FALSE(fs::exists(project.store()));
}

TEST_CASE("plans and operators are listed for people and for programs, wrong plans with what is wrong with them") {
  const project_copy project;
  const process_end plans = rankd_in(project.path(), {"plans"});
  CHECK(plans.status == 0);
  CHECK(plans.out.starts_with("plan          nodes  digest\n"));
  CHECK(has(plans.out, "\nconcat_plan       5  "));
  const json listed = json::parse(rankd_in(project.path(), {"plans", "--json"}).out).at("plans");
  REQUIRE(listed.size() == 2);
  CHECK(listed[1].at("plan") == "reels_plan_a");
  CHECK(listed[1].at("nodes") == 6);
  CHECK(listed[1].at("digest").get<std::string>().size() == 64);

  project.write("plans/compiled/bent.json", R"({"schema_version":1,"plan_name":"bent","outputs":["v"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0002"}}]})");
  project.write("plans/compiled/broken.json", "{");
  const process_end max_count = rankd_in(project.path(), {"plans"});
  CHECK(max_count.status == 1);
  CHECK(max_count.out == plans.out);
  CHECK(std::count(max_count.err.begin(), max_count.err.end(), '\n') == 4);
  for (const char* code : {"wrong_endpoint_kind", "json_syntax", "not_indexed"}) CHECK(has(max_count.err, code));
  const json both = json::parse(rankd_in(project.path(), {"plans", "--json"}).out);
  CHECK(both.at("plans") == listed);
  CHECK(both.at("error").at("code") == "wrong_endpoint_kind");
  CHECK(both.at("diagnostics").size() == 4);
  const fs::path other = project.path() / "plans/compiled/concat_plan.json";
  project.write(other, read_text_file(other).value() + "\n");
  const process_end changed = rankd_in(project.path(), {"plans"});
  CHECK_FALSE(has(changed.out, "concat_plan"));
  CHECK(std::count(changed.err.begin(), changed.err.end(), '\n') == 5);  // what the index and the plan share, once

  const process_end ops = rankd_here({"ops"});
  CHECK(ops.status == 0);
  CHECK(has(ops.out, "core::sort"));
  CHECK(has(ops.out, "by: key_id, order?: choice"));
  const json catalog = json::parse(rankd_here({"ops", "--json"}).out).at("ops");
  CHECK(catalog.size() == all_ops().size());
  CHECK(catalog[6].at("op") == "core::concat");
  CHECK(catalog[6].at("params")[0].at("required") == true);
  CHECK(rankd_here({"ops", "--toml"}).out == read_text_file("registry/ops.toml").value());
}

TEST_CASE("names and contents of files cannot steer the terminal of whoever reads about them") {
  const project_copy project;
  const std::string plan = project.write("a\x1b[2J\nok.json", R"({"schema_version":1,"plan_name":"x\u001b[2J"})");
  const process_end wrong = rankd_in(project.path(), {"validate", plan});
  CHECK(wrong.status == 1);
  CHECK(has(wrong.out, "a\\x1b[2J\\nok.json (3 diagnostics)\n"));
  CHECK(has(wrong.out, "`x\\x1b[2J`"));
  CHECK(wrong.out.find('\x1b') == std::string::npos);
  CHECK(std::count(wrong.out.begin(), wrong.out.end(), '\n') == 4);
  const std::string data = project.write("d\x07.ndjson", "{\"list\":\"a\",\"val\\u001bues\":[]}\n");
  const process_end load = rankd_in(project.path(), {"load", data, "--store", "db\r"});
  CHECK(load.status == 1);
  CHECK(has(load.err, "d\\x07.ndjson#/val\\x1bues: "));
  CHECK(load.err.find_first_of("\x07\x1b\r") == std::string::npos);
  project.write("fine.ndjson", "{\"list\":\"a\",\"values\":[]}\n");
  CHECK(rankd_in(project.path(), {"load", "fine.ndjson", "--store", "db\r"}).out == "loaded 1 record into db\\r\n");
}

TEST_CASE("what cannot be read is told with the system's reason") {
  const auto shell = [](const std::string& line) {
    return braid::testing::run_process({"/bin/sh", "-c", line},
                                       {.folder = std::filesystem::current_path().string(), .text = ""});
  };
  const process_end folder = shell(std::string(RANKD_BINARY) + " rank --plan concat_plan < /");
  CHECK(folder.status == 1);
  CHECK(has(folder.out, "the request cannot be read from standard input: Is a directory"));
  const process_end closed = shell(std::string(RANKD_BINARY) + " rank --plan concat_plan <&-");
  CHECK(closed.status == 1);
  CHECK(has(closed.out, "the request cannot be read from standard input: Bad file descriptor"));
}

TEST_CASE("output that does not arrive is a failure") {
  for (const std::string arguments : {"ops", "ops --json", "--help", "rank --help", "--version"}) {
    const std::string line = std::string(RANKD_BINARY) + " " + arguments + " >/dev/full 2>/dev/null";
    const process_end end = braid::testing::run_process({"/bin/sh", "-c", line}, {.folder = "/", .text = ""});
    CHECK(end.status == 1);
  }
}

TEST_CASE("a reader that goes away ends the program by SIGPIPE, or by an error where that is ignored") {
  const auto end_without_reader = [](void (*disposition)(int)) {
    int ends[2] = {};
    REQUIRE(::pipe(ends) == 0);
    ::close(ends[0]);
    const auto end = braid::testing::run_in_child([&] {
      std::signal(SIGPIPE, disposition);
      ::dup2(ends[1], 1);
      ::execl(RANKD_BINARY, "rankd", "ops", nullptr);
      ::_exit(127);
    });
    ::close(ends[1]);
    return end;
  };
  CHECK(end_without_reader(SIG_DFL).signal == SIGPIPE);
  const auto ignored = end_without_reader(SIG_IGN);
  CHECK(ignored.status == 1);
  CHECK(has(ignored.errors, "standard output cannot be written"));
}

TEST_CASE("a request names a plan, never a file") {
  const project_copy project;
  for (const std::string plan : {"../compiled/reels_plan_a.json", "/etc/x.json", "reels_plan_a.json", "nobody"}) {
    CAPTURE(plan);
    const json request{{"user_id", 1}, {"plan", plan}, {"request_id", "r"}};
    const process_end alone = rankd_in(project.path(), {"rank"}, request.dump());
    const json error = error_of(alone);
    CHECK(error.at("code") == "unknown_plan");
    CHECK(error.at("pointer") == "/plan");
    CHECK(rankd_in(project.path(), {"batch"}, request.dump()).out == alone.out);
  }
}

TEST_CASE("a diagnostic about a plan that the command line names points nowhere into the request") {
  const project_copy project;
  const std::string request = R"({"user_id":1})";
  CHECK_FALSE(error_of(rankd_in(project.path(), {"rank", "--plan", "nobody"}, request)).contains("pointer"));
  const process_end batch = rankd_in(project.path(), {"batch", "--plan", "nobody"}, request);
  CHECK(batch.status == 1);
  CHECK(batch.err.starts_with("no plan is called `nobody` [unknown_plan]"));
}

TEST_CASE("a store that is named by nothing is not the project's") {
  const project_copy project;
  for (const std::string url : {"", "lmdb:", "redis://"}) {
    const process_end end = rankd_in(project.path(), {"load", "--store", url});
    CHECK(end.status == 2);
    CHECK(has(end.err, "--store: "));
    CHECK(!fs::exists(project.store()));
  }
}
