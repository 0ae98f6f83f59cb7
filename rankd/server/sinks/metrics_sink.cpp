// rankd/server/sinks/metrics_sink.cpp: counts requests that have ended.
#include <rankd/server/detail/served_request.hpp>

namespace rankd::detail {
namespace {

/// Counts the nodes of the plan. If the fallback plan ran, also counts the nodes of the fallback plan, even if the
/// fallback plan has failed.
void count_nodes(serve_metrics& metrics, const plan_source& serving, const bound_plan& plan, const ranking& ranked) {
  const ranking& own = ranked.failed_before == nullptr ? ranked : *ranked.failed_before;
  metrics.count_nodes(plan, own.nodes, serving);
  if (ranked.failed_before != nullptr) metrics.count_nodes(*plan.substitute, ranked.nodes, serving);
  if (ranked.failed_after != nullptr) metrics.count_nodes(*plan.substitute, ranked.failed_after->nodes, serving);
}

class metrics_sink final : public request_sink {
 public:
  explicit metrics_sink(endpoint_context& context) noexcept : context_(&context) {}

  /// Counts the answer first, because counting it needs no memory. A batch call is counted once for all of its
  /// requests.
  void receive(served_request& request) override {
    if (request.which)
      context_->metrics.count_end(*request.which, request.record.status, request.record.took, context_->gate.counts(),
                                  context_->unread());
    if (request.ranked != nullptr) count_run(request, *request.ranked);
  }

 private:
  void count_run(const served_request& request, const ranking& ranked) {
    serve_metrics& metrics = context_->metrics;
    const std::string& plan = request.record.plan;
    metrics.count_run(plan, answer_code(ranked), request.ran_until - request.record.begun, answer_size(ranked));
    if (ranked.malformed_ids + ranked.malformed_values != 0)
      metrics.count_malformed(plan, ranked.malformed_ids, ranked.malformed_values);
    if (!ranked.arms.empty()) metrics.count_arms(*ranked.experiments, ranked.arms);
    count_nodes(metrics, *context_->serving().plans, *request.plan, ranked);
    if (!ranked.error && !ranked.degraded.empty()) metrics.count_degraded(ranked.plan, ranked.degraded);
  }

  endpoint_context* context_;
};

}  // namespace

void add_metrics_sink(endpoint_context& context, request_sinks& sinks) {
  sinks.push_back(std::make_unique<metrics_sink>(context));
}

}  // namespace rankd::detail
