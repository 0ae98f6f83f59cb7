// tests/rankd/cli/serve_command_test.cpp: the server as a program: its words, its files, its signals.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/rankd/engine/library_world.hpp>
#include <tests/rankd/server/collector.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <sched.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::process_end;
using braid::testing::request_text;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::running_server;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view request = R"({"user_id":1,"plan":"reels_plan_a","request_id":"r"})";

auto rank(const running_server& server) -> braid::testing::heard_answer {
  auto one = server.caller();
  one.say(request_text("POST", "/v1/rank", {}, request));
  return one.hear().value();
}

/// Returns the policy by which the system schedules the thread of that name, or -1 if there is none. Gives the thread
/// the usual policy: on a busy CPU, a thread of the policy SCHED_IDLE can wait for minutes.
auto take_policy_of_thread(::pid_t process, const std::string& name) -> int {
  for (const auto& each : fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::string called;
    std::getline(std::ifstream(each.path() / "comm"), called);
    if (called != name) continue;
    const int thread = std::stoi(each.path().filename().string());
    const int policy = ::sched_getscheduler(thread);
    const ::sched_param none{};
    static_cast<void>(::sched_setscheduler(thread, SCHED_OTHER, &none));
    return policy;
  }
  return -1;
}

}  // namespace

TEST_CASE("a served request gets the bytes that the command line gives, a record, a span, and the server ends well") {
  const project_copy project;
  const process_end expected = rankd_in(project.path(), {"rank"}, request);
  const rankd::testing::collector sink;
  running_server server(project.path(), {"--audit", "audit", "--log", "log", "--loops", "2", "--otlp", sink.url()});
  CHECK(rank(server).body == expected.out);
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
  REQUIRE_FALSE(sink.spans().empty());
  CHECK(sink.spans().front().at("name") == "POST /v1/rank");
  CHECK(server.err().empty());
  const json record = json::parse(read_text_file(project.path() / "audit").value());
  CHECK(record.at("request_id") == "r");
  CHECK(record.at("user_id") == 1);
  CHECK(record.at("plan") == "reels_plan_a");
  CHECK(record.at("plan_digest").get<std::string>().size() == 64);
  CHECK(record.at("status") == 200);
  CHECK(record.at("candidates") == json::parse(expected.out).at("candidates").size());
  const std::string log = read_text_file(project.path() / "log").value();
  CHECK(has(log, R"("event":"listening")"));
  CHECK(has(log, R"("event":"stopping")"));
  CHECK(has(log, R"("event":"stopped")"));
}

TEST_CASE("a second signal ends at once what the first one waits for") {
  const project_copy project;
  running_server server(project.path(), {"--grace-ms", "3600000"});
  auto half = server.caller();
  half.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  CHECK(eventually([&] {
    auto one = server.caller();
    one.say(request_text("GET", "/healthz"));
    return one.hear().value().status == 200;
  }));
  server.signal(SIGINT);
  CHECK(eventually([&] { return has(server.err(), R"("event":"stopping")"); }));
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
  CHECK(has(server.err(), R"("event":"stopping_at_once")"));
}

TEST_CASE("while a stop is announced requests are answered, and readiness is refused") {
  const project_copy project;
  running_server server(project.path(), {"--announce-ms", "3600000", "--log-level", "info"});
  server.signal(SIGTERM);
  const auto ready = [&] {
    auto one = server.caller();
    one.say(request_text("GET", "/readyz"));
    return one.hear().value().status;
  };
  CHECK(eventually([&] { return ready() == 503; }));
  CHECK(rank(server).status == 200);
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
}

TEST_CASE("SIGHUP lets go of a file that was renamed") {
  const project_copy project;
  running_server server(project.path(), {"--audit", "audit"});
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return fs::file_size(project.path() / "audit") > 0; }));
  fs::rename(project.path() / "audit", project.path() / "audit.1");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return fs::exists(project.path() / "audit"); }));
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return fs::file_size(project.path() / "audit") > 0; }));
}

