// tests/rankd/cli/remote_model_example_test.cpp: the project of examples/remote_model, which docs/remote_models.md
// shows: with its server of models, and without.
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/started_process.hpp>

#include <rankd/registry/file.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::process_end;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// A copy of the project whose endpoint is at that port.
class remote_project : public braid::testing::scratch_folder {
 public:
  explicit remote_project(const std::string& port) {
    fs::copy("examples/remote_model", path(), fs::copy_options::recursive);
    std::string text = rankd::read_text_file(path() / "registry/endpoints.dev.toml").value();
    text.replace(text.find("8801"), 4, port);
    write("registry/endpoints.dev.toml", text);
  }
};

auto request() -> std::string { return rankd::read_text_file("examples/remote_model/request.json").value(); }

auto ids_of(const json& answer) -> std::string {
  json ids;
  for (const json& each : answer.at("candidates")) ids.push_back(each.at("id"));
  return ids.dump();
}

}  // namespace

TEST_CASE("a server of models scores the rows, and without it the fallback does") {
  const braid::testing::started_process server({"/usr/bin/env", "python3", "model_server.py", "0"},
                                               fs::absolute("examples/remote_model"));
  REQUIRE(eventually([&] { return server.out().ends_with("\n"); }));
  const std::string out = server.out();
  const std::string port = out.substr(out.rfind(':') + 1, out.find('\n') - out.rfind(':') - 1);
  const remote_project with(port);
  const process_end scored = rankd_in(with.path(), {"rank"}, request());
  CAPTURE(scored.out);
  REQUIRE(scored.status == 0);
  const json answer = json::parse(scored.out);
  CHECK(ids_of(answer) == "[17,42,23]");
  CHECK_FALSE(answer.contains("degraded"));
  const process_end checked = rankd_in(with.path(), {"doctor"});
  CHECK(has(checked.out, "http://127.0.0.1:" + port + ": the model server is ready"));

  const remote_project without("1");
  const process_end fallen = rankd_in(without.path(), {"rank"}, request());
  REQUIRE(fallen.status == 0);
  const json other = json::parse(fallen.out);
  CHECK(ids_of(other) == "[42,17,23]");
  CHECK(other.at("degraded") == json::parse(R"([{"node":"scored","code":"model_unreachable","used":"plain"}])"));
  CHECK(has(rankd_in(without.path(), {"doctor"}).out, "http://127.0.0.1:1"));
}
