// tests/rankd/cli/vectors_command_test.cpp: rankd vectors as a person runs it, and the project of examples/similar,
// which docs/vectors.md shows.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/cli/commands/vectors_command.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/base/random.hpp>

#include <csignal>
#include <filesystem>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::process_end;
using braid::testing::request_text;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

class similar_project : public braid::testing::scratch_folder {
 public:
  similar_project() { fs::copy("examples/similar", path(), fs::copy_options::recursive); }

  [[nodiscard]] auto build(std::string_view data = "vectors/products.ndjson") const -> process_end {
    return rankd_in(path(), {"vectors", "build", std::string(data), "--out", "vectors/products.rvec"});
  }
};

auto example(const std::string& file) -> std::string {
  return rankd::read_text_file("examples/similar/" + file).value();
}

auto ask(const running_server& server, std::string_view path, std::string_view body) -> braid::testing::heard_answer {
  auto one = server.caller();
  one.say(request_text("POST", path, {}, body));
  return one.hear().value();
}

auto get(const running_server& server, std::string_view path) -> std::string {
  auto one = server.caller();
  one.say(request_text("GET", path));
  return one.hear().value().body;
}

/// The ids of candidates, in their order.
auto list_ids(const json& candidates) -> std::string {
  std::string out;
  for (const json& each : candidates)
    out += (out.empty() ? "" : " ") +
           (each.at("id").is_string() ? each.at("id").get<std::string>() : each.at("id").dump());
  return out;
}

auto list_ids(const std::string& answer) -> std::string { return list_ids(json::parse(answer).at("candidates")); }

/// Replaces the ids of the example by strings such as `item:101`.
auto with_string_ids(const std::string& text) -> std::string {
  return std::regex_replace(text, std::regex(R"("id": (\d+))"), R"("id": "item:$1")");
}

/// The example with ids that are strings.
class string_id_project : public similar_project {
 public:
  string_id_project() {
    write("vectors/products.ndjson", with_string_ids(example("vectors/products.ndjson")));
    // The values in keys of the store are escaped.
    write("data/products.ndjson",
          std::regex_replace(example("data/products.ndjson"), std::regex("product:"), "product:item%3A"));
    write("registry/keys.toml", std::regex_replace(example("registry/keys.toml"), std::regex("\"int\""), "\"string\""));
  }
};

}  // namespace

TEST_CASE("the example finds what is like a product, and keeps what is alike apart") {
  const similar_project project;
  const process_end without = rankd_in(project.path(), {"rank"}, example("request.json"));
  CHECK(without.status == 1);
  CHECK(json::parse(without.out).at("error").at("code") == "vectors_missing");
  const process_end built = project.build();
  CHECK(built.status == 0);
  CHECK(built.out == "wrote 8 vectors of 4 dimensions (704 bytes) to vectors/products.rvec\n");
  CHECK(built.err.empty());
  const process_end done = rankd_in(project.path(), {"rank"}, example("request.json"));
  CHECK(done.status == 0);
  CHECK(json::parse(done.out) == json::parse(example("answer.json")));
  json asked = json::parse(example("request.json"));
  asked["explain"] = true;
  const json explained = json::parse(rankd_in(project.path(), {"rank"}, asked.dump()).out).at("explain");
  for (const json& node : explained.at("nodes"))
    CHECK(node.value("looked_at", 0) == (node.at("node") == "near" ? 8 : 0));
}

TEST_CASE("the vector of a user finds products, and a user without a vector finds none") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  const auto find = [&project](const std::string& user) {
    return rankd_in(project.path(), {"rank"}, R"({"plan":"for_user","request_id":"r","user_id":)" + user + "}");
  };
  CHECK(list_ids(json::parse(find("7").out).at("candidates")) == "107 106");
  const process_end unknown = find("8");
  CHECK(unknown.status == 0);
  CHECK(json::parse(unknown.out).at("candidates").empty());
  project.write("data/users.ndjson", "{\"hash\":\"taste:8\",\"fields\":{\"name\":\"Eve\"}}\n");
  fs::remove_all(project.path() / "store");
  CHECK(json::parse(find("8").out).at("candidates").empty());  // a hash without the field
}