TEST_CASE("an audit that SIGHUP cannot reopen is an error in log and metrics, until it can be") {
  const project_copy project;
  const fs::path logs = project.path() / "logs";
  const fs::path old = project.path() / "old";
  fs::create_directory(logs);
  running_server server(project.path(), {"--audit", "logs/audit", "--log", "log"});
  const auto metrics = [&] {
    auto one = server.caller();
    one.say(request_text("GET", "/metrics"));
    return one.hear().value().body;
  };
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return fs::file_size(logs / "audit") > 0; }));
  CHECK(has(metrics(), "rankd_file_not_reopened{file=\"audit\"} 0\n"));
  fs::rename(logs, old);
  project.write("logs", "");  // a file where the folder was, as when a volume is gone
  const auto before = fs::file_size(old / "audit");
  server.signal(SIGHUP);
  const auto is_logged = [&](const std::string& event) {
    return eventually([&] {
      const std::string log = read_text_file(project.path() / "log").value();
      return has(log, "\"event\":\"" + event + "\",\"file\":\"audit\"");
    });
  };
  CHECK(is_logged("file_not_reopened"));
  CHECK(has(metrics(), "rankd_file_not_reopened{file=\"audit\"} 1\n"));
  CHECK_FALSE(has(metrics(), "rankd_file_reopen_failures_total{file=\"audit\"} 0\n"));
  CHECK(has(metrics(), "rankd_file_not_reopened{file=\"log\"} 0\n"));
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return fs::file_size(old / "audit") > before; }));  // no line is lost
  fs::remove(logs);
  fs::create_directory(logs);
  CHECK(is_logged("file_reopened"));
  CHECK(has(metrics(), "rankd_file_not_reopened{file=\"audit\"} 0\n"));
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return fs::exists(logs / "audit") && fs::file_size(logs / "audit") > 0; }));
}

TEST_CASE("SIGHUP loads the plans anew, all of them or none") {
  const project_copy project;
  fs::remove(project.path() / "plans/compiled/index.json");
  const auto put = [&](int value) {
    project.write("plans/compiled/extra.json", rankd::testing::marked_plan("extra", value));
  };
  put(1);
  running_server server(project.path());
  const auto said = [&](std::string_view text) { return eventually([&] { return has(server.err(), text); }); };
  const auto mark = [&] {
    auto one = server.caller();
    one.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"extra"})"));
    return json::parse(one.hear().value().body).at("candidates").at(0).at("fields").at("model_score_1").get<double>();
  };
  CHECK(mark() == 1);
  put(2);
  server.signal(SIGHUP);
  CHECK(said(R"("added":0,"changed":1,"unchanged":2,"removed":0,"pinned_only":0})"));
  CHECK(mark() == 2);
  put(3);
  project.write("plans/compiled/wrong.json", "{}");
  server.signal(SIGHUP);
  CHECK(said(R"("event":"plans_refused")"));
  CHECK(mark() == 2);
  fs::remove(project.path() / "plans/compiled/wrong.json");
  const std::string params = read_text_file(project.path() / "registry/params.toml").value();
  project.write("registry/params.toml",
                params + "\n[[param]]\nparam_id = 4000\nname = \"added\"\ntype = \"int\"\nnullable = true\n");
  server.signal(SIGHUP);
  CHECK(said(R"("event":"registries_loaded")"));
  CHECK(mark() == 3);
}

TEST_CASE("a candidate beside a plan changes with a reload, and a stop while it runs is a stop") {
  const project_copy project;
  fs::remove(project.path() / "plans/compiled/index.json");
  const std::string settings = read_text_file(project.path() / "rankd.toml").value();
  const auto put = [&](int value) {
    project.write("plans/compiled/extra.json", rankd::testing::marked_plan("extra", value));
  };
  put(1);
  project.write("rankd.toml", settings + "[shadow.reels_plan_a]\nplan = \"none\"\n");
  const process_end unknown = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0"});
  CHECK(unknown.status == 1);
  CHECK(has(unknown.err, "unknown_plan"));
  project.write("rankd.toml", settings + "[shadow.reels_plan_a]\nplan = \"extra\"\nshare = 1\n");
  running_server server(project.path());
  const auto seen = [&] {
    auto one = server.caller();
    one.say(request_text("GET", "/v1/shadow/reels_plan_a"));
    return json::parse(one.hear().value().body);
  };
  const std::string answer = rank(server).body;
  CHECK(take_policy_of_thread(server.id(), "shadow-0") == SCHED_IDLE);  // so that requests do not wait for it
  CHECK(eventually([&] { return seen().at("runs") == 1; }));
  const json first = seen().at("candidate_digest");
  put(2);
  server.signal(SIGHUP);
  CHECK(eventually([&] { return has(server.err(), R"("changed":1)"); }));
  CHECK(rank(server).body == answer);
  CHECK(eventually([&] {
    take_policy_of_thread(server.id(), "shadow-0");
    return seen().at("candidate_digest") != first;
  }));
  CHECK(seen().at("runs") == 1);
  CHECK(rank(server).body == answer);
  server.signal(SIGTERM);
  CHECK(server.wait() == 0);
}

