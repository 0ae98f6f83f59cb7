// rankd/server/sinks/log_sink.cpp: logs requests, and starts a trace after a slow request.
#include <rankd/server/detail/served_request.hpp>

#include <braid/trace/trace.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

constexpr auto time_between_summaries = std::chrono::seconds(1);

/// Returns a printable form of an id: a question mark replaces each character that is not printable, and a long id is
/// truncated.
auto printable_id(std::string_view id) -> std::string {
  constexpr std::size_t longest = 80;
  std::string out(id.substr(0, longest));
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

/// Requests a trace file that covers the seconds before a slow request ended.
void save_trace(const request_record& record) {
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(record.took).count();
  braid::trace::save("request " + printable_id(record.request_id) + " of plan " + record.plan + " took " +
                     std::to_string(took) + " ms");
}

class log_sink final : public request_sink {
 public:
  explicit log_sink(endpoint_context& context) noexcept : context_(&context) {}

  void receive(served_request& request) override {
    if (!is_reported(request)) return;
    const request_record& record = request.record;
    if (record.is_shed) ++unreported_refusals_;
    report_refusals(record.begun + record.took);
    note(record);
    const braid::duration slow = context_->options().trace_slow;
    if (slow > braid::duration::zero() && record.took >= slow) save_trace(record);
  }

  void stop() override {
    next_summary_ = braid::time_point::min();
    report_refusals(context_->loop->now());
  }

 private:
  void note(const request_record& record) {
    const serve_log& log = context_->serving().log;
    const int status = static_cast<int>(record.status);
    const log_level level = status >= 500 && !record.is_shed ? log_level::warning : log_level::debug;
    if (!log.is_logged(level)) return;
    const std::string trace_id = record.trace ? record.trace->trace_id_text() : std::string();
    log.note(level, "request",
             {{"request_id", record.request_id},
              {"trace_id", trace_id},
              {"plan", record.plan},
              {"status", std::int64_t{status}},
              {"code", record.code}});
  }

  /// Logs the number of refusals from time to time. A full server may refuse thousands of requests, and writing a line
  /// for each refusal would cost as much time as the refusal saves.
  void report_refusals(braid::time_point now) noexcept {
    if (unreported_refusals_ == 0 || now < next_summary_) return;
    next_summary_ = now + time_between_summaries;
    const auto refused = static_cast<std::int64_t>(std::exchange(unreported_refusals_, std::uint64_t{0}));
    context_->serving().log.note(log_level::warning, "overloaded", {{"refused", refused}});
  }

  endpoint_context* context_;
  std::uint64_t unreported_refusals_ = 0;
  braid::time_point next_summary_ = braid::time_point::min();
};

}  // namespace

void add_log_sink(endpoint_context& context, request_sinks& sinks) {
  sinks.push_back(std::make_unique<log_sink>(context));
}

}  // namespace rankd::detail
