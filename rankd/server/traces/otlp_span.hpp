// rankd/server/traces/otlp_span.hpp: the spans of a request, and their encoding as OTLP JSON for OpenTelemetry.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/net/trace_context.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {

/// A span that has ended.
struct otlp_span {
  enum class kind : std::uint8_t { internal = 1, server = 2 };  ///< the numbers are those of OTLP
  using value = std::variant<std::string, std::int64_t, bool>;

  braid::trace_context context;
  std::string name;
  kind what = kind::internal;
  std::chrono::system_clock::time_point begin{};
  braid::duration took{};
  std::vector<std::pair<std::string_view, value>> attributes = {};  ///< names are literals
  std::string error = {};  ///< the reason of a failure; empty if the request did not fail, or not because of the server
};

/// Returns an ExportTraceServiceRequest in the JSON format of OTLP over HTTP. The ids of traces and spans are written
/// as hexadecimal digits, and times as strings with nanoseconds.
/// Source: OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding"; opentelemetry/proto/trace/v1/trace.proto.
[[nodiscard]] auto otlp_json(std::span<const otlp_span> spans) -> std::string;

}  // namespace rankd