TEST_CASE("SIGHUP takes the candidates that the project names by then, if they are right") {
  const project_copy project;
  const std::string settings = read_text_file(project.path() / "rankd.toml").value();
  running_server server(project.path());
  const auto seen = [&] {
    auto one = server.caller();
    one.say(request_text("GET", "/v1/shadow/reels_plan_a"));
    return json::parse(one.hear().value().body);
  };
  const auto told = [&](std::string_view text) { return eventually([&] { return has(server.err(), text); }); };
  CHECK(seen().contains("error"));
  project.write("rankd.toml", settings + "[shadow.reels_plan_a]\nplan = \"concat_plan\"\nshare = 1\n");
  server.signal(SIGHUP);
  CHECK(told(R"("event":"shadows_loaded")"));
  CHECK(take_policy_of_thread(server.id(), "shadow-0") == SCHED_IDLE);
  CHECK(rank(server).status == 200);
  CHECK(eventually([&] { return seen().at("runs") == 1; }));
  project.write("rankd.toml", settings + "[shadow.reels_plan_a]\nplan = \"concat_plan\"\nshare = 2\n");
  server.signal(SIGHUP);
  CHECK(told("`share` must be above 0 and at most 1"));
  CHECK(seen().at("share") == 1);
  CHECK(seen().at("runs") == 1);
}

TEST_CASE("with --keep-going one wrong plan keeps neither the start nor a reload from the others") {
  const project_copy project;
  fs::remove(project.path() / "plans/compiled/index.json");
  project.write("plans/compiled/wrong.json", "{}");
  const process_end strict = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0"});
  CHECK(strict.status == 1);
  CHECK(has(strict.err, "wrong.json"));
  running_server server(project.path(), {"--keep-going"});
  CHECK(rank(server).status == 200);
  CHECK(has(server.err(), R"("event":"plan_left_out","plan":"wrong","code":"missing_field")"));
  project.write("plans/compiled/extra.json", rankd::testing::marked_plan("extra", 1));
  server.signal(SIGHUP);
  CHECK(eventually([&] { return has(server.err(), R"("event":"plans_loaded","added":1,)"); }));
}

TEST_CASE("SIGHUP takes the budgets that the project states by then, if they are right") {
  const project_copy project;
  const std::string before = read_text_file(project.path() / "rankd.toml").value();
  running_server server(project.path());
  const auto plan = [&] {
    auto one = server.caller();
    one.say(request_text("GET", "/v1/plans/reels_plan_a"));
    return json::parse(one.hear().value().body);
  };
  const auto told = [&](std::string_view text) { return eventually([&] { return has(server.err(), text); }); };
  CHECK_FALSE(plan().contains("budget"));
  project.write("rankd.toml", before + "\n[budget.plan.reels_plan_a]\nrows = 5000\n");
  server.signal(SIGHUP);
  CHECK(told(R"("changed":1,)"));
  CHECK(plan().at("budget").at("rows") == 5000);
  project.write("rankd.toml", before + "\n[budget.plan.nobody]\nrows = 5000\n");
  server.signal(SIGHUP);
  CHECK(told("no plan is called `nobody`"));
  CHECK(plan().at("budget").at("rows") == 5000);
}

TEST_CASE("bench sends a server requests at rates, and tells what became of them") {
  const project_copy project;
  const running_server server(project.path());
  const auto bench = [&](const std::string& plan, std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", "--plan", plan, "--http", "http://" + server.address().to_string(),
                               "--duration-ms", "50", "--rate", "100,200", "--connections", "4"});
    return rankd_in(project.path(), more);
  };
  const process_end end = bench("reels_plan_a", {"--json"});
  CHECK(end.status == 0);
  const json said = json::parse(end.out);
  REQUIRE(said.at("rates").size() == 2);
  const json& last = said.at("rates")[1];
  CHECK(last.at("rate") == 200);
  CHECK(last.at("connections") == 4);
  CHECK(last.at("requests").get<int>() >= 9);
  CHECK(last.at("failed") == 0);
  CHECK(last.at("refused_without_retry_after") == 0);
  for (const char* metric : {"good_rps", "good_p50_us", "good_p99_us", "good_max_us", "late_p99_us"})
    CHECK(last.at(metric).get<double>() > 0);
  CHECK(has(bench("reels_plan_a", {}).out, "good a second"));
  CHECK(has(bench("none", {}).err, "[server_refused]"));
  CHECK(rankd_in(project.path(), {"bench", "--plan", "p", "--rate", "5"}).status == 2);
}

