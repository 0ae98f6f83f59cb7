// rankd/server/traces/otlp_span.cpp: writes spans as OTLP JSON.
#include <rankd/server/traces/otlp_span.hpp>

#include <rankd/registry/json_members.hpp>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace rankd {
namespace {

auto host_name() -> std::string {
  std::array<char, 256> room{};
  return ::gethostname(room.data(), room.size() - 1) == 0 ? room.data() : "";
}

/// Appends a 64-bit integer as a string, as the JSON encoding of protobuf requires.
void append_big(std::string& out, std::string_view name, std::int64_t number) {
  append_json_member(out, name, std::to_string(number));
}

void append_attribute(std::string& out, std::string_view key, const otlp_span::value& value) {
  out += '{';
  append_json_member(out, "key", key);
  append_json_name(out, "value");
  out += '{';
  if (const auto* const text = std::get_if<std::string>(&value)) {
    append_json_member(out, "stringValue", *text);
  } else if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    append_big(out, "intValue", *number);
  } else {
    append_json_name(out, "boolValue");
    out += std::get<bool>(value) ? "true" : "false";
  }
  out += "}}";
}

void append_attributes(std::string& out, std::span<const std::pair<std::string_view, otlp_span::value>> all) {
  append_json_name(out, "attributes");
  append_json_list(out, all, [](std::string& to, const auto& each) { append_attribute(to, each.first, each.second); });
}

/// Returns the id of a span as hexadecimal digits, as in `traceparent`.
auto span_digits(braid::trace_context context, std::uint64_t span) -> std::string {
  context.span_id = span;
  return context.traceparent().substr(36, 16);
}

void append_span(std::string& out, const otlp_span& one) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  constexpr int failed = 2;  // STATUS_CODE_ERROR
  const braid::trace_context& context = one.context;
  out += '{';
  append_json_member(out, "traceId", context.trace_id_text());
  append_json_member(out, "spanId", span_digits(context, context.span_id));
  if (context.parent_id != 0) append_json_member(out, "parentSpanId", span_digits(context, context.parent_id));
  if (!context.state.empty()) append_json_member(out, "traceState", context.state);
  append_json_member(out, "name", one.name);
  append_json_name(out, "kind");
  append_json_number(out, static_cast<std::int64_t>(one.what));
  const auto begin = duration_cast<nanoseconds>(one.begin.time_since_epoch());
  append_big(out, "startTimeUnixNano", begin.count());
  append_big(out, "endTimeUnixNano", (begin + duration_cast<nanoseconds>(one.took)).count());
  append_attributes(out, one.attributes);
  append_json_name(out, "status");
  out += '{';
  if (!one.error.empty()) {
    append_json_name(out, "code");
    append_json_number(out, std::int64_t{failed});
    append_json_member(out, "message", one.error);
  }
  out += "}}";
}

}  // namespace

auto otlp_json(std::span<const otlp_span> spans) -> std::string {
  std::string out = R"({"resourceSpans":[{"resource":{)";
  const std::array<std::pair<std::string_view, otlp_span::value>, 4> resource{
      {{"service.name", "rankd"},
       {"service.version", RANKD_VERSION},
       {"host.name", host_name()},
       {"process.pid", std::int64_t{::getpid()}}}};
  append_attributes(out, resource);
  out += R"(},"scopeSpans":[{"scope":{"name":"rankd"},"spans":)";
  append_json_list(out, spans, append_span);
  return out += "}]}]}";
}

}  // namespace rankd
