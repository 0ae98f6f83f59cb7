// tests/rankd/server/rolling_reload_test.cpp: registries and plans change together under servers that share a project.
#include <rankd/registry/file.hpp>
#include <rankd/registry/registry_change.hpp>
#include <rankd/server/plan_changes.hpp>
#include <rankd/server/rank_server.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using braid::testing::http_caller;
using braid::testing::request_text;
using nlohmann::json;

namespace {

constexpr std::string_view boosted = R"({"user_id":1,"plan":"a","param_overrides":{"boost":7}})";

auto key(int id, const std::string& name) -> std::string {
  return "[[key]]\nkey_id = " + std::to_string(id) + "\nname = \"" + name +
         "\"\ntype = \"float\"\nnullable = false\ndefault = 0.0\n";
}

auto param(int id, const std::string& name) -> std::string {
  return "[[param]]\nparam_id = " + std::to_string(id) + "\nname = \"" + name +
         "\"\ntype = \"float\"\nnullable = false\ndefault = 0.0\n";
}

/// A project of which version 2 declares a param and a key that come before those of version 1, and so on.
class shared_project {
 public:
  shared_project() {
    std::filesystem::create_directories(folder.path() / "plans");
    std::filesystem::create_directories(folder.path() / "registry");
    write_endpoints(8081);
    write(1);
  }

  void write(int version) {
    std::string keys = "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n" +
                       key(1001, "one") + key(1002, "two");
    std::string params = param(100, "boost");
    for (int later = 2; later <= version; ++later) {
      keys += key(1000 - later, "key_" + std::to_string(later));
      params += param(100 - later, "param_" + std::to_string(later));
    }
    write_keys(keys);
    folder.write("registry/params.toml", params);
    write_plan(version);
  }

  void write_keys(const std::string& text) { folder.write("registry/keys.toml", text); }

  void write_endpoints(int port, const std::string& more = {}) {
    folder.write("registry/endpoints.test.toml",
                 "[[endpoint]]\nendpoint_id = \"ep_0002\"\nname = \"api\"\nkind = \"http\"\n"
                 "resolver = { type = \"static\", host = \"127.0.0.1\", port = " +
                     std::to_string(port) + " }\n" + more);
  }

  [[nodiscard]] auto registries_now() const -> braid::checked<registries> {
    return registries::load(folder.path() / "registry", "test");
  }

  braid::testing::scratch_folder folder;

 private:
  /// It writes 100 times its version and the value of `boost` into two columns, and later ones into another one first.
  void write_plan(int version) {
    const registries declared = value_of(registries_now());
    json digests = json::object();
    for (const registry_digest& each : declared.digests())
      for (const entry_digest& entry : each.entries)
        if (entry.name == "id" || entry.name == "one" || entry.name == "two" || entry.name == "boost")
          digests[each.name][entry.id] = entry.sha256;
    const std::string value = R"({"op":"add","a":{"op":"const_number","value":)" + std::to_string(100 * version) +
                              R"(},"b":{"op":"param_ref","param_id":100}})";
    const std::string first = version == 1 ? "1001" : std::to_string(1000 - version);
    folder.write("plans/a.json", R"({"schema_version":1,"plan_name":"a","registry_digests":)" + digests.dump() +
                                     R"(,"expr_table":{"v":)" + value + R"(},"outputs":["two"],"nodes":[)" +
                                     source("s", 2) + "," +
                                     node("zero", "core::vm", "s", R"({"out_key":)" + first + R"(,"expr_id":"v"})") +
                                     "," + node("one", "core::vm", "zero", R"({"out_key":1001,"expr_id":"v"})") + "," +
                                     node("two", "core::vm", "one", R"({"out_key":1002,"expr_id":"v"})") + "]}");
  }
};

/// A server of that project, with a state of its own.
class replica {
 public:
  explicit replica(const shared_project& of) : of_(&of), first_(value_of(of.registries_now())), library_(first_) {
    changes.registries_by([this](std::shared_ptr<const registries> now) -> braid::checked<registry_change> {
      auto read = of_->registries_now();
      if (!read) return std::unexpected(std::move(read.error()));
      return change_registries(std::move(now), std::move(*read));
    });
    value_of(changes.reload());
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.default_deadline = std::chrono::minutes(1);
    options.clients_change_plans = true;
    server_ = value_of(rank_server::start(
        {.declared = &first_, .stores = {nullptr}, .plans = &plans_, .changes = &changes}, std::move(options)));
  }

  auto library() -> plan_library& { return library_; }

  [[nodiscard]] auto caller() const -> http_caller { return http_caller(server_->address()); }

  [[nodiscard]] auto ask(std::string_view path, std::string_view body = {}) const -> heard_answer {
    auto one = caller();
    one.say(request_text("POST", path, {}, body));
    return one.hear().value();
  }

  auto reload() const -> json {
    const heard_answer answer = ask("/v1/reload");
    CHECK_MESSAGE(answer.status == 200, answer.body);
    return json::parse(answer.body);
  }

 private:
  const shared_project* of_;
  registries first_;
  plan_library library_;

 public:
  plan_changes changes{library_, of_->folder.path() / "plans", {}};

