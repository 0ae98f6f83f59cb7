// tests/trace/metric_test.cpp: metrics as text, and the counters that parts add.
#include <braid/trace/metric.hpp>

#include <braid/trace/detail/metric_source.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace braid;

namespace {

auto some_metrics() -> std::vector<metric> {
  const std::string help = "Jobs\\steps.";
  constexpr auto counter = metric::type::counter;
  return {{"a_jobs", "", counter, help, {{"pool", "x"}}, 3},
          {"b_seconds", "seconds", metric::type::gauge, "Time.", {}, 0.5},
          {"a_jobs", "", counter, help, {{"pool", "a\"b\\c\nd"}, {"n", "1"}}, 4}};
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
