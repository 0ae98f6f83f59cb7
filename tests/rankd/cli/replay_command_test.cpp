// tests/rankd/cli/replay_command_test.cpp: a server records, and the file alone gives the same answers.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/cli/commands/replay_command.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/server/traffic/traffic_file.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::process_end;
using braid::testing::request_text;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

auto rank(const running_server& server, const std::string& text, int status = 200) -> json {
  auto one = server.caller();
  one.say(request_text("POST", "/v1/rank", {}, text));
  const auto answer = one.hear().value();
  CHECK(answer.status == status);
  return json::parse(answer.body);
}

auto metric(const running_server& server, const std::string& name) -> std::string {
  auto one = server.caller();
  one.say(request_text("GET", "/metrics"));
  const std::string body = one.hear().value().body;
  const std::size_t at = body.find("\n" + name + " ");
  return at == std::string::npos ? ""
                                 : body.substr(at + name.size() + 2, body.find('\n', at + 1) - at - name.size() - 2);
}

/// Requests to a server of that example, recorded in a file; the example is gone.
class recorded_example {
 public:
  template <typename Ask>
  recorded_example(const std::string& example, Ask ask, std::vector<std::string> more = {}) {
    const scratch_folder project;
    fs::copy(example, project.path(), fs::copy_options::recursive);
    more.insert(more.begin(), {"--record", file().string(), "--loops", "1"});
    running_server server(project.path(), more);
    ask(server);
    server.signal(SIGTERM);
    CHECK(server.wait() == 0);
  }

  [[nodiscard]] auto file() const -> fs::path { return folder_.path() / "t.rec"; }
  [[nodiscard]] auto folder() const -> const scratch_folder& { return folder_; }
  [[nodiscard]] auto replay(std::vector<std::string> more = {}) const -> process_end {
    more.insert(more.begin(), {"replay", file().string()});
    return rankd_in(folder_.path(), more);
  }

 private:
  scratch_folder folder_;
};

}  // namespace

TEST_CASE("films with pages, models and candidates are ranked again without the project or its key") {
  const scratch_folder text;
  json first;
  const recorded_example films("examples/films", [&](const running_server& server) {
    std::string request = rankd::read_text_file("examples/films/request.json").value();
    static_cast<void>(rank(server, request));
    json page = json::parse(request);
    page["plan"] = "pages";
    page["param_overrides"]["page_size"] = 2;
    first = rank(server, page.dump());
    REQUIRE(first.contains("next_cursor"));
    page["cursor"] = first["next_cursor"];
    static_cast<void>(rank(server, page.dump()));
    page["cursor"] = "forged";
    static_cast<void>(rank(server, page.dump(), 400));
  });
  const process_end done = films.replay();
  CHECK(done.out == "4 requests: 4 equal\n");
  CHECK(done.err.empty());
  CHECK(done.status == 0);
  const json all = json::parse(films.replay({"--json"}).out);
  CHECK(all.at("requests") == 4);
  CHECK(all.at("equal") == 4);
  CHECK(all.at("lost") == 0);
  CHECK(all.at("end") == "whole");
  CHECK(all.at("bytes") == fs::file_size(films.file()));
  CHECK(all.at("found").empty());

  // Another plan that ranks the same: its cursors are of another ranking, and say the same else.
  const std::string plan = rankd::read_text_file("examples/films/plans/pages.json").value();
  const process_end same = films.replay({"--plan", films.folder().write("pages.json", plan + "\n").string()});
  CHECK(same.out == "4 requests: 4 equal\n");
}

TEST_CASE("an experiment puts the same units into the same arms again") {
  const recorded_example project("examples/experiments", [](const running_server& server) {
    json request = json::parse(rankd::read_text_file("examples/experiments/request.json").value());
    for (int user = 1; user < 6; ++user) {
      request["user_id"] = user;
      static_cast<void>(rank(server, request.dump()));
    }
  });
  CHECK(project.replay().out == "5 requests: 5 equal\n");
}

