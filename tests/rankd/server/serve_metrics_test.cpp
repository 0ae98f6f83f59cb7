// tests/rankd/server/serve_metrics_test.cpp: what is counted is told, strictly in its form.
#include <rankd/server/metrics/serve_metrics.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/store_scrubber.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace std::chrono_literals;
using braid::http_status;
using nlohmann::json;
using rankd::testing::read_metrics;
using rankd::testing::serve_world;

TEST_CASE("the metrics of several loops are added up") {
  serve_metrics one;
  serve_metrics two;
  one.count_end(endpoint::rank, http_status::ok, 2ms,
                {.admitted = 1, .refused = 2, .late = 3, .under_way = 4, .waiting = 5, .limit = 6}, 7);
  two.count_answer(endpoint::rank, http_status::ok);
  two.count_answer(endpoint::rank, http_status::service_unavailable);
  one.count_run("p", "ok", 1ms, 10);
  two.count_run("p", "ok", 1ms, 5);
  two.count_run("odd \"name\"\\\n", "late", 1ms, 0);
  one.count_malformed("p", 1, 2);
  two.count_malformed("p", 10, 20);
  two.note_gate({.admitted = 10, .refused = 20, .late = 30, .under_way = 40, .waiting = 50, .limit = 60}, 70);
  two.count_end(endpoint::rank, {}, 0ms,
                {.admitted = 10, .refused = 20, .late = 30, .under_way = 40, .waiting = 50, .limit = 60}, 70);
  exposition out;
  serve_metrics::write(out, std::array{&one, &two});
  write_process_metrics(out);
  auto metrics = read_metrics(out.text());
  CHECK(metrics[R"(rankd_http_responses_total{endpoint="/v1/rank",status="200"})"] == 2);
  CHECK(metrics[R"(rankd_http_responses_total{endpoint="/v1/rank",status="503"})"] == 1);
  CHECK(metrics[R"(rankd_requests_total{plan="p",code="ok"})"] == 2);
  CHECK(metrics[R"(rankd_requests_total{plan="odd \"name\"\\\n",code="late"})"] == 1);
  CHECK(metrics[R"(rankd_candidates_total{plan="p"})"] == 15);
  CHECK(metrics[R"(rankd_malformed_ids_total{plan="p"})"] == 11);
  CHECK(metrics[R"(rankd_malformed_values_total{plan="p"})"] == 22);
  CHECK(metrics[R"(rankd_request_duration_seconds_count{plan="p"})"] == 2);
  CHECK(metrics[R"(rankd_http_request_duration_seconds_sum{endpoint="/v1/rank"})"] == 0.002);
  CHECK(metrics["rankd_admitted_total"] == 11);
  CHECK(metrics["rankd_shed_total"] == 22);
  CHECK(metrics["rankd_queue_timeouts_total"] == 33);
  CHECK(metrics["rankd_in_flight"] == 44);
  CHECK(metrics["rankd_queue_length"] == 55);
  CHECK(metrics["rankd_concurrency_limit"] == 66);
  CHECK(metrics["rankd_unread_connections"] == 77);
  CHECK(metrics[R"(rankd_http_request_duration_seconds_count{endpoint="/v1/rank"})"] == 2);
  CHECK(!metrics.contains(R"(rankd_http_responses_total{endpoint="/v1/rank",status="0"})"));
  CHECK(metrics["process_resident_memory_bytes"] > 100'000);
  CHECK(metrics["process_open_fds"] >= 3);
  CHECK(metrics["process_cpu_seconds_total"] > 0);
  CHECK(metrics["process_start_time_seconds"] > 1.6e9);
}

TEST_CASE("each endpoint has a name") {
  for (int each = 0; each < static_cast<int>(endpoint::other); ++each)
    CHECK(name_of(static_cast<endpoint>(each)).starts_with('/'));
  CHECK(name_of(endpoint::other) == "other");
}

namespace {

auto plan_of(std::size_t nodes, const std::string& prefix) -> std::shared_ptr<const bound_plan> {
  std::string text;
  for (std::size_t at = 0; at < nodes; ++at) {
    const std::string id = prefix + std::to_string(at);
    text += (at == 0 ? "" : ",") +
            (at == 0 ? rankd::testing::source(id, 1)
                     : rankd::testing::node(id, "core::take", prefix + std::to_string(at - 1), R"({"count":1})"));
  }
  return rankd::testing::bound_from(rankd::testing::artifact_of(text, "\"" + prefix + std::to_string(nodes - 1) + "\""),
                                    "p");
}

auto runs_of(const std::string& node) -> std::string {
  return R"(rankd_node_runs_total{plan="p",node=")" + node + R"("})";
}

}  // namespace

TEST_CASE("of a plan with very many nodes the first ones have metrics of their own, the others one together") {
  const auto plan = plan_of(300, "n");
  const fixed_plans serving(std::vector<known_plan>{{.name = "p", .bound = plan, .problems = {}}});
  serve_metrics loop;
  const std::vector<node_sample> all(300, {.state = node_state::done, .rows_out = 2, .queue = 1us, .run = 2ms});
  loop.count_nodes(*plan, all, serving);
  exposition out;
  const std::array<serve_metrics*, 1> loops{&loop};
  serve_metrics::write_nodes(out, loops, serving.list());
  auto metrics = read_metrics(out.text());
  CHECK(metrics[runs_of("n0")] == 1);
  CHECK(metrics[runs_of("n255")] == 1);
  CHECK(!metrics.contains(runs_of("n256")));
  CHECK(metrics[runs_of("(others)")] == 44);
  CHECK(metrics[R"x(rankd_node_rows_total{plan="p",node="(others)"})x"] == 88);
  CHECK(metrics[R"(rankd_node_duration_seconds_bucket{plan="p",node="n7",part="run",le="0.001"})"] == 0);
  CHECK(metrics[R"(rankd_node_duration_seconds_bucket{plan="p",node="n7",part="run",le="0.01"})"] == 1);
}

TEST_CASE(
    "a version that does not serve any more adds nothing, and loops that have not seen the new one are added up") {
  const auto before = plan_of(3, "n");
  const auto after = plan_of(2, "n");
  const fixed_plans first(std::vector<known_plan>{{.name = "p", .bound = before, .problems = {}}});
  const fixed_plans second(std::vector<known_plan>{{.name = "p", .bound = after, .problems = {}}});
  const std::vector<node_sample> three(3, {.state = node_state::done, .rows_out = 1, .queue = {}, .run = {}});
  const std::vector<node_sample> two(2, {.state = node_state::failed, .rows_out = 0, .queue = {}, .run = {}});
  serve_metrics quick;
  serve_metrics slow;
  quick.count_nodes(*before, three, first);
  slow.count_nodes(*before, three, first);
  quick.count_nodes(*after, two, second);
  quick.count_nodes(*before, three, second);  // a request that began before
  const std::array<serve_metrics*, 2> loops{&quick, &slow};
  exposition out;
  serve_metrics::write_nodes(out, loops, second.list());
  auto metrics = read_metrics(out.text());
  CHECK(metrics[runs_of("n1")] == 3);
  CHECK(metrics[R"(rankd_node_errors_total{plan="p",node="n1"})"] == 1);
  CHECK(!metrics.contains(runs_of("n2")));
  // Gone and back: what was counted before is forgotten.
  exposition none;
  serve_metrics::write_nodes(none, loops, {});
  exposition again;
  serve_metrics::write_nodes(again, loops, second.list());
  CHECK(!read_metrics(again.text()).contains(runs_of("n1")));
}

TEST_CASE("the metrics of a server have those of its runtimes, one family each, for each loop") {
  serve_options several;
  several.loops = 2;
  several.stall_limit = std::chrono::hours(1);
  serve_world world(several);
  CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);
  const std::string text = world.ask("GET", "/metrics").body;
  auto metrics = read_metrics(text);
  std::set<std::string> families;
  for (std::size_t at = text.find("# TYPE braid_"); at != std::string::npos; at = text.find("# TYPE braid_", at + 1))
    families.insert(text.substr(at, text.find(' ', at + 7) - at));
  CHECK(families.size() >= 30);
  CHECK(metrics[R"(braid_http_requests_total{loop="serve0-loop"})"] +
            metrics[R"(braid_http_requests_total{loop="serve1-loop"})"] >=
        1);
  CHECK(metrics[R"(braid_loop_running{loop="serve1-loop"})"] == 1);
  CHECK(metrics.contains(R"(braid_worker_jobs_total{pool="serve0",worker="0"})"));
  CHECK(metrics[R"(braid_stalls_total{pool="serve0"})"] == 0);
  CHECK(metrics.contains("braid_job_memory_idle_bytes"));
}

