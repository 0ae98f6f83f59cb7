// rankd/server/otlp_span.cpp: spans as OTLP's JSON.
#include <rankd/server/otlp_span.hpp>

#include <rankd/registry/json_text.hpp>

#include <array>

#include <unistd.h>

namespace rankd {
namespace {

auto host_name() -> std::string {
  std::array<char, 256> room{};
  return ::gethostname(room.data(), room.size() - 1) == 0 ? room.data() : "";
}

void append_name(std::string& out, std::string_view name) {
  if (!out.ends_with('{')) out += ',';
  append_json_string(out, name);
  out += ':';
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_json_string(out, text);
}

/// 64 bits are strings in the JSON of protobuf.
void append_big(std::string& out, std::string_view name, std::int64_t number) {
  append_text(out, name, std::to_string(number));
}

void append_attribute(std::string& out, std::string_view key, const otlp_span::value& value) {
  if (!out.ends_with('[')) out += ',';
  out += '{';
  append_text(out, "key", key);
  append_name(out, "value");
  out += '{';
  if (const auto* const text = std::get_if<std::string>(&value)) {
    append_text(out, "stringValue", *text);
  } else if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    append_big(out, "intValue", *number);
  } else {
    append_name(out, "boolValue");
    out += std::get<bool>(value) ? "true" : "false";
  }
  out += "}}";
}

void append_attributes(std::string& out, const std::vector<std::pair<std::string_view, otlp_span::value>>& all) {
  append_name(out, "attributes");
  out += '[';
  for (const auto& [key, value] : all) append_attribute(out, key, value);
  out += ']';
}

/// The digits of a span as `traceparent` has them.
auto span_digits(braid::trace_context of, std::uint64_t span) -> std::string {
  of.span_id = span;
  return of.traceparent().substr(36, 16);
}

void append_span(std::string& out, const otlp_span& one) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  constexpr int failed = 2;  // STATUS_CODE_ERROR
  const braid::trace_context& context = one.context;
  out += '{';
  append_text(out, "traceId", context.trace_id_text());
  append_text(out, "spanId", span_digits(context, context.span_id));
  if (context.parent_id != 0) append_text(out, "parentSpanId", span_digits(context, context.parent_id));
  if (!context.state.empty()) append_text(out, "traceState", context.state);
  append_text(out, "name", one.name);
  append_name(out, "kind");
  append_json_number(out, static_cast<std::int64_t>(one.what));
  const auto begin = duration_cast<nanoseconds>(one.begin.time_since_epoch());
  append_big(out, "startTimeUnixNano", begin.count());
  append_big(out, "endTimeUnixNano", (begin + duration_cast<nanoseconds>(one.took)).count());
  append_attributes(out, one.attributes);
  append_name(out, "status");
  out += '{';
  if (!one.error.empty()) {
    append_name(out, "code");
    append_json_number(out, std::int64_t{failed});
    append_text(out, "message", one.error);
  }
  out += "}}";
}

}  // namespace

auto otlp_json(std::span<const otlp_span> spans) -> std::string {
  std::string out = R"({"resourceSpans":[{"resource":{)";
  append_attributes(out, {{"service.name", "rankd"},
                          {"service.version", RANKD_VERSION},
                          {"host.name", host_name()},
                          {"process.pid", std::int64_t{::getpid()}}});
  out += R"(},"scopeSpans":[{"scope":{"name":"rankd"},"spans":[)";
  for (const otlp_span& each : spans) {
    if (!out.ends_with('[')) out += ',';
    append_span(out, each);
  }
  return out += "]}]}]}";
}

}  // namespace rankd
