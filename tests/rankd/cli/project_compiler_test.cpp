// tests/rankd/cli/project_compiler_test.cpp: rankd studio: its clients, what it offers, and the compiler that it finds.
#include <rankd/cli/serve/project_compiler.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/started_process.hpp>

#include <csignal>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::request_text;
using nlohmann::json;

namespace fs = std::filesystem;

TEST_CASE("a studio answers nobody without the token that it prints, and leaves a wrong plan out") {
  const project_copy project;
  project.write("plans/compiled/broken.json", "{}");
  fs::remove(project.path() / "plans/compiled/index.json");
  project.write("day.rec", "no record");
  braid::testing::started_process studio(
      {RANKD_BINARY, "studio", ".", "--listen", "127.0.0.1:0", "--dslc", "/nowhere/dslc"}, project.path());
  constexpr std::string_view mark = "/ui#token=";
  const auto ready = [&] { return studio.has_ended() || studio.out().find(mark) != std::string::npos; };
  REQUIRE(braid::testing::eventually(ready));
  const std::string said = studio.out();
  REQUIRE_MESSAGE(said.find(mark) != std::string::npos, said << studio.err());
  const std::string url = "open http://";
  const std::size_t begin = said.find(url) + url.size();
  const auto address = braid::socket_address::parse(said.substr(begin, said.find(mark) - begin)).value();
  const std::size_t token = said.find(mark) + mark.size();
  const std::string field = "Authorization: Bearer " + said.substr(token, said.find('\n', token) - token) + "\r\n";
  const auto ask = [&](std::string_view path, std::string_view fields) {
    braid::testing::http_caller one(address);
    one.say(request_text("GET", path, fields));
    return one.hear().value();
  };
  CHECK(ask("/ui", {}).status == 200);
  CHECK(ask("/v1/plans", {}).status == 401);
  const json plans = json::parse(ask("/v1/plans", field).body);
  CHECK(plans.at("offers") == json::array({"traffic", "drafts"}));
  CHECK(plans.dump().find(R"("plan":"broken","runnable":false)") != std::string::npos);
  CHECK(json::parse(ask("/v1/traffic", field).body).at("records").at(0).at("record") == "day.rec");
  CHECK(ask("/v1/plans/reels_plan_a/source", field).status == 502);  // there is no such compiler
  studio.signal(SIGTERM);
  CHECK(studio.wait() == 0);
}

TEST_CASE("a studio listens on this machine alone") {
  const project_copy project;
  for (const std::string at : {"0.0.0.0:0", "[::]:0", "10.1.2.3:0"}) {
    braid::testing::started_process studio({RANKD_BINARY, "studio", ".", "--listen", at}, project.path());
    CHECK(studio.wait() == 2);
    CHECK(studio.err().find("studio listens on this machine alone") != std::string::npos);
  }
}

TEST_CASE("the compiler is that of the project's packages, or else the first in the path") {
  const braid::testing::scratch_folder folder;
  const fs::path project = folder.path() / "a/project";
  fs::create_directories(project);
  const auto program = [&](const std::string& name) {
    const fs::path file = folder.write(name, "");
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  };
  const std::string folders = "/nowhere::" + (folder.path() / "x").string() + ":" + (folder.path() / "y").string();
  CHECK(rankd::find_compiler(project, folders).empty());
  CHECK(rankd::find_compiler(project, "").empty());
  folder.write("x/dslc", "no program");
  const std::string in_path = program("y/dslc");
  CHECK(rankd::find_compiler(project, folders) == in_path);
  const std::string above = program("node_modules/.bin/dslc");
  CHECK(rankd::find_compiler(project, folders) == above);
  fs::permissions(folder.path(), fs::perms::all);
  CHECK(rankd::find_compiler(project, folders) == in_path);  // anyone may have put it above
  const std::string own = program("a/project/node_modules/.bin/dslc");
  CHECK(rankd::find_compiler(project, folders) == own);
}
