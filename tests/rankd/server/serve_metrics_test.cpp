// tests/rankd/server/serve_metrics_test.cpp: what is counted is told, strictly in its form.
#include <rankd/server/serve_metrics.hpp>

#include <tests/rankd/server/figures.hpp>

#include <array>
#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::http_status;
using rankd::testing::read_figures;

TEST_CASE("times are counted in the class whose bound they do not exceed") {
  time_histogram times;
  times.add(100us);
  times.add(100us + 1ns);
  times.add(10s);
  times.add(11s);
  CHECK(times.up_to(0) == 1);
  CHECK(times.up_to(1) == 2);
  CHECK(times.up_to(time_histogram::bounds.size() - 1) == 3);
  CHECK(times.up_to(time_histogram::bounds.size()) == 4);
  CHECK(times.seconds() == doctest::Approx(21.0002));
  time_histogram twice = times;
  twice.add(times);
  CHECK(twice.up_to(time_histogram::bounds.size()) == 8);
}

TEST_CASE("the figures of several loops are added up") {
  serve_metrics one;
  serve_metrics two;
  one.count_answer(endpoint::rank, http_status::ok);
  two.count_answer(endpoint::rank, http_status::ok);
  one.count_time(endpoint::rank, 2ms);
  two.count_answer(endpoint::rank, http_status::service_unavailable);
  one.count_run("p", "ok", 1ms, 10);
  two.count_run("p", "ok", 1ms, 5);
  two.count_run("odd \"name\"\\\n", "late", 1ms, 0);
  one.note_gate({.admitted = 1, .refused = 2, .late = 3, .under_way = 4, .waiting = 5, .limit = 6});
  two.note_gate({.admitted = 10, .refused = 20, .late = 30, .under_way = 40, .waiting = 50, .limit = 60});
  exposition out;
  serve_metrics::write(out, std::array{&one, &two});
  write_process_figures(out);
  auto figures = read_figures(out.text());
  CHECK(figures[R"(rankd_http_responses_total{endpoint="/v1/rank",status="200"})"] == 2);
  CHECK(figures[R"(rankd_http_responses_total{endpoint="/v1/rank",status="503"})"] == 1);
  CHECK(figures[R"(rankd_requests_total{plan="p",code="ok"})"] == 2);
  CHECK(figures[R"(rankd_requests_total{plan="odd \"name\"\\\n",code="late"})"] == 1);
  CHECK(figures[R"(rankd_candidates_total{plan="p"})"] == 15);
  CHECK(figures[R"(rankd_request_duration_seconds_count{plan="p"})"] == 2);
  CHECK(figures[R"(rankd_http_request_duration_seconds_sum{endpoint="/v1/rank"})"] == 0.002);
  CHECK(figures["rankd_admitted_total"] == 11);
  CHECK(figures["rankd_shed_total"] == 22);
  CHECK(figures["rankd_queue_timeouts_total"] == 33);
  CHECK(figures["rankd_in_flight"] == 44);
  CHECK(figures["rankd_queue_length"] == 55);
  CHECK(figures["rankd_concurrency_limit"] == 66);
  CHECK(figures["process_resident_memory_bytes"] > 100'000);
  CHECK(figures["process_open_fds"] >= 3);
  CHECK(figures["process_cpu_seconds_total"] > 0);
  CHECK(figures["process_start_time_seconds"] > 1.6e9);
}

TEST_CASE("each endpoint has a name") {
  for (int each = 0; each < static_cast<int>(endpoint::other); ++each)
    CHECK(name_of(static_cast<endpoint>(each)).starts_with('/'));
  CHECK(name_of(endpoint::other) == "other");
}
