// rankd/server/sinks/span_sink.cpp: adds requests to traces, and exports their spans to a collector.
#include <rankd/server/detail/spans.hpp>

#include <rankd/server/detail/served_request.hpp>
#include <rankd/server/traces/otlp_span.hpp>
#include <rankd/server/traces/span_exporter.hpp>

#include <braid/trace/trace.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

constexpr std::size_t max_node_spans = 256;  // of one request

/// Converts a time of the loop's clock to the wall clock, using the wall clock time at which the request began.
auto to_system_time(braid::time_point then, const request_record& record) -> std::chrono::system_clock::time_point {
  return record.time + std::chrono::duration_cast<std::chrono::system_clock::duration>(then - record.begun);
}

/// Returns true for a request whose spans are exported. Requires that the client is known, because unknown clients may
/// set the sampling flag as well, but must not fill the queue or the collector.
auto is_exported(const request_record& record) noexcept -> bool {
  return record.is_known && record.trace && record.trace->is_sampled;
}

/// Adds the spans of the nodes that ran. These nodes belong to the plan, or to its fallback plan.
void add_node_spans(const served_request& request, std::vector<otlp_span>& out) {
  const request_record& record = request.record;
  const ranking& ranked = *request.ranked;
  const bool stood_in = ranked.failed_before != nullptr;
  const bound_plan& ran = stood_in ? *request.plan->substitute : *request.plan;
  const braid::duration before = stood_in ? ranked.failed_before->total : braid::duration();
  const auto base = to_system_time(request.ran_until - (ranked.total - before), record);
  for (std::size_t at = 0; at < ranked.nodes.size() && out.size() <= max_node_spans; ++at) {
    const node_sample& node = ranked.nodes[at];
    if (!node.queue || !node.run) continue;
    const bool failed = node.state == node_state::failed || node.state == node_state::timed_out;
    otlp_span span{
        .context = record.trace->child(),
        .name = ran.nodes[at].node_id,
        .what = otlp_span::kind::internal,
        .begin = base + std::chrono::duration_cast<std::chrono::system_clock::duration>(node.ready + *node.queue),
        .took = *node.run,
        .error = failed ? std::string(to_string(node.state)) : std::string()};
    // Adds the attributes one by one. An initializer list would copy the attributes, and libstdc++ 12 does not destroy
    // a variant properly if copying it throws.
    span.attributes.reserve(3);
    span.attributes.emplace_back("rankd.op", ran.nodes[at].op_name);
    span.attributes.emplace_back("rankd.rows", static_cast<std::int64_t>(node.rows_out));
    span.attributes.emplace_back(
        "rankd.queue_us", std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(*node.queue).count()});
    out.push_back(std::move(span));
  }
}

/// Returns the span of the request itself. The span does not contain values that are hidden in the audit. The span of a
/// request in a batch contains only the plan and the result; everything else is in the span of the call.
auto request_span(const served_request& request, const redaction& hidden) -> otlp_span {
  const request_record& record = request.record;
  const std::optional<endpoint> which = request.which;
  otlp_span out{.context = *record.trace,
                .name = which ? "POST " + std::string(name_of(*which)) : "rank",
                .what = which ? otlp_span::kind::server : otlp_span::kind::internal,
                .begin = record.time,
                .took = record.took};
  const auto add_text = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) out.attributes.emplace_back(key, text);
  };
  if (which) {
    out.attributes.emplace_back("http.request.method", "POST");
    out.attributes.emplace_back("http.route", std::string(name_of(*which)));
    if (record.status != braid::http_status{})
      out.attributes.emplace_back("http.response.status_code", static_cast<std::int64_t>(record.status));
  }
  add_text("rankd.plan", record.plan);
  add_text("rankd.code", record.code);
  if (!hidden.hides("request_id")) add_text("rankd.request_id", record.request_id);
  if (which != endpoint::batch && which != endpoint::grpc_batch) {
    out.attributes.emplace_back("rankd.candidates", static_cast<std::int64_t>(record.candidates));
    out.attributes.emplace_back("rankd.degraded", record.is_degraded);
  }
  const bool failed = static_cast<int>(record.status) >= 500 || record.status == braid::http_status{};
  if (failed) out.error = record.code;
  return out;
}

class span_sink final : public request_sink {
 public:
  explicit span_sink(const serve_context& serving) noexcept : serving_(&serving) {}

  void prepare(served_request& request, rank_request& asked, std::string_view /*text*/,
               std::string_view /*head_id*/) override {
    asked.is_timed = is_exported(request.record);
  }

  void receive(served_request& request) override {
    if (request.which == endpoint::events || request.which == endpoint::grpc_events || !is_exported(request.record))
      return;
    std::vector<otlp_span> spans;
    spans.push_back(request_span(request, serving_->redacted));
    if (request.ranked != nullptr) add_node_spans(request, spans);
    serving_->spans->add(std::move(spans));
  }

  void lose(const served_request& /*request*/) noexcept override { serving_->spans->lose(); }

 private:
  const serve_context* serving_;
};

}  // namespace

void join_trace(const endpoint_context& context, braid::http_exchange& x, request_record& record) {
  const span_exporter* const spans = context.serving().spans;
  const braid::http_fields& fields = x.request().fields;
  if (spans == nullptr && !fields.find("traceparent")) return;
  record.trace = braid::trace_context::of(fields);
  if (spans != nullptr && record.trace->parent_id == 0) record.trace->is_sampled = spans->samples(*record.trace);
  static_cast<void>(x.set_field("traceresponse", record.trace->traceparent()));
}

void add_span_sink(endpoint_context& context, request_sinks& sinks) {
  if (context.serving().spans != nullptr) sinks.push_back(std::make_unique<span_sink>(context.serving()));
}

}  // namespace rankd::detail