TEST_CASE("the example finds the same with ids that are strings") {
  const string_id_project project;
  CHECK(project.build().out == "wrote 8 vectors of 4 dimensions (832 bytes) to vectors/products.rvec\n");
  const process_end done = rankd_in(project.path(), {"rank"}, with_string_ids(example("request.json")));
  CHECK(done.status == 0);
  json expected = json::parse(example("answer.json"));
  for (json& each : expected.at("candidates")) each["id"] = "item:" + std::to_string(each.at("id").get<int>());
  CHECK(json::parse(done.out).at("candidates") == expected.at("candidates"));
  const json shown = json::parse(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec", "--json"}).out);
  CHECK(shown.at("ids") == "string");
  CHECK(has(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec"}).out, ", ids are strings, "));
  project.write("q.ndjson", "{\"id\":\"q\",\"vector\":[1,0,0,0]}\n");
  CHECK(
      rankd_in(project.path(), {"vectors", "search", "vectors/products.rvec", "--queries", "q.ndjson", "--count", "1"})
          .out == "{\"id\":\"q\",\"nearest\":[[\"item:103\",1]]}\n");
}

TEST_CASE("changed vectors replace those of the file, with ids of either type") {
  const std::string data = R"({"hash":"product:109","fields":{"title":"Oven","embedding":[0.9,0.8,0.1,0]}})"
                           "\n"
                           R"({"set":"changed_products","members":[102,109]})"
                           "\n";
  const std::string request = R"({"plan": "fresh", "request_id": "r", "candidates": [{"id": 101}]})";
  const auto without_102 = [](const std::string& products) {
    return std::regex_replace(products, std::regex(R"(.*Gas cartridge.*\n)"), "");
  };
  const similar_project numbers;
  numbers.write("data/changed.ndjson", data);
  numbers.write("data/products.ndjson", without_102(example("data/products.ndjson")));
  REQUIRE(numbers.build().status == 0);
  CHECK(list_ids(rankd_in(numbers.path(), {"rank"}, request).out) == "109 108 106");
  const string_id_project texts;
  texts.write("data/changed.ndjson",
              std::regex_replace(std::regex_replace(data, std::regex("product:"), "product:item%3A"),
                                 std::regex("\\[102,109\\]"), R"(["item:102","item:109"])"));
  texts.write("data/products.ndjson", std::regex_replace(without_102(example("data/products.ndjson")),
                                                         std::regex("product:"), "product:item%3A"));
  REQUIRE(texts.build().status == 0);
  CHECK(list_ids(rankd_in(texts.path(), {"rank"}, with_string_ids(request)).out) == "item:109 item:108 item:106");
}

TEST_CASE("vectors that a server accepts are found by the next request, before and after they are merged") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  running_server server(project.path(), {"--accept-records"});
  const auto rank = [&] {
    const auto answer = ask(server, "/v1/rank", R"({"plan":"fresh","request_id":"r","candidates":[{"id":101}]})");
    CHECK(answer.status == 200);
    return json::parse(answer.body).at("candidates");
  };
  CHECK(list_ids(rank()) == "108 102 106");
  // One call makes one generation: the new product, the deletion, and the set that names both.
  const std::string changes = R"({"hash":"product:109","fields":{"title":"Oven","embedding":[0.9,0.8,0.1,0]}})"
                              "\n{\"delete\":\"product:102\"}\n"
                              R"({"set":"changed_products","members":[102,109]})"
                              "\n";
  REQUIRE(ask(server, "/v1/records", changes).status == 200);
  const json after = rank();
  CHECK(list_ids(after) == "109 108 106");

  project.write("changes.ndjson", "{\"id\":109,\"vector\":[0.9,0.8,0.1,0]}\n{\"delete\":102}\n");
  const process_end merged = rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", "changes.ndjson"});
  CHECK(merged.out ==
        "merged 1 vector and 1 deletion, wrote 8 vectors of 4 dimensions (704 bytes) to "
        "vectors/products.rvec\n");
  CHECK(rank() == after);  // the server still has the old file, which the rename has not touched
  server.signal(SIGHUP);
  CHECK(eventually([&] { return has(get(server, "/metrics"), "rankd_plan_reloads_total{result=\"done\"} 1\n"); }));
  CHECK(rank() == after);
  REQUIRE(ask(server, "/v1/records", "{\"delete\":\"changed_products\"}\n").status == 200);
  CHECK(rank() == after);
}

TEST_CASE("a merge with wrong lines changes nothing, and one with --out leaves the file") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  const auto show = [&] { return rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec"}).out; };
  const std::string shown = show();
  project.write("wrong.ndjson", "{\"id\":109,\"vector\":[1]}\n{\"delete\":\"102\"}\n");
  const process_end wrong = rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", "wrong.ndjson"});
  CHECK(wrong.status == 1);
  CHECK(has(wrong.err, "[wrong_length]"));
  CHECK(has(wrong.err, "[wrong_type]"));
  std::string all;
  for (int id = 101; id <= 108; ++id) all += "{\"delete\":" + std::to_string(id) + "}\n";
  project.write("all.ndjson", all);
  CHECK(has(rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", "all.ndjson"}).err, "[no_vectors]"));
  project.write("one.ndjson", "{\"delete\":101}\n");
  CHECK(rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", "one.ndjson", "--out", "other.rvec"})
            .status == 0);
  CHECK(show() == shown);
  CHECK(has(rankd_in(project.path(), {"vectors", "show", "other.rvec"}).out, "7 vectors of 4 dimensions"));
}

TEST_CASE("a file with ids of the other type is refused when the plan is loaded") {
  const string_id_project strings;
  strings.write("numbers.ndjson", example("vectors/products.ndjson"));
  REQUIRE(strings.build("numbers.ndjson").status == 0);
  const process_end refused = rankd_in(strings.path(), {"validate"});
  CHECK(has(refused.out, "[wrong_id_type]"));
  CHECK(has(refused.out, "are integers, but the ids of this project are strings"));
  const similar_project numbers;
  numbers.write("texts.ndjson", "{\"id\":\"a\",\"vector\":[1,0,0,0]}\n");
  REQUIRE(numbers.build("texts.ndjson").status == 0);
  CHECK(has(rankd_in(numbers.path(), {"validate"}).out, "are strings, but the ids of this project are integers"));
}

TEST_CASE("another file is another version of the plan, and a damaged one is refused") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  const std::string before = rankd_in(project.path(), {"plans"}).out;
  project.write("other.ndjson", R"({"id":107,"vector":[0.9,0.8,0.1,0]})"
                                "\n");
  REQUIRE(project.build("other.ndjson").status == 0);
  CHECK(rankd_in(project.path(), {"plans"}).out != before);
  const json answer = json::parse(rankd_in(project.path(), {"rank"}, example("request.json")).out);
  CHECK(answer.at("candidates")[0].at("id") == 107);
  project.write("vectors/products.rvec", "RANKDVEC is not a vector file");
  CHECK(has(rankd_in(project.path(), {"validate"}).out, "vectors_foreign"));
}

TEST_CASE("a plan, and what distinguishes it from another one, name the file of vectors with its digest") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  const json file = json::parse(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec", "--json"}).out);
  const auto digest = file.at("digest").get<std::string>();
  CHECK(has(rankd_in(project.path(), {"plans", "similar"}).out, "\nvectors       ep_0002 " + digest + "\n"));
  const json plan = json::parse(rankd_in(project.path(), {"plans", "similar", "--json"}).out);
  REQUIRE(plan.at("vectors").size() == 1);
  CHECK(plan.at("vectors")[0].at("endpoint") == "ep_0002");
  CHECK(plan.at("vectors")[0].at("digest") == digest);
  const std::string other = R"({"schema_version":1,"plan_name":"seen","outputs":["seen"],)"
                            R"("nodes":[{"node_id":"seen","op":"core::candidates","inputs":[]}]})";
  project.write("seen.json", other);
  const process_end shown = rankd_in(project.path(), {"plans", "seen.json", "--json"});
  CHECK_FALSE(json::parse(shown.out).contains("vectors"));
  const process_end end = rankd_in(project.path(), {"diff", "similar", "seen.json", "--json"});
  CHECK(end.status == 1);
  const json found = json::parse(end.out);
  const json& last = found.at("consequences").back();
  CHECK(last.at("what") == "vectors");
  REQUIRE(last.at("before").size() == 1);
  CHECK(last.at("before")[0] == "ep_0002 " + digest);
  CHECK(last.at("after").empty());
}

TEST_CASE("wrong lines and wrong options leave what was there") {
  const similar_project project;
  REQUIRE(project.build().status == 0);
  const process_end shown = rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec", "--json"});
  const json before = json::parse(shown.out);
  CHECK(before.at("vectors") == 8);
  CHECK(before.at("dimensions") == 4);
  project.write("bad.ndjson", "{\"id\":1,\"vector\":[1,2]}\n{\"id\":1,\"vector\":[1]}\n");
  const process_end bad = project.build("bad.ndjson");
  CHECK(bad.status == 1);
  CHECK(has(bad.err, "line 2: "));
  CHECK(has(bad.err, "a vector must have 2 numbers, as in the first vector, got 1 [wrong_length]"));
  const auto build = [&](const std::string& more, const std::string& value) {
    return rankd_in(project.path(),
                    {"vectors", "build", "vectors/products.ndjson", "--out", "vectors/products.rvec", more, value});
  };
  CHECK(has(build("--lists", "9").err, "--lists must be at most the number of vectors, 8; got 9 [too_many_lists]"));
  CHECK(has(build("--dimensions", "3").err, "a vector must have 3 numbers, got 4 [wrong_length]"));
  CHECK(build("--lists", "0").status == 2);
  CHECK(build("--dimensions", "5000").status == 2);
  CHECK(has(rankd_in(project.path(), {"vectors", "build", "vectors/products.ndjson", "--out", "no/where"}).err,
            "[output_unwritable]"));
  const std::string source = "vectors/products.ndjson";
  project.write("more.ndjson", "{\"id\":9,\"vector\":[0,0,0,1]}\n{\"id\":103,\"vector\":[1,2,3,4]}\n");
  const process_end twice = rankd_in(project.path(), {"vectors", "build", source, "more.ndjson", "--out", "v"});
  CHECK(
      has(twice.err, "more.ndjson#/id: line 2: the id 103 already belongs to line 3 of " + source + " [duplicate_id]"));
  const process_end built = rankd_in(project.path(), {"vectors", "build", source, "--out", source});
  CHECK(has(built.err, source + " is one of the files to read"));
  const process_end merged =
      rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", source, "--out", "vectors/../" + source});
  CHECK(has(merged.err, "[out_is_input]"));
  CHECK(rankd::read_text_file(project.path() / source).value() == example(source));
  CHECK(json::parse(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec", "--json"}).out) == before);
  CHECK(has(rankd_in(project.path(), {"vectors", "show", "rankd.toml"}).err, "[vectors_foreign]"));
  CHECK(rankd_in(project.path(), {"vectors"}).status == 2);
}

TEST_CASE("a search prints the nearest of each query, and what it took") {
  const similar_project project;
  REQUIRE(
      rankd_in(project.path(), {"vectors", "build", "vectors/products.ndjson", "--out", "v", "--lists", "2"}).status ==
      0);
  project.write("q.ndjson", "{\"id\":1,\"vector\":[1,0,0,0]}\n");
  const process_end exact =
      rankd_in(project.path(), {"vectors", "search", "v", "--queries", "q.ndjson", "--count", "2"});
  CHECK(exact.status == 0);
  CHECK(exact.out == "{\"id\":1,\"nearest\":[[103,1],[101,0.8999999761581421]]}\n");
  CHECK(has(exact.err, "8 vectors compared per query"));
  const process_end some = rankd_in(
      project.path(), {"vectors", "search", "v", "--queries", "q.ndjson", "--count", "8", "--probe", "2", "--recall"});
  CHECK(has(some.err, "recall 1.0000"));
  CHECK_FALSE(has(some.err, "--probe"));
}

TEST_CASE("a search says that --probe has no effect if the file has no lists, or fewer") {
  const similar_project project;
  project.write("q.ndjson", "{\"id\":1,\"vector\":[1,0,0,0]}\n");
  const auto search = [&](const std::string& file, const std::string& probe) {
    return rankd_in(project.path(), {"vectors", "search", file, "--queries", "q.ndjson", "--probe", probe});
  };
  REQUIRE(project.build().status == 0);
  const std::string file = "vectors/products.rvec";
  const process_end without = search(file, "2");
  CHECK(without.status == 0);
  CHECK(without.err.starts_with("rankd: " + file + " has no lists, so --probe has no effect and all vectors are "));
  REQUIRE(
      rankd_in(project.path(), {"vectors", "build", "vectors/products.ndjson", "--out", "v", "--lists", "2"}).status ==
      0);
  CHECK(search("v", "3").err.starts_with("rankd: v has 2 lists, so --probe has no effect"));
  CHECK_FALSE(has(search("v", "2").err, "--probe"));
  CHECK_FALSE(has(search("v", "1").err, "--probe"));
}

namespace {

/// Returns lines with the vectors of ids from 1.
auto random_lines(int count) -> std::string {
  braid::random_source random(5);
  std::string out;
  for (int id = 1; id <= count; ++id) {
    json vector = json::array();
    for (int at = 0; at < 4; ++at) vector.push_back(static_cast<double>(random.below(1'000)) / 500 - 1);
    out += json{{"id", id}, {"vector", vector}}.dump() + "\n";
  }
  return out;
}

/// The example with a larger file that has a graph, and the plan `wide`, which searches the graph.
class graph_project : public similar_project {
 public:
  graph_project() {
    write("many.ndjson", random_lines(700));
    const std::string nodes = R"([{"node_id":"seen","op":"core::candidates","inputs":[]},)"
                              R"({"node_id":"known","op":"core::hash","inputs":["seen"],)"
                              R"("params":{"endpoint":"ep_0001","key":"product:{id}","keys":[3]}},)"
                              R"({"node_id":"near","op":"core::nearest","inputs":["known"],"params":)"
                              R"({"endpoint":"ep_0002","query":3,"count":9,"out_key":4,"ef_search":20}}])";
    write("plans/wide.json", R"({"schema_version":1,"plan_name":"wide","outputs":["near"],)"
                             R"("capabilities_required":["cap.rfc.0009.vectors.v1"],"nodes":)" +
                                 nodes + "}");
  }

  [[nodiscard]] auto build_graph(const std::string& metric = "cosine") const -> process_end {
    return rankd_in(path(), {"vectors", "build", "many.ndjson", "--out", "vectors/products.rvec", "--index", "hnsw",
                             "--m", "6", "--ef-construction", "50", "--metric", metric});
  }
};

}  // namespace

TEST_CASE("a plan that searches a graph has the same answer from rank, batch, a server and a replay") {
  const graph_project project;
  const process_end built = project.build_graph();
  CHECK(built.status == 0);
  CHECK(
      built.out.starts_with("wrote 700 vectors of 4 dimensions in a graph (hnsw, m 6, ef_construction 50, "
                            "metric cosine) ("));
  const std::string request =
      R"({"plan":"wide","request_id":"r","candidates":[{"id":101},{"id":105}],"output_keys":["likeness"]})";
  json asked = json::parse(request);
  asked["explain"] = true;
  const json explained = json::parse(rankd_in(project.path(), {"rank"}, asked.dump()).out).at("explain");
  for (const json& node : explained.at("nodes"))
    if (node.at("node") == "near") CHECK((node.at("looked_at") > 18 && node.at("looked_at") < 700));

  const json answer = json::parse(rankd_in(project.path(), {"rank"}, request).out).at("candidates");
  CHECK(answer.size() == 18);
  CHECK(json::parse(rankd_in(project.path(), {"batch"}, request + "\n").out).at("candidates") == answer);
  const fs::path file = project.path() / "t.rec";
  {
    running_server server(project.path(), {"--record", file.string(), "--loops", "1"});
    CHECK(json::parse(ask(server, "/v1/rank", request).body).at("candidates") == answer);
    server.signal(SIGTERM);
    CHECK(server.wait() == 0);
  }
  CHECK(
      has(rankd_in("/", {"replay", file.string(), "--vectors", project.path().string()}).out, "1 request: 1 equal\n"));

  // A build of the same vectors in another order makes the same file, and another seed another one.
  const auto digest = [&] {
    return json::parse(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec", "--json"}).out)
        .at("digest");
  };
  const json before = digest();
  std::vector<std::string> lines;
  std::istringstream in(random_lines(700));
  for (std::string line; std::getline(in, line);) lines.insert(lines.begin(), line + "\n");
  std::string turned;
  for (const std::string& line : lines) turned += line;
  project.write("many.ndjson", turned);
  REQUIRE(project.build_graph().status == 0);
  CHECK(digest() == before);
}

TEST_CASE("changed vectors replace those of a file with a graph") {
  const graph_project project;
  REQUIRE(project.build_graph().status == 0);
  const auto write_plan = [&](const std::string& name, std::optional<int> width) {
    json plan = json::parse(rankd::read_text_file(project.path() / "plans/wide.json").value());
    plan["plan_name"] = name;
    json& params = plan.at("nodes").at(2).at("params");
    params["changes"] = "known";
    params.erase("ef_search");
    if (width) params["ef_search"] = *width;
    project.write("plans/" + name + ".json", plan.dump());
  };
  write_plan("changed", 100);
  write_plan("changed_exact", std::nullopt);
  const auto find = [&](const std::string& plan) {
    return json::parse(rankd_in(project.path(), {"rank"},
                                R"({"plan":")" + plan +
                                    R"(","request_id":"r","explain":true,)"
                                    R"("candidates":[{"id":101},{"id":105}],"output_keys":["likeness"]})")
                           .out);
  };
  const auto nearest_of = [](const json& answer) { return answer.at("candidates").at(0).at("id"); };
  const json changed = find("changed");
  // The file has other vectors under these ids. The changes are the vectors of the products, which are the queries.
  CHECK(nearest_of(find("wide")) != 101);
  CHECK(nearest_of(changed) == 101);
  CHECK(changed.at("candidates") == find("changed_exact").at("candidates"));
  for (const json& node : changed.at("explain").at("nodes"))
    if (node.at("node") == "near") CHECK((node.at("looked_at") > 18 && node.at("looked_at") < 1400));
}

TEST_CASE("a graph is shown, searched and kept by a merge") {
  const graph_project project;
  REQUIRE(project.build_graph("l2").status == 0);
  const auto show = [&](const std::string& file) {
    return json::parse(rankd_in(project.path(), {"vectors", "show", file, "--json"}).out);
  };
  const json shown = show("vectors/products.rvec");
  CHECK(shown.at("lists") == 0);
  CHECK(shown.at("seed") == 1);
  CHECK(shown.at("graph") == json{{"index", "hnsw"}, {"m", 6}, {"ef_construction", 50}, {"metric", "l2"}});
  CHECK(has(rankd_in(project.path(), {"vectors", "show", "vectors/products.rvec"}).out,
            "in a graph (hnsw, m 6, ef_construction 50, metric l2), seed 1, "));

  project.write("q.ndjson", "{\"id\":1,\"vector\":[0.1,0.2,0.3,0.4]}\n");
  const auto search = [&](const std::string& metric, std::vector<std::string> more) {
    std::vector<std::string> words{"vectors",  "search", "vectors/products.rvec", "--queries", "q.ndjson",
                                   "--metric", metric};
    words.insert(words.end(), more.begin(), more.end());
    return rankd_in(project.path(), words);
  };
  const process_end exact = search("l2", {});
  CHECK(has(exact.err, " 700 vectors compared"));
  const process_end wide = search("l2", {"--ef-search", "50", "--recall"});
  CHECK(wide.out == exact.out);
  CHECK(has(wide.err, "recall 1.0000"));
  CHECK_FALSE(has(wide.err, " 700 vectors compared"));
  const process_end other = search("cosine", {"--ef-search", "50"});
  CHECK(other.status == 1);
  CHECK(has(other.err, "was made for the metric l2, but --metric is cosine"));
  CHECK(has(other.err, "[metric_differs]"));
  CHECK(search("cosine", {}).status == 0);  // an exact search serves every metric

  project.write("changes.ndjson", "{\"delete\":5}\n{\"delete\":1005}\n{\"id\":701,\"vector\":[0.1,0.2,0.3,0.4]}\n");
  const process_end merged = rankd_in(project.path(), {"vectors", "merge", "vectors/products.rvec", "changes.ndjson"});
  CHECK(merged.out.starts_with("merged 1 vector and 2 deletions, wrote 700 vectors of 4 dimensions in a graph ("));
  CHECK(show("vectors/products.rvec").at("graph") == shown.at("graph"));
  CHECK(has(search("l2", {"--ef-search", "50"}).out, "\"nearest\":[[701,0],"));
}

TEST_CASE("a plan that searches a graph of another metric is refused, and wrong options of a graph are refused") {
  const graph_project project;
  REQUIRE(project.build_graph("l2").status == 0);
  const process_end refused = rankd_in(project.path(), {"validate"});
  CHECK(has(refused.out, "[metric_differs]"));
  CHECK(has(refused.out,
            "the graph in the file of `product_vectors` was made for the metric l2, but the endpoint has "
            "the metric cosine"));
  CHECK(has(refused.out, "build the file with --index hnsw --metric cosine"));
  CHECK_FALSE(has(refused.out, "similar: "));  // a plan without `ef_search` searches exactly
  REQUIRE(project.build().status == 0);
  CHECK(rankd_in(project.path(), {"validate"}).status == 0);  // a file without a graph is searched exactly

  const auto build = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"vectors", "build", "many.ndjson", "--out", "other.rvec"};
    words.insert(words.end(), more.begin(), more.end());
    return rankd_in(project.path(), words).status;
  };
  CHECK(build({"--index", "ivf"}) == 2);
  CHECK(build({"--index", "hnsw", "--lists", "3"}) == 2);
  CHECK(build({"--m", "8"}) == 2);
  CHECK(build({"--metric", "l2"}) == 2);
  CHECK(build({"--index", "hnsw", "--m", "1"}) == 2);
  CHECK(build({"--index", "hnsw", "--m", "129"}) == 2);
  CHECK(build({"--index", "hnsw", "--ef-construction", "0"}) == 2);
  CHECK(build({"--index", "hnsw", "--metric", "l1"}) == 2);
  CHECK_FALSE(fs::exists(project.path() / "other.rvec"));
}
