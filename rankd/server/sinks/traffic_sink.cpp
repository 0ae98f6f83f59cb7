// rankd/server/sinks/traffic_sink.cpp: writes ranked requests to a file of recorded traffic.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/server/detail/traffic_ask.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::size_t max_kept_frame = std::size_t{1} << 20U;

constexpr std::array<std::string_view, 4> codes_of_time{"deadline_exceeded", "time_budget_exceeded", "node_timeout",
                                                        "stopped"};

auto is_of_time(std::string_view code) -> bool { return std::ranges::find(codes_of_time, code) != codes_of_time.end(); }

/// Returns true if the answer might be different without time limits.
auto is_timed(const ranking& result) -> bool {
  return (result.error && is_of_time(result.error->code)) ||
         (result.failed_after != nullptr && is_timed(*result.failed_after)) ||
         std::ranges::any_of(result.degraded, [](const degradation& each) { return is_of_time(each.code); });
}

/// Returns the text of an answer without its explanation, because explanations contain times.
auto text_without_times(const ranking& result) -> std::string {
  ranking copy = result;
  copy.explained = nullptr;
  return to_json(copy);
}

class traffic_sink final : public request_sink {
 public:
  explicit traffic_sink(endpoint_context& context) noexcept
      : context_(&context), traffic_(context.serving().traffic), hidden_(&context.serving().redacted) {}

  void prepare(served_request& request, rank_request& asked, std::string_view text, std::string_view head_id) override {
    if (!traffic_->wants_next()) return;
    request.kept = std::make_unique<recorded_ask>();
    recorded_ask& out = *request.kept;
    out.time = asked.time;
    if (!hidden_->is_empty()) redact(out, asked, *request.plan);
    if (!hidden_->hides("request_id")) {
      out.head_id = head_id;
      out.request_id = asked.request_id;
    }
    if (!out.redacted.empty()) return;
    out.text = text;
    out.behind = context_->ranker->stores_of_request();
    out.reads = std::make_shared<read_recorder>(out.behind.list, usual_reads_);
    request.stores = request_stores(read_recorder::list_stores(out.reads));
    request.stores.reads = out.behind.reads;
  }

  void receive(served_request& request) override {
    if (request.kept == nullptr || request.ranked == nullptr) return;
    recorded_ask& kept = *request.kept;
    const ranking& ranked = *request.ranked;
    const std::string code = answer_code(ranked);
    recorded_request out{.time = kept.time,
                         .head_id = kept.head_id,
                         .request_id = kept.request_id,
                         .text = kept.text,
                         .code = code,
                         .is_timed = is_timed(ranked),
                         .redacted = {kept.redacted.begin(), kept.redacted.end()},
                         .reads = {},
                         .answer = {}};
    std::string reads;
    std::string other;
    if (kept.reads != nullptr) {
      reads = kept.reads->take();
      usual_reads_ = std::max(reads.size(), usual_reads_ - usual_reads_ / 16);
      if (kept.reads->is_cut()) return traffic_->lose(traffic_loss::write);
      if (ranked.error || ranked.explained != nullptr) other = text_without_times(ranked);
      if (other.empty() && request.text.ends_with('\n')) request.text.remove_suffix(1);
      out.reads = reads;
      out.answer = other.empty() ? request.text : other;
    }
    write_frame(frame_, out);
    traffic_->add(request.plan, frame_);
    if (frame_.capacity() > max_kept_frame) frame_ = std::string();
  }

  void lose(const served_request& /*request*/) noexcept override { traffic_->lose(traffic_loss::queue); }

 private:
  /// Removes redacted values from a recorded request. A request without such values is recorded unchanged.
  void redact(recorded_ask& out, const rank_request& asked, const bound_plan& plan) const {
    audited_request shown = audited(asked, *plan.declared, *hidden_);
    out.redacted = std::move(shown.redacted);
    // `engine_request_id` and `experiments` are added even if the request does not contain them, because answers
    // contain them.
    if (hidden_->hides("engine_request_id")) out.redacted.emplace_back("engine_request_id");
    const bool is_known = std::ranges::find(out.redacted, "experiments") != out.redacted.end();
    if (hidden_->hides("experiments") && plan.experiments != nullptr && !is_known)
      out.redacted.emplace_back("experiments");
    if (!out.redacted.empty()) out.text = std::move(shown.json);
  }

  endpoint_context* context_;
  traffic_writer* traffic_;
  const redaction* hidden_;
  std::string frame_;            // the last recorded request; its memory is for the next
  std::size_t usual_reads_ = 0;  // the most bytes of recorded reads that a request had lately
};

}  // namespace

void add_traffic_sink(endpoint_context& context, request_sinks& sinks) {
  if (context.serving().traffic != nullptr) sinks.push_back(std::make_unique<traffic_sink>(context));
}

}  // namespace rankd::detail
