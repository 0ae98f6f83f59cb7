// src/sync/model_explorer.cpp: the sources of the explorer's decisions: seeds, all schedules in turn, or a given
// schedule.
#include <braid/sync/detail/model_explorer.hpp>

#include <braid/base/random.hpp>

#include <charconv>
#include <optional>

namespace braid::detail {
namespace {

/// Decisions as text: "0.2.0.1". Zeros at the end are left out.
auto text_of(std::vector<std::size_t> decisions) -> std::string {
  while (!decisions.empty() && decisions.back() == 0) decisions.pop_back();
  std::string text;
  for (const std::size_t decision : decisions) text += (text.empty() ? "" : ".") + std::to_string(decision);
  return text.empty() ? "0" : text;
}

/// Decides by a seed. How often it preempts and surprises differs from seed to seed, because a budget that is always
/// spent at once leaves the ends of long runs unexplored.
class random_decider final : public model_decider {
 public:
  explicit random_decider(std::uint64_t seed)
      : random_(seed),
        calm_steps_(std::uint64_t{1} << random_.below(6)),
        calm_loads_(std::uint64_t{1} << random_.below(6)) {}

  auto decide(model_question question, std::size_t count) -> std::size_t override {
    std::size_t chosen = 0;
    if (question == model_question::next || question == model_question::wake)
      chosen = random_.below(count);
    else if (random_.below(question == model_question::preempt ? calm_steps_ : calm_loads_) == 0)
      chosen = 1 + random_.below(count - 1);
    decisions_.push_back(chosen);
    return chosen;
  }

  [[nodiscard]] auto schedule() const -> std::string { return text_of(decisions_); }

 private:
  random_source random_;
  std::uint64_t calm_steps_;  // one in this many chances to preempt is used
  std::uint64_t calm_loads_;  // and one in this many chances to read an older value
  std::vector<std::size_t> decisions_;
};

/// Decides as in the run before, except that the last decision that can become another one does.
class depth_first_decider final : public model_decider {
 public:
  auto decide(model_question /*question*/, std::size_t count) -> std::size_t override {
    if (depth_ == path_.size()) path_.push_back({.chosen = 0, .count = count});
    return path_[depth_++].chosen;
  }

  /// Advances to the next schedule. Returns false if there are no more.
  auto advance() -> bool {
    depth_ = 0;
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  [[nodiscard]] auto schedule() const -> std::string {
    std::vector<std::size_t> decisions;
    for (const decision& made : path_) decisions.push_back(made.chosen);
    return text_of(std::move(decisions));
  }

 private:
  struct decision {
    std::size_t chosen = 0;
    std::size_t count = 0;
  };
  std::vector<decision> path_;
  std::size_t depth_ = 0;
};

/// Decides by a text, and 0 after its end.
class replaying_decider final : public model_decider {
 public:
  explicit replaying_decider(std::string_view schedule) : rest_(schedule) {}

  auto decide(model_question /*question*/, std::size_t count) -> std::size_t override {
    std::size_t chosen = 0;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), chosen);
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    if (!rest_.empty()) rest_.remove_prefix(1);
    return chosen < count ? chosen : 0;  // a schedule of another body decides something, too
  }

 private:
  std::string_view rest_;
};

/// Runs the body once. Returns true if it did not fail.
auto run_once(const model_options& options, const model_body& body, model_decider& decider, model_report& report)
    -> bool {
  ++report.runs;
  model_execution execution(options.bounds, decider, report.ordered);
  report.failure = execution.run([&body] {
    model_run run;
    body(run);
  });
  if (report.failure.empty()) return true;
  report.failure += "\n" + execution.trace();
  return false;
}

}  // namespace

auto model_explore(const model_options& options, const model_body& body) -> model_report {
  model_report report;
  for (std::size_t i = 0; i < options.seeds; ++i) {
    random_decider decider(options.first_seed + i);
    if (run_once(options, body, decider, report)) continue;
    report.seed = options.first_seed + i;
    report.schedule = decider.schedule();
    report.failure +=
        "  seed " + std::to_string(report.seed) + " (BRAID_SEED), schedule " + report.schedule + " (BRAID_SCHEDULE)\n";
    break;
  }
  return report;
}

auto model_explore_all(const model_options& options, const model_body& body) -> model_report {
  model_report report;
  depth_first_decider decider;
  while (report.runs < options.max_runs && !report.complete) {
    if (!run_once(options, body, decider, report)) {
      report.schedule = decider.schedule();
      report.failure += "  schedule " + report.schedule + " (BRAID_SCHEDULE)\n";
      break;
    }
    report.complete = !decider.advance();
  }
  return report;
}

auto model_replay(std::string_view schedule, const model_options& options, const model_body& body) -> model_report {
  model_report report;
  replaying_decider decider(schedule);
  if (!run_once(options, body, decider, report)) report.schedule = schedule;
  return report;
}

}  // namespace braid::detail
