// tests/trace/metric_test.cpp: metrics as text, and the counters that parts add.
#include <braid/trace/metric.hpp>

#include <braid/trace/detail/metric_source.hpp>
#include <braid/trace/detail/metric_writer.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace braid;
using namespace std::chrono_literals;

namespace {

auto some_metrics() -> std::vector<metric> {
  const std::string help = "Jobs\\steps.";
  constexpr auto counter = metric::type::counter;
  return {{"a_jobs", "", counter, help, {{"pool", "x"}}, 3},
          {"b_seconds", "seconds", metric::type::gauge, "Time.", {}, 0.5},
          {"a_jobs", "", counter, help, {{"pool", "a\"b\\c\nd"}, {"n", "1"}}, 4}};
}

auto a_histogram() -> std::vector<metric> {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {{.name = "wait_seconds",
           .unit = "seconds",
           .kind = metric::type::histogram,
           .help = "Time.",
           .labels = {{"pool", "x"}},
           .value = 2.5,
           .buckets = {{1e-6, 1}, {1, 3}, {infinity, 4}}}};
}

struct part {
  std::uint64_t count = 0;
  detail::metric_source counted;

  explicit part(const void* at) : counted(at, &part::add, this) {}
  static void add(const void* self, detail::metric_list& to) {
    to.counter("parts_things", "Things.",
               static_cast<double>(detail::read_count(static_cast<const part*>(self)->count)));
  }
};

}  // namespace

TEST_CASE("a family is written once, with its samples together, and what needs it is escaped") {
  CHECK(metrics_text(some_metrics()) ==
        "# HELP a_jobs_total Jobs\\\\steps.\n# TYPE a_jobs_total counter\na_jobs_total{pool=\"x\"} 3\n"
        "a_jobs_total{pool=\"a\\\"b\\\\c\\nd\",n=\"1\"} 4\n"
        "# HELP b_seconds Time.\n# TYPE b_seconds gauge\nb_seconds 0.5\n");
}

TEST_CASE("OpenMetrics names a counter without its suffix, and has units and an end") {
  CHECK(metrics_text(some_metrics(), metric::format::open_metrics) ==
        "# HELP a_jobs Jobs\\\\steps.\n# TYPE a_jobs counter\na_jobs_total{pool=\"x\"} 3\n"
        "a_jobs_total{pool=\"a\\\"b\\\\c\\nd\",n=\"1\"} 4\n"
        "# HELP b_seconds Time.\n# TYPE b_seconds gauge\n# UNIT b_seconds seconds\nb_seconds 0.5\n# EOF\n");
}

TEST_CASE("a histogram is written as its buckets, its sum and its count") {
  CHECK(metrics_text(a_histogram()) ==
        "# HELP wait_seconds Time.\n# TYPE wait_seconds histogram\n"
        "wait_seconds_bucket{pool=\"x\",le=\"1e-06\"} 1\nwait_seconds_bucket{pool=\"x\",le=\"1\"} 3\n"
        "wait_seconds_bucket{pool=\"x\",le=\"+Inf\"} 4\n"
        "wait_seconds_sum{pool=\"x\"} 2.5\nwait_seconds_count{pool=\"x\"} 4\n");
}

TEST_CASE("counts of a histogram are written in full, and a family may have no samples") {
  detail::metric_writer out;
  out.family("a_seconds", metric::type::histogram, "Time.");
  out.histogram({{"x", "y"}}, std::vector<metric::bucket>{{std::numeric_limits<double>::infinity(), 100'000}}, 1e5);
  out.family("b_total", metric::type::counter, "Things.");
  CHECK(out.text() ==
        "# HELP a_seconds Time.\n# TYPE a_seconds histogram\na_seconds_bucket{x=\"y\",le=\"+Inf\"} 100000\n"
        "a_seconds_sum{x=\"y\"} 1e+05\na_seconds_count{x=\"y\"} 100000\n# HELP b_total Things.\n# TYPE b_total "
        "counter\n");
}

TEST_CASE("OpenMetrics has bounds that are seen to be no whole numbers") {
  CHECK(metrics_text(a_histogram(), metric::format::open_metrics) ==
        "# HELP wait_seconds Time.\n# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n"
        "wait_seconds_bucket{pool=\"x\",le=\"1e-06\"} 1\nwait_seconds_bucket{pool=\"x\",le=\"1.0\"} 3\n"
        "wait_seconds_bucket{pool=\"x\",le=\"+Inf\"} 4\n"
        "wait_seconds_sum{pool=\"x\"} 2.5\nwait_seconds_count{pool=\"x\"} 4\n# EOF\n");
}

TEST_CASE("times are counted in the bucket that they are at most as long as, as often as they stand for") {
  detail::time_histogram times;
  times.add(1us);
  times.add(1us + 1ns, 10);
  times.add(-1ms, 100);
  times.add(1h, 1000);
  const auto buckets = times.buckets();
  REQUIRE(buckets.size() == detail::time_histogram::bounds.size() + 1);
  CHECK(buckets[0] == metric::bucket{1e-6, 101});
  CHECK(buckets[1] == metric::bucket{3e-6, 111});
  CHECK(buckets[13] == metric::bucket{10, 111});
  CHECK(buckets[14] == metric::bucket{std::numeric_limits<double>::infinity(), 1111});
  CHECK(times.seconds() == doctest::Approx(3'600'000.0));
}

TEST_CASE("histograms of one family with the same labels are added up") {
  detail::time_histogram times;
  times.add(2us, 3);
  detail::metric_list all;
  all.histogram("parts_seconds", "Time.", times);
  all.histogram("parts_seconds", "Time.", times);
  const auto taken = all.take();
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().unit == "seconds");
  CHECK(taken.front().buckets[0].count == 0);
  CHECK(taken.front().buckets[1].count == 6);
  CHECK(taken.front().buckets.back().count == 6);
  CHECK(taken.front().value == doctest::Approx(12e-6));
}

TEST_CASE("parts on one loop are added up, and those that have gone, or are on another one, do not count") {
  const int here = 0;
  const int there = 0;
  part first(&here);
  part second(&here);
  const part other(&there);
  detail::add_to_count(first.count);
  detail::add_to_count(second.count, std::uint64_t{2});
  const auto of_here = [&] {
    detail::metric_list all;
    all.label({{"loop", "l"}});
    detail::metric_source::add_those_on(&here, all);
    return all.take();
  };
  REQUIRE(of_here().size() == 1);
  CHECK(of_here().front().value == 3);
  CHECK(of_here().front().labels == std::vector<metric::label>{{"loop", "l"}});
  {
    part third(&here);
    detail::add_to_count(third.count);
    CHECK(of_here().front().value == 4);
  }
  detail::take_from_count(second.count);
  CHECK(of_here().front().value == 2);
}
