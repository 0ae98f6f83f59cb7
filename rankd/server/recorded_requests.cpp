// rankd/server/recorded_requests.cpp: what of a request goes to the traffic that is recorded.
#include <rankd/server/detail/rank_parts.hpp>

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

/// Whether the answer would be another one had something been faster.
auto is_timed(const ranking& result) -> bool {
  return (result.error && is_of_time(result.error->code)) ||
         (result.failed_after != nullptr && is_timed(*result.failed_after)) ||
         std::ranges::any_of(result.degraded, [](const degradation& each) { return is_of_time(each.code); });
}

/// The text of an answer without its explanation, which has times.
auto plain(const ranking& result) -> std::string {
  ranking copy = result;
  copy.explained = nullptr;
  return to_json(copy);
}

}  // namespace

/// Null for a request that is not recorded.
auto shard::recorded(const rank_request& request, const bound_plan& plan, std::string_view text,
                     std::string_view head_id) -> std::unique_ptr<recorded_ask> {
  if (all_->context.traffic == nullptr || !all_->context.traffic->wants_next()) return nullptr;
  auto out = std::make_unique<recorded_ask>();
  out->time = request.time;
  const redaction& hidden = all_->context.redacted;
  if (!hidden.is_empty()) {
    audited_request shown = audited(request, *plan.declared, hidden);
    out->redacted = std::move(shown.redacted);
    // Answers have these, whatever the request says.
    if (hidden.hides("engine_request_id")) out->redacted.emplace_back("engine_request_id");
    const bool is_known = std::ranges::find(out->redacted, "experiments") != out->redacted.end();
    if (hidden.hides("experiments") && plan.experiments != nullptr && !is_known)
      out->redacted.emplace_back("experiments");
    if (!out->redacted.empty()) out->text = std::move(shown.json);
  }
  if (!hidden.hides("request_id")) {
    out->head_id = head_id;
    out->request_id = request.request_id;
  }
  if (!out->redacted.empty()) return out;
  out->text = text;
  out->behind = ranker_->stores_of_request();
  out->reads = std::make_shared<read_recorder>(out->behind.list, usual_reads_);
  return out;
}

void shard::keep(recorded_ask& recorded, const plan_handle& plan, const ranking& result, std::string_view answered) {
  traffic_writer& into = *all_->context.traffic;
  const std::string code = result.error ? result.error->code : "ok";
  recorded_request out{.time = recorded.time,
                       .head_id = recorded.head_id,
                       .request_id = recorded.request_id,
                       .text = recorded.text,
                       .code = code,
                       .is_timed = is_timed(result),
                       .redacted = {recorded.redacted.begin(), recorded.redacted.end()},
                       .reads = {},
                       .answer = {}};
  std::string reads;
  std::string other;
  if (recorded.reads != nullptr) {
    reads = recorded.reads->take();
    usual_reads_ = std::max(reads.size(), usual_reads_ - usual_reads_ / 16);
    if (recorded.reads->is_cut()) return into.lose(traffic_loss::write);
    if (result.error || result.explained != nullptr)
      other = plain(result);
    else if (answered.ends_with('\n'))
      answered.remove_suffix(1);
    out.reads = reads;
    out.answer = other.empty() ? answered : other;
  }
  write_frame(frame_, out);
  into.add(plan, frame_);
  if (frame_.capacity() > max_kept_frame) frame_ = std::string();
}

void shard::write_traffic(exposition& out) const {
  if (all_->context.traffic == nullptr) return;
  const traffic_counts counts = all_->context.traffic->counts();
  out.family("rankd_recorded_requests_total", exposition::kind::counter, "Requests that recorded traffic holds.");
  out.sample({}, static_cast<double>(counts.recorded));
  out.family("rankd_record_bytes", exposition::kind::gauge, "Bytes of the file of recorded traffic.");
  out.sample({}, static_cast<double>(counts.bytes));
  out.family("rankd_record_lost_total", exposition::kind::counter,
             "Requests that were to be recorded and were not, by reason.");
  for (std::size_t at = 0; at < traffic_loss_names.size(); ++at)
    out.sample({{"reason", traffic_loss_names[at]}}, static_cast<double>(counts.lost[at]));
}

}  // namespace rankd::detail