 private:
  library_plans plans_{library_};
  std::unique_ptr<rank_server> server_;
};

/// The version whose plan gave the answer, to a request with a boost of 7; 0 where it is of none or of two.
auto version_in(const heard_answer& answer) -> int {
  if (answer.status != 200) return 0;
  int seen = 0;
  const json body = json::parse(answer.body);
  for (const json& row : body.at("candidates"))
    for (const json& value : row.at("fields")) {
      const int number = value.get<int>();
      if (number % 100 != 7 || (seen != 0 && seen != number)) return 0;
      seen = number;
    }
  return seen / 100;
}

auto code_in(const heard_answer& answer) -> std::string {
  const json body = json::parse(answer.body);
  return body.at("error").at("code").get<std::string>();
}

/// What clients saw of the versions that may answer.
struct traffic {
  std::atomic<int> oldest = 1;
  std::atomic<int> newest = 1;
  std::atomic<bool> over = false;
  std::atomic<std::size_t> answers = 0;
};

/// Asks all replicas in turn; gives what was wrong first.
auto ask_all(const std::array<replica, 3>& all, traffic& seen) -> std::string {
  std::vector<http_caller> callers;
  for (const replica& each : all) callers.push_back(each.caller());
  const std::string request = request_text("POST", "/v1/rank", {}, boosted);
  while (!seen.over)
    for (http_caller& one : callers) {
      const int oldest = seen.oldest;
      if (!one.say(request)) return "the connection was closed";
      const auto answer = one.hear();
      if (!answer) return "the connection ended";
      const int version = version_in(*answer);
      if (version < oldest || version > seen.newest) return answer->body;
      ++seen.answers;
    }
  return {};
}

}  // namespace

TEST_CASE("replicas that share a project take over registries and plans one by one, and no request fails") {
  shared_project project;
  const std::array<replica, 3> all{replica(project), replica(project), replica(project)};
  traffic seen;
  std::array<std::string, 2> wrong;
  std::vector<std::thread> asking;
  for (std::string& mine : wrong) asking.emplace_back([&all, &seen, &mine] { mine = ask_all(all, seen); });

  for (int version = 2; version <= 3; ++version) {
    project.write(version);
    seen.newest = version;
    for (const replica& each : all) {
      const json report = each.reload();
      CHECK(report.at("registries_changed") == true);
      CHECK(report.at("changed") == json::array({"a"}));
      const std::size_t before = seen.answers;
      CHECK(braid::testing::eventually([&] { return seen.answers >= before + 6 || !wrong[0].empty(); }));
    }
    seen.oldest = version;
  }
  seen.over = true;
  for (std::thread& each : asking) each.join();
  for (const std::string& each : wrong) CHECK(each == "");
}

TEST_CASE("requests are read by the registries of the version that runs for them, pinned ones too") {
  shared_project project;
  const replica one(project);
  constexpr std::string_view with_new = R"({"user_id":1,"plan":"a","param_overrides":{"boost":7,"param_2":1}})";
  CHECK(code_in(one.ask("/v1/rank", with_new)) == "unknown_param");
  project.write(2);
  one.reload();
  CHECK(version_in(one.ask("/v1/rank", with_new)) == 2);
  CHECK(one.ask("/v1/plans/a/versions/1/pin").status == 200);
  CHECK(version_in(one.ask("/v1/rank", boosted)) == 1);
  CHECK(code_in(one.ask("/v1/rank", with_new)) == "unknown_param");
  CHECK(one.ask("/v1/plans/a/unpin").status == 200);
  CHECK(version_in(one.ask("/v1/rank", with_new)) == 2);
}

TEST_CASE("texts of artifacts are bound by the registries of the last reload, whoever asked for it") {
  shared_project project;
  replica one(project);
  int forgotten = 0;
  one.changes.after_registries([&] { ++forgotten; });
  project.write(2);
  const std::string text = value_of(read_text_file(project.folder.path() / "plans/a.json"));
  CHECK_FALSE(one.library().try_artifact(text, "a").has_value());
  value_of(one.changes.reload());
  CHECK(forgotten == 1);
  CHECK(value_of(one.library().try_artifact(text, "a")).declared == one.library().current()->declared());
  value_of(one.changes.reload());
  CHECK(forgotten == 1);
  project.write(3);
  one.reload();
  CHECK(forgotten == 2);
}

TEST_CASE("registries that are wrong, or do not fit the plans, change nothing") {
  shared_project project;
  const replica one(project);
  project.write(2);
  project.write_keys("[[key]]\n");
  CHECK(one.ask("/v1/reload").status == 422);
  CHECK(version_in(one.ask("/v1/rank", boosted)) == 1);

  project.write_keys("[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n" +
                     key(1001, "first") + key(1002, "two") + key(998, "key_2"));
  const heard_answer refused = one.ask("/v1/reload");
  CHECK(refused.status == 422);
  CHECK(refused.body.find("/registry_digests/keys/1001") != std::string::npos);
  CHECK(version_in(one.ask("/v1/rank", boosted)) == 1);

  project.write(2);
  one.reload();
  CHECK(version_in(one.ask("/v1/rank", boosted)) == 2);
}

TEST_CASE("a doc makes no new version, and the answer says what takes a restart") {
  shared_project project;
  const replica one(project);
  project.folder.write("registry/params.toml", param(100, "boost") + "doc = \"How much.\"\n");
  json report = one.reload();
  CHECK_FALSE(report.contains("registries_changed"));
  CHECK(report.at("unchanged") == json::array({"a"}));
  CHECK_FALSE(report.contains("until_restart"));

  project.write_endpoints(8082);
  report = one.reload();
  CHECK(report.at("until_restart") ==
        json::array({"endpoint `ep_0002` keeps its place until the server is restarted"}));
  CHECK_FALSE(report.contains("registries_changed"));

  project.write_endpoints(8081,
                          "[[endpoint]]\nendpoint_id = \"ep_0003\"\nname = \"more\"\nkind = \"http\"\n"
                          "resolver = { type = \"static\", host = \"127.0.0.1\", port = 1 }\n");
  const heard_answer refused = one.ask("/v1/reload");
  CHECK(refused.status == 422);
  CHECK(code_in(refused) == "needs_restart");
}