TEST_CASE("each metric of the alert rules and of the dashboard is one that the server has") {
  const store_scrubber scrubber({}, {});
  serve_world world({}, nullptr, {}, rankd::testing::reference_project::get().stores, &scrubber);
  const std::string have = world.ask("GET", "/metrics").body;
  const auto is_known = [&](std::string name) {
    const auto is_family = [&](const std::string& one) {
      return have.find("# TYPE " + one + " ") != std::string::npos;
    };
    if (is_family(name)) return true;
    if (!name.ends_with("_bucket")) return false;
    name.resize(name.size() - std::string_view("_bucket").size());
    return have.find("# TYPE " + name + " histogram\n") != std::string::npos;
  };
  std::vector<std::string> expressions;
  const json board = json::parse(read_text_file("packaging/rankd_dashboard.json").value());
  for (const json& panel : board.at("panels"))
    for (const json& target : panel.at("targets")) expressions.push_back(target.at("expr"));
  CHECK(expressions.size() > 15);
  expressions.push_back(read_text_file("packaging/rankd_alerts.yml").value());
  std::set<std::string> names;
  const std::regex name(R"(\b(rankd|braid|process)_\w+)");
  for (const std::string& each : expressions)
    for (std::sregex_iterator at(each.begin(), each.end(), name), end; at != end; ++at) names.insert(at->str());
  CHECK(names.size() > 25);
  for (const std::string& each : names) {
    CAPTURE(each);
    CHECK(is_known(each));
  }
}