TEST_CASE("SIGHUP reads tokens anew, all that is read or nothing") {
  const project_copy project;
  project.write("tokens", "0123456789abcdef\n");
  running_server server(project.path(), {"--token-file", "tokens"});
  const auto status = [&](const std::string& token) {
    auto one = server.caller();
    one.say(request_text("GET", "/v1/plans", "Authorization: Bearer " + token + "\r\n"));
    return one.hear().value().status;
  };
  const std::string before = "0123456789abcdef";
  const std::string after = "fedcba9876543210";
  CHECK(status(before) == 200);
  project.write("tokens", after + "\n");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return status(after) == 200; }));
  CHECK(eventually([&] { return status(before) == 401; }));
  project.write("tokens", "short\n");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return has(server.err(), R"("event":"credentials_refused")"); }));
  CHECK(status(after) == 200);
}

TEST_CASE("a budget of the project holds for every way to ask") {
  const project_copy project;
  const std::string before = read_text_file("rankd.toml").value();
  project.write("rankd.toml", before + "[budget.plan.reels_plan_a]\nrows = 5\n");
  const auto code_of = [](const std::string& text) { return json::parse(text).at("error").at("code"); };
  const process_end one = rankd_in(project.path(), {"rank"}, request);
  CHECK(one.status == 1);
  CHECK(code_of(one.out) == "row_budget_exceeded");
  const process_end many = rankd_in(project.path(), {"batch"}, std::string(request) + "\n");
  CHECK(code_of(many.out) == "row_budget_exceeded");
  CHECK(rankd_in(project.path(), {"rank"}, R"({"user_id":1,"plan":"concat_plan"})").status == 0);
  const running_server server(project.path());
  CHECK(rank(server).status == 422);
  CHECK(code_of(rank(server).body) == "row_budget_exceeded");
}

TEST_CASE("a budget of a plan that is not there is said, with its place") {
  const project_copy project;
  project.write("rankd.toml", read_text_file("rankd.toml").value() + "[budget.plan.reels]\nrows = 5\n");
  const process_end serve = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0"});
  CHECK(serve.status == 1);
  CHECK(has(serve.err, "[unknown_plan]"));
  CHECK(has(serve.err, "/budget/plan/reels"));
  const process_end validate = rankd_in(project.path(), {"validate"});
  CHECK(validate.status == 1);
  CHECK(has(validate.out, "/budget/plan/reels"));
}

TEST_CASE("what keeps a server from starting is said, with status 1") {
  const project_copy project;
  const auto refusal = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "serve");
    const process_end end = rankd_in(project.path(), more);
    CHECK(end.status == 1);
    CHECK(end.out.empty());
    return end.err;
  };
  CHECK(has(refusal({"--token-file", "none"}), "[unreadable_file]"));
  project.write("tokens", "short\n");
  CHECK(has(refusal({"--token-file", "tokens"}), "[bad_token]"));
  CHECK(has(refusal({"--audit", "no folder/x"}), "[unwritable_file]"));
  CHECK(has(refusal({"--tls-cert", "tokens", "--tls-key", "none"}), "none#: there is no such file [unreadable_file]"));
  CHECK(has(refusal({"--tls-cert", "tokens", "--tls-key", "tokens"}), "[bad_certificate]"));
  CHECK(has(refusal({"--ui", "--listen", "0.0.0.0:0"}), "0.0.0.0:0 is not a loopback address [page_needs_tokens]"));
  const running_server other(project.path());
  CHECK(has(refusal({"--listen", other.address().to_string()}), "cannot_listen"));
  {
    std::fstream store(project.store() / "data-1.mdb", std::ios::binary | std::ios::in | std::ios::out);
    store.seekp(1).put('x').flush();
  }
  CHECK(has(refusal({}), "data-1.mdb: block 0 (bytes 0 to "));
  CHECK(has(refusal({}), "[store_corrupt]"));
  fs::remove_all(project.path() / "plans/compiled");
  fs::create_directory(project.path() / "plans/compiled");
  CHECK(has(refusal({}), "[no_artifacts]"));
  CHECK(rankd_in(project.path(), {"serve", "--tls-key", "key"}).status == 2);
  CHECK(rankd_in(project.path(), {"serve", "--otlp", "localhost:4317"}).status == 2);
  CHECK(rankd_in(project.path(), {"serve", "--otlp-share", "0.1"}).status == 2);
  for (const char* wrong : {"localhost", "127.0.0.1", "unix:/x", "1.2.3.4:99999", ""})
    CHECK(rankd_in(project.path(), {"serve", "--listen", wrong}).status == 2);
}
