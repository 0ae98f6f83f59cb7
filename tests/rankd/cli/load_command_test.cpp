// tests/rankd/cli/load_command_test.cpp: loads into the store of a running server, and a folder that is watched.
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/started_process.hpp>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::request_text;
using braid::testing::started_process;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::running_server;

namespace {

namespace fs = std::filesystem;

auto ask(const running_server& server, std::string_view method, std::string_view path, std::string_view body = {},
         std::string_view fields = {}) -> braid::testing::heard_answer {
  auto one = server.caller();
  one.say(request_text(method, path, fields, body));
  return one.hear().value();
}

/// The answer of the reference plan, without the ids that differ for each request.
auto rank(const running_server& server) -> json {
  return json::parse(ask(server, "POST", "/v1/rank", R"({"user_id":1,"plan":"reels_plan_a","request_id":"r"})").body)
      .at("candidates");
}

/// Moves a complete file into a folder.
void put(const project_copy& project, const fs::path& folder, const std::string& name, std::string_view text) {
  fs::rename(project.write(name + ".part", text), folder / name);
}

}  // namespace

TEST_CASE("the next request to each server over a folder sees what a load has written, whatever the load is") {
  const project_copy project;
  running_server first(project.path(), {"--log", "log", "--loops", "2"});
  const running_server second(project.path());
  const std::vector<const running_server*> both{&first, &second};
  const json before = rank(first);
  REQUIRE_FALSE(before.empty());
  const std::string file =
      project.write("none.ndjson", "{\"delete\":\"follow:1\"}\n{\"delete\":\"recommendation:1\"}\n");
  const auto loaded = rankd_in(project.path(), {"load", file});
  CHECK(loaded.status == 0);
  CHECK(has(loaded.out, "loaded 0 records into "));
  CHECK(has(loaded.out, ", deleted "));
  CHECK(has(loaded.out, "; running servers use the new data\n"));
  for (int time = 0; time < 4; ++time)
    for (const running_server* each : both) CHECK(rank(*each) != before);
  CHECK(rankd_in(project.path(), {"load", "--replace"}).status == 0);
  for (const running_server* each : both) CHECK(rank(*each) == before);

  const auto wrong =
      rankd_in(project.path(), {"load", project.write("wrong.ndjson", "{\"delete\":\"user:1\"}\n{\"delete\":7}\n")});
  CHECK(wrong.status == 1);
  CHECK(has(wrong.err, "wrong_type"));
  CHECK(has(wrong.err, "line 2: "));
  CHECK(rank(first) == before);
  first.signal(SIGTERM);
  CHECK(first.wait() == 0);
  const std::string log = read_text_file(project.path() / "log").value();
  CHECK(has(log, R"("event":"store_changed","endpoint":"ep_0001","generation":2,"before":1)"));
  CHECK(has(log, R"("event":"store_changed","endpoint":"ep_0001","generation":3,"before":2)"));
}

TEST_CASE("records that one server accepts are in the answers of all servers over the folder") {
  const project_copy project;
  const running_server writing(project.path(), {"--accept-records"});
  const running_server reading(project.path());
  const json before = rank(reading);
  CHECK(ask(reading, "POST", "/v1/records", "{\"delete\":\"follow:1\"}").status == 404);
  const auto done =
      ask(writing, "POST", "/v1/records", "{\"delete\":\"follow:1\"}\n{\"delete\":\"recommendation:1\"}\n");
  CHECK(done.status == 200);
  CHECK(json::parse(done.body).at("deletions") == 2);
  CHECK(rank(writing) != before);
  CHECK(eventually([&] { return rank(reading) != before; }));
}

TEST_CASE("files that come into a watched folder are loaded in order, and moved aside") {
  const project_copy project;
  const running_server server(project.path());
  const json before = rank(server);
  const fs::path feed = project.path() / "feed";
  fs::create_directory(feed);
  started_process watching({RANKD_BINARY, "load", "--watch", "feed"}, project.path());
  put(project, feed, "1.ndjson", "{\"delete\":\"follow:1\"}\n{\"delete\":\"recommendation:1\"}\n");
  CHECK(eventually([&] { return fs::exists(feed / "done/1.ndjson"); }));
  CHECK(rank(server) != before);
  const json after = rank(server);
  put(project, feed, "2.ndjson", "{\"delete\":\"user:1\"}\nnonsense\n");
  CHECK(eventually([&] { return fs::exists(feed / "failed/2.ndjson.errors"); }));
  CHECK(has(read_text_file(feed / "failed/2.ndjson.errors").value(), "line 2: "));
  CHECK(fs::exists(feed / "failed/2.ndjson"));
  CHECK(rank(server) == after);
  put(project, feed, "3.ndjson", "{\"string\":\"a\",\"value\":\"b\"}\n");
  put(project, feed, "notes.txt", "nobody reads this");
  CHECK(eventually([&] { return fs::exists(feed / "done/3.ndjson"); }));
  CHECK(fs::exists(feed / "notes.txt"));
  watching.signal(SIGTERM);
  CHECK(watching.wait() == 0);
  CHECK(has(watching.out(), "watching feed\n"));
  CHECK(has(watching.out(), "loaded 1 record into "));
}

TEST_CASE("a watched folder is a folder, and stands alone") {
  const project_copy project;
  CHECK(rankd_in(project.path(), {"load", "--watch", "absent"}).status == 2);
  CHECK(rankd_in(project.path(), {"load", "--watch", ".", "data.ndjson"}).status == 2);
  CHECK(rankd_in(project.path(), {"load", "--watch", ".", "--replace"}).status == 2);
}
