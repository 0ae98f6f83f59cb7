// tests/rankd/cli/load_plot_test.cpp: loads as pictures.
#include <rankd/cli/output/load_plot.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto count_of(const std::string& text, std::string_view part) -> std::size_t {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

auto sample() -> load_plot {
  return {.title = "a & b",
          .names = {"p50", "p99"},
          .points = {{.clients = 1, .per_second = 1000, .latencies_us = {10, 40}},
                     {.clients = 8, .per_second = 4000, .latencies_us = {20, 900}}}};
}

}  // namespace

TEST_CASE("a plot has a line for the throughput and one for each latency, with a point for each number of clients") {
  const std::string svg = to_svg(sample());
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count_of(svg, "<polyline ") == 3);
  CHECK(count_of(svg, "<circle ") == 6);
  for (const char* words :
       {">a &amp; b<", ">p50<", ">p99<", ">1<", ">8<", ">clients<", ">requests per second<", ">5k<", ">1k<"})
    CHECK(svg.find(words) != std::string::npos);
  CHECK(svg == to_svg(sample()));
}

TEST_CASE("more is higher, and what is largest is at the top of the panel at most") {
  load_plot plot = sample();
  plot.points[1].per_second = 5000;  // just the scale
  const std::string svg = to_svg(plot);
  CHECK(svg.find("points=\"100.0,230.0 620.0,70.0 \"") != std::string::npos);  // 1000 and 5000 of 5000, in 200 pixels
}

TEST_CASE("latencies lie on a logarithmic scale") {
  load_plot plot = sample();
  plot.names = {"p50"};
  plot.points = {{.clients = 1, .per_second = 1, .latencies_us = {1}},
                 {.clients = 2, .per_second = 1, .latencies_us = {10}},
                 {.clients = 3, .per_second = 1, .latencies_us = {100}}};
  CHECK(to_svg(plot).find("points=\"100.0,530.0 360.0,430.0 620.0,330.0 \"") != std::string::npos);
}

TEST_CASE("a single number of clients, nothing answered, and one latency everywhere are drawn, too") {
  load_plot plot = sample();
  plot.points.resize(1);
  plot.points[0].per_second = 0;
  plot.points[0].latencies_us = {10, 10};
  const std::string svg = to_svg(plot);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(count_of(svg, "<polyline ") == 3);
}
