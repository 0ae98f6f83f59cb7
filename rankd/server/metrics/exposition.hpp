// rankd/server/metrics/exposition.hpp: metrics as text for Prometheus.
#pragma once

#include <braid/trace/detail/metric_writer.hpp>

#include <string_view>

namespace rankd {

/// The metrics of a server as text. braid writes its own metrics with the same class.
using exposition = braid::detail::metric_writer;

/// The media type of an exposition.
inline constexpr std::string_view exposition_media_type = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace rankd
