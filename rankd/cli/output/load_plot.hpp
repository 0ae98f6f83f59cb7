// rankd/cli/output/load_plot.hpp: draws the results of a load test: latencies and throughput over the number of
// clients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The results for one number of clients.
struct load_point {
  unsigned clients = 0;
  double per_second = 0;
  std::vector<double> latencies_us;  ///< in the order of `load_plot::names`; each above 0
};

struct load_plot {
  std::string title;
  std::vector<std::string> names;  ///< the names of the latencies, such as p50
  std::vector<load_point> points;  ///< at least one, each with a latency for each name
};

/// Returns an SVG document with two panels. The upper panel shows requests per second from zero, the lower panel shows
/// latencies on a logarithmic scale. The columns for the numbers of clients have equal widths. The document needs no
/// script, and only the viewer's own fonts. The same results always produce the same bytes.
auto to_svg(const load_plot& plot) -> std::string;

}  // namespace rankd
