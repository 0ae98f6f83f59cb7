// rankd/server/detail/write_histogram.hpp: writes a histogram as samples of a metric family.
#pragma once

#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/metrics/histogram.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace rankd::detail {

template <typename Bounds>
void write_histogram(exposition& out, std::initializer_list<exposition::label> of, const histogram_of<Bounds>& times) {
  const auto& bounds = histogram_of<Bounds>::bounds;
  std::vector<exposition::label> labels(of);
  labels.push_back({"le", {}});
  for (std::size_t at = 0; at <= bounds.size(); ++at) {
    std::array<char, 32> room{};
    std::string bound = "+Inf";
    if (at < bounds.size()) bound.assign(room.data(), std::to_chars(room.data(), room.data() + 32, bounds[at]).ptr);
    labels.back().value = bound;
    out.sample("_bucket", labels, static_cast<double>(times.up_to(at)));
  }
  out.sample("_sum", of, times.seconds());
  out.sample("_count", of, static_cast<double>(times.up_to(bounds.size())));
}

}  // namespace rankd::detail
