// tests/doctor/top_table_test.cpp: tables of two looks at the metrics of a program.
#include <doctor/top_table.hpp>

#include <doctest/doctest.h>

#include <string>

using braid::doctor::parse_samples;
using braid::doctor::to_table;

TEST_CASE("rates of counters, values of gauges, and what has no table of its own") {
  const auto before = parse_samples(
      "# TYPE braid_worker_jobs counter\n"
      "braid_worker_jobs_total{pool=\"p\",worker=\"0\"} 100\n"
      "braid_redis_replies_total{loop=\"p-loop\"} 5\n"
      "braid_http_requests_total{loop=\"p-loop\"} 7\n");
  const auto now = parse_samples(
      "braid_worker_jobs_total{pool=\"p\",worker=\"0\"} 50100\n"
      "braid_worker_busy{pool=\"p\",worker=\"0\"} 1\n"
      "braid_worker_busy{pool=\"p\",worker=\"1\"} 0\n"
      "braid_loop_timers{loop=\"p-loop\"} 3\n"
      "braid_loop_iterations_total{loop=\"p-loop\"} 9\n"
      "braid_pool_queue_jobs{pool=\"p\",priority=\"high\"} 12345\n"
      "braid_blocking_threads{pool=\"p\"} 2\n"
      "braid_waiting_tasks{for=\"odd \\\"name\\\"\"} 4\n"
      "braid_redis_replies_total{loop=\"p-loop\"} 5\n"
      "braid_http_requests_total{loop=\"p-loop\"} 10\n"
      "no sample\n"
      "# EOF\n");
  CHECK(to_table(before, now, 2) ==
        "worker  busy  jobs/s  queue  inbox  steals/s  parks/s  forks/s\n"
        "p-0        1     25k      -      -         -        -        -\n"
        "p-1        0       -      -      -         -        -        -\n"
        "\n"
        "loop    iterations/s  jobs/s  waits/s  I/O/s  timers/s  timers  tasks  descriptors\n"
        "p-loop           4.5       -        -      -         -       3      -            -\n"
        "\n"
        "shared queue   jobs\n"
        "p high        12.3k\n"
        "\n"
        "blocking pool  threads  most  idle  queue  jobs/s\n"
        "p                    2     -     -      -       -\n"
        "\n"
        "waiting for  tasks\n"
        "odd \"name\"       4\n"
        "\n"
        "other counters        /s\n"
        "braid_http_requests  1.5\n");
}

TEST_CASE("a counter that begins again has grown from zero, and lines that are cut are none") {
  const auto before = parse_samples("braid_loop_jobs_total{loop=\"l\"} 100\n");
  const auto now = parse_samples(
      "braid_loop_jobs_total{loop=\"l\"} 8\n"
      "braid_loop_jobs_total{loop=\"x\n"
      "braid_loop_jobs_total{loop=\"x\"}\n"
      "braid_loop_jobs_total{loop\n"
      "{}\n");
  CHECK(now.size() == 1);
  CHECK(to_table(before, now, 1).find("\nl                -       8 ") != std::string::npos);
  CHECK(to_table({}, {}, 1).empty());
}
