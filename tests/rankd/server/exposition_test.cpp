// tests/rankd/server/exposition_test.cpp: metrics in the form that Prometheus reads.
#include <rankd/server/metrics/exposition.hpp>

#include <limits>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("families and samples are written as the format wants them") {
  exposition out;
  out.family("a_total", exposition::kind::counter, "What it is.");
  out.sample({}, 3);
  out.sample({{"x", "y"}, {"z", "a\"b\\c\nd"}}, 0.5);
  out.family("b", exposition::kind::histogram, "Times.");
  out.sample("_bucket", {{"le", "+Inf"}}, 1e21);
  CHECK(out.text() ==
        "# HELP a_total What it is.\n# TYPE a_total counter\na_total 3\na_total{x=\"y\",z=\"a\\\"b\\\\c\\nd\"} 0.5\n"
        "# HELP b Times.\n# TYPE b histogram\nb_bucket{le=\"+Inf\"} 1e+21\n");
}