TEST_CASE("another plan is run over recorded requests, and the first difference of each is shown") {
  json answer;
  const recorded_example shop("examples/shop", [&](const running_server& server) {
    for (const char* id : {"one", "two"}) {
      json request = json::parse(rankd::read_text_file("examples/shop/request.json").value());
      request["request_id"] = id;
      answer = rank(server, request.dump());
    }
  });
  const std::string plan = rankd::read_text_file("examples/shop/plans/home.json").value();
  const process_end same = shop.replay({"--plan", shop.folder().write("plans/home.json", plan).parent_path().string()});
  CHECK(same.out == "2 requests: 2 equal\n");

  json other = json::parse(plan);
  json count;
  for (json& node : other["nodes"])
    if (node["op"] == "core::take") count = std::exchange(node["params"]["count"], 1);
  REQUIRE_FALSE(count.is_null());
  const fs::path candidate = shop.folder().write("candidate.json", other.dump());
  const process_end differs = shop.replay({"--plan", candidate.string()});
  CHECK(differs.status == 1);
  CHECK(has(differs.out,
            "2 requests: 0 equal, 2 different\nrequest one (number 0, plan home): different: /candidates/1: "));
  CHECK(has(differs.out, " → nothing\nrequest two (number 1, plan home): different: /candidates/1: "));

  const process_end one = shop.replay({"--plan", candidate.string(), "--request", "two", "--json"});
  const json found = json::parse(one.out).at("found").at(0);
  CHECK(found.at("number") == 1);
  CHECK(found.at("result") == "different");
  CHECK(found.at("pointer") == "/candidates/1");
  CHECK(found.at("answer").at("candidates").size() == 1);
  const process_end shown = shop.replay({"--request", "two"});
  CHECK(json::parse(shown.out.substr(0, shown.out.find('\n'))) == answer);
  CHECK(has(shown.out, "\n1 request: 1 equal\n"));

  rankd::recorded_request strange;
  strange.request_id = "\xff";  // no UTF-8
  std::string frame = rankd::encode_frame(strange);
  rankd::seal_frame(frame);
  const std::string bytes = rankd::read_text_file(shop.file()).value() + frame;
  const process_end listed = rankd_in("/", {"replay", shop.folder().write("strange.rec", bytes).string(), "--json"});
  CHECK(json::parse(listed.out).at("found").at(0).at("request_id") == "\uFFFD");

  const process_end none = shop.replay({"--request", "three"});
  CHECK(none.status == 1);
  CHECK(has(none.err, "[unknown_request]"));
  other["plan_name"] = "nowhere";
  const process_end unused = shop.replay({"--plan", shop.folder().write("nowhere.json", other.dump()).string()});
  CHECK(unused.status == 1);
  CHECK(has(unused.err, "no recorded request runs plan `nowhere`"));
  const process_end wrong =
      shop.replay({"--plan", shop.folder().write("home.json", R"({"plan_name":"home"})").string()});
  CHECK(wrong.status == 1);
  CHECK(has(wrong.err, "home.json"));
}

