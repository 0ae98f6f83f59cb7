// rankd/server/tracing.cpp: the trace that a request belongs to, its spans for a collector, and GET /v1/trace.
#include <rankd/server/detail/shard.hpp>

#include <rankd/registry/names.hpp>

#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::size_t max_node_spans = 256;  // of one request
constexpr int max_trace_seconds = 600;       // what BRAID_TRACE can keep

/// A whole number of seconds; nothing for another text.
auto trace_seconds(std::string_view text) -> std::optional<std::chrono::seconds> {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || number < 1 || number > max_trace_seconds) return std::nullopt;
  return std::chrono::seconds(number);
}

/// By the clock of the request's begin.
auto system_time_of(braid::time_point then, const request_record& record) -> std::chrono::system_clock::time_point {
  return record.time + std::chrono::duration_cast<std::chrono::system_clock::duration>(then - record.begun);
}

}  // namespace

/// A request is part of a trace where its client says so, even if wrongly: then a new one begins; and where spans are
/// exported.
void shard::join_trace(braid::http_exchange& x, request_record& record) const {
  const span_exporter* const spans = all_->context.spans;
  const braid::http_fields& fields = x.request().fields;
  if (spans == nullptr && !fields.find("traceparent")) return;
  record.trace = braid::trace_context::of(fields);
  if (spans != nullptr && record.trace->parent_id == 0) record.trace->is_sampled = spans->samples(*record.trace);
  static_cast<void>(x.set_field("traceresponse", record.trace->traceparent()));
}

/// Strangers set flags as well: they must not fill the queue, nor the collector.
auto shard::exports(const request_record& record) const noexcept -> bool {
  return record.is_known && record.trace && record.trace->is_sampled && all_->context.spans != nullptr;
}

/// Of the nodes that ran: those of the plan, or of the one that has stood in for it.
void shard::add_node_spans(request_record& record, const bound_plan& plan, const ranking& result,
                           braid::time_point ended) const {
  const bool stood_in = result.failed_before != nullptr;
  const bound_plan& ran = stood_in ? *plan.substitute : plan;
  const braid::time_point begun = ended - (result.total - (stood_in ? result.failed_before->total : braid::duration()));
  const auto base = system_time_of(begun, record);
  for (std::size_t at = 0; at < result.nodes.size() && record.spans.size() < max_node_spans; ++at) {
    const node_sample& node = result.nodes[at];
    if (!node.queue || !node.run) continue;
    const bool failed = node.state == node_state::failed || node.state == node_state::timed_out;
    record.spans.push_back(
        {.context = record.trace->child(),
         .name = ran.nodes[at].node_id,
         .what = otlp_span::kind::internal,
         .begin = base + std::chrono::duration_cast<std::chrono::system_clock::duration>(node.ready + *node.queue),
         .took = *node.run,
         .attributes = {{"rankd.op", ran.nodes[at].op_name},
                        {"rankd.rows", static_cast<std::int64_t>(node.rows_out)},
                        {"rankd.queue_us",
                         std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(*node.queue).count()}}},
         .error = failed ? std::string(to_string(node.state)) : std::string()});
  }
}

/// When it has ended. What the audit must not have is not in a span either. Nothing for a part of a batch but its plan:
/// the call has the rest.
void shard::export_spans(request_record& record, std::optional<endpoint> which) const {
  if (!exports(record)) return;
  const redaction& hidden = all_->context.redacted;
  otlp_span own{.context = *record.trace,
                .name = which ? "POST " + std::string(name_of(*which)) : "rank",
                .what = which ? otlp_span::kind::server : otlp_span::kind::internal,
                .begin = record.time,
                .took = record.took};
  const auto add_text = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) own.attributes.emplace_back(key, text);
  };
  if (which) {
    own.attributes.emplace_back("http.request.method", "POST");
    own.attributes.emplace_back("http.route", std::string(name_of(*which)));
    if (record.status != http_status{})
      own.attributes.emplace_back("http.response.status_code", static_cast<std::int64_t>(record.status));
  }
  add_text("rankd.plan", record.plan);
  add_text("rankd.code", record.code);
  if (!hidden.hides("request_id")) add_text("rankd.request_id", record.request_id);
  if (which != endpoint::batch) {
    own.attributes.emplace_back("rankd.candidates", static_cast<std::int64_t>(record.candidates));
    own.attributes.emplace_back("rankd.degraded", record.is_degraded);
  }
  const bool failed = static_cast<int>(record.status) >= 500 || record.status == http_status{};
  if (failed) own.error = record.code;
  record.spans.insert(record.spans.begin(), std::move(own));
  all_->context.spans->add(std::move(record.spans));
}

/// What the flight recorder keeps. It is made by the thread that records, so a thread waits that may; and sent in
/// pieces, as it may be as long as what is kept. So there is one at a time in memory.
auto shard::trace(braid::http_exchange& x) -> braid::task<void> {
  if (!may_ask(x, endpoint::trace)) co_return;
  const std::string_view id = given_request_id(x.request());
  const auto asked = braid::http_url::query_value(x.request().query, "seconds");
  const auto seconds = asked ? trace_seconds(*asked) : std::chrono::seconds(max_trace_seconds);
  if (!seconds)
    co_return reply(x, endpoint::trace,
                    answer_error(http_status::bad_request, "bad_seconds",
                                 "seconds=" + quote_name(*asked) + " is no whole number from 1 to 600", id));
  const auto only = all_->of_traces.try_enter("/v1/trace", 1);
  if (!only) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(x, endpoint::trace,
                    answer_error(http_status::too_many_requests, "trace_busy",
                                 "another call is getting the trace, and there is one at a time; try again later", id));
  }
  auto reading =
      braid::offload(on_->blocking(), [read = all_->options.last_seconds, span = *seconds] { return read(span); });
  const braid::result<std::string> bytes = co_await std::move(reading);
  if (!bytes)
    co_return reply(x, endpoint::trace,
                    answer_error(http_status::conflict, "trace_off",
                                 "nothing of the last seconds is kept; start the server with the variable "
                                 "BRAID_TRACE=FILE,last=8s to turn the flight recorder on",
                                 id));
  metrics_.count_answer(endpoint::trace, http_status::ok);
  static_cast<void>(x.set_field("Content-Disposition", "attachment; filename=\"rankd.pftrace\""));
  x.begin(http_status::ok, "application/octet-stream", bytes->size());
  for (std::string_view left = *bytes; !left.empty();) {
    constexpr std::size_t piece = 256 * 1024;
    const braid::result<void> sent = co_await x.write(left.substr(0, piece));
    if (!sent) co_return;
    left.remove_prefix(std::min(left.size(), piece));
  }
}

}  // namespace rankd::detail
