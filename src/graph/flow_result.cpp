// src/graph/flow_result.cpp: reports how a run of a flow has ended, both as values for programs and as text for people.
#include <braid/graph/flow.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <system_error>

namespace braid {
namespace {

auto name_of_progress(node_progress progress) -> const char* {
  switch (progress) {
    case node_progress::skipped: return "skipped";
    case node_progress::running: return "running";
    case node_progress::done: return "done";
    case node_progress::failed: return "failed";
    case node_progress::stopped: return "stopped";
    case node_progress::late: return "late";
    case node_progress::replaced: return "replaced";
  }
  return "";
}

auto in_us(duration span) -> std::string {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f us", std::chrono::duration<double, std::micro>(span).count());
  return text.data();
}

auto times_text(duration queue, duration run) -> std::string {
  return "waited " + in_us(queue) + ", ran " + in_us(run);
}

}  // namespace

auto flow_report::name(node_index node) const noexcept -> const std::string& { return plan_->nodes[node].name; }

auto flow_report::skipped() const -> std::vector<node_index> {
  std::vector<node_index> found;
  for (node_index node = 0; node < size(); ++node)
    if (progress_[node] == node_progress::skipped) found.push_back(node);
  return found;
}

auto flow_report::times(node_index node) const noexcept -> node_times {
  return has_times_ ? times_[node] : node_times{};
}

auto flow_report::total() const noexcept -> duration {
  time_point last = begin_;
  for (const node_times& each : times_) last = std::max(last, each.ended);
  return last - begin_;
}

auto flow_report::critical_path() const -> std::vector<critical_step> {
  if (!has_times_) return {};
  return braid::critical_path(plan_->shape, begin_, times_);
}

auto flow_report::to_text() const -> std::string {
  std::string text;
  for (node_index node = 0; node < size(); ++node) {
    text.append(name(node)).append(": ").append(name_of_progress(progress(node)));
    if (times(node).has_run()) text += ", " + times_text(times(node).queue(), times(node).run());
    text += '\n';
  }
  if (!has_times_) return text;
  text += "critical path of " + in_us(total()) + ":\n";
  for (const critical_step& step : critical_path())
    text.append("  ").append(name(step.node)).append(": " + times_text(step.queue, step.run) + "\n");
  return text;
}

void detail::throw_flow_failure(const graph_failure& failure, const flow_report& report) {
  if (failure.error) std::rethrow_exception(failure.error);
  const auto code = make_error_code(failure.reason);
  if (failure.why == graph_failure::cause::run_stopped) throw std::system_error(code, "the run");
  throw std::system_error(code, "node `" + report.name(failure.node) + "`");
}

}  // namespace braid