TEST_CASE("a plan that looks through a file of vectors is left out, and requests to the other plans are run") {
  const scratch_folder project;
  const scratch_folder elsewhere;
  const fs::path file = elsewhere.path() / "t.rec";
  fs::copy("examples/similar", project.path(), fs::copy_options::recursive);
  const words build{"vectors", "build", "vectors/products.ndjson", "--out", "vectors/products.rvec"};
  REQUIRE(rankd_in(project.path(), build).status == 0);
  const auto capabilities = rankd::read_text_file("examples/similar/registry/capabilities.toml").value();
  project.write("registry/capabilities.toml",
                capabilities + "\n[[capability]]\nid = \"cap.rfc.0004.fallback.v1\"\nname = \"fallback\"\n" +
                    "payload_schema = { type = \"null\" }\n");
  const auto add_plan = [&](const std::string& name, const std::string& fallback) {
    const std::string nodes = R"([{"node_id":"seen","op":"core::candidates","inputs":[]},)"
                              R"({"node_id":"known","op":"core::hash","inputs":["seen"],)"
                              R"("params":{"endpoint":"ep_0001","key":"product:{id}","keys":[2]}}])";
    project.write("plans/" + name + ".json", R"({"schema_version":1,"plan_name":")" + name + "\"," + fallback +
                                                 R"("outputs":["known"],"nodes":)" + nodes + "}");
  };
  add_plan("titles", "");
  add_plan("guarded", R"("capabilities_required":["cap.rfc.0004.fallback.v1"],)"
                      R"("fallback_plan":{"plan":"similar","on":["store_*"]},)");
  {
    running_server server(project.path(), {"--record", file.string(), "--loops", "1"});
    for (const char* const name : {"similar", "titles", "guarded"}) {
      const std::string plan = name;
      static_cast<void>(
          rank(server, R"({"candidates":[{"id":101}],"plan":")" + plan + R"(","request_id":"to )" + plan + "\"}"));
    }
    server.signal(SIGTERM);
    CHECK(server.wait() == 0);
  }
  const process_end all = rankd_in("/", {"replay", file.string()});
  CHECK(all.err.empty());
  CHECK(all.status == 1);
  CHECK(has(all.out, "3 requests: 1 equal, 2 missing\n"));
  const std::string why =
      "the recording does not contain the vector files that plan `similar` searches (no_vectors); name the project "
      "that has the files with --vectors DIR\n";
  CHECK(has(all.out, "plan similar): missing: " + why));
  CHECK(has(all.out, "plan guarded): missing: plan `similar`, the fallback plan, cannot be run: " + why));
  const process_end one = rankd_in("/", {"replay", file.string(), "--request", "to titles"});
  CHECK(one.status == 0);
  CHECK(has(one.out, "1 request: 1 equal\n"));

  const std::vector<std::string> with_vectors{"replay", file.string(), "--vectors", project.path().string()};
  const process_end same = rankd_in("/", with_vectors);
  CHECK(same.status == 0);
  CHECK(has(same.out, "3 requests: 3 equal\n"));
  std::vector<std::string> with_plan = with_vectors;
  with_plan.insert(with_plan.end(), {"--plan", (project.path() / "plans/similar.json").string()});
  CHECK(has(rankd_in("/", with_plan).out, "3 requests: 3 equal\n"));

  project.write("other.ndjson", "{\"id\":101,\"vector\":[1,0,0,0]}\n");
  REQUIRE(rankd_in(project.path(), {"vectors", "build", "other.ndjson", "--out", "vectors/products.rvec"}).status == 0);
  const std::string changed =
      "plan `similar` searches other vector files than when it was recorded (vectors_changed)\n";
  for (const std::vector<std::string>& arguments : {with_vectors, with_plan}) {
    const process_end other = rankd_in("/", arguments);
    CHECK(other.status == 1);
    CHECK(has(other.out, "3 requests: 1 equal, 2 missing\n"));
    CHECK(has(other.out, "plan similar): missing: " + changed));
  }
  fs::remove(project.path() / "vectors/products.rvec");
  CHECK(has(rankd_in("/", with_vectors).out, "(vectors_missing)\n"));
}

TEST_CASE("a server that is killed leaves a file that can be replayed, and a file is never written again") {
  const scratch_folder project;
  fs::copy("examples/shop", project.path(), fs::copy_options::recursive);
  const fs::path file = project.path() / "t.rec";
  const std::string request = rankd::read_text_file("examples/shop/request.json").value();
  {
    running_server server(project.path(), {"--record", "t.rec", "--loops", "1"});
    for (int n = 0; n < 3; ++n) static_cast<void>(rank(server, request));
    CHECK(eventually([&] { return metric(server, "rankd_recorded_requests_total") == "3"; }));
    const process_end late =
        rankd_in(project.path(), {"serve", "--listen", server.address().to_string(), "--record", "late.rec"});
    CHECK(late.status == 1);
    CHECK_FALSE(fs::exists(project.path() / "late.rec"));  // so that it can be tried again
    server.signal(SIGKILL);
    static_cast<void>(server.wait());
  }
  CHECK(rankd_in("/", {"replay", file.string()}).out == "3 requests: 3 equal\n");

  std::ofstream(file, std::ios::binary | std::ios::app) << "\1";
  const process_end torn = rankd_in("/", {"replay", file.string()});
  CHECK(torn.status == 0);
  CHECK(torn.out == "3 requests: 3 equal\n");
  CHECK(has(torn.err, "t.rec: ends within a record after byte " + std::to_string(fs::file_size(file) - 1)));

  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(-20, std::ios::end) << "\xff";
  const process_end damaged = rankd_in("/", {"replay", file.string()});
  CHECK(damaged.status == 1);
  CHECK(damaged.out == "2 requests: 2 equal\n");
  CHECK(has(damaged.err, "t.rec: is damaged after byte "));

  fs::copy_file(file, project.path() / "short.rec");
  fs::resize_file(project.path() / "short.rec", 200);  // within the first plan
  const process_end empty = rankd_in(project.path(), {"replay", "short.rec"});
  CHECK(empty.status == 1);
  CHECK(has(empty.err, "no request was compared"));

  const process_end again = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0", "--record", "t.rec"});
  CHECK(again.status == 1);
  CHECK(has(again.err, "[file_exists]"));
  CHECK(rankd_in("/", {"replay", (project.path() / "rankd.toml").string()}).status == 1);
  CHECK(rankd_in(project.path(), {"serve", "--record-share", "0.5"}).status == 2);
}
