// src/sync/model_explorer.cpp: chooses the schedules of a model: random schedules by seed, all schedules in turn, or
// one given schedule.
#include <braid/sync/detail/model_explorer.hpp>

#include <braid/base/random.hpp>

#include <charconv>
#include <optional>

namespace braid::detail {
namespace {

/// Returns decisions as text, such as "0.2.0.1". Zeros at the end are omitted.
auto text_of(std::vector<std::size_t> decisions) -> std::string {
  while (!decisions.empty() && decisions.back() == 0) decisions.pop_back();
  std::string text;
  for (const std::size_t decision : decisions) text += (text.empty() ? "" : ".") + std::to_string(decision);
  return text.empty() ? "0" : text;
}

/// A decider that decides at random, starting from a seed. The rate of preemptions and stale reads also depends on the
/// seed, because the number of preemptions and stale reads is limited. A fixed high rate would reach the limit early,
/// and leave the ends of long runs unexplored.
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
  std::uint64_t calm_steps_;  // one of this many possible preemptions is made
  std::uint64_t calm_loads_;  // one of this many possible reads of an older value is made
  std::vector<std::size_t> decisions_;
};

/// A decider that tries all schedules. It decides as in the previous run, except that the last decision with an untried
/// alternative now takes its next alternative.
class depth_first_decider final : public model_decider {
 public:
  auto decide(model_question /*question*/, std::size_t count) -> std::size_t override {
    if (depth_ == path_.size()) path_.push_back({.chosen = 0, .count = count});
    return path_[depth_++].chosen;
  }

  /// Advances to the next schedule. Returns false if all schedules were tried.
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

/// A decider that replays the decisions in a text. After the end of the text, every decision is 0.
class replaying_decider final : public model_decider {
 public:
  explicit replaying_decider(std::string_view schedule) : rest_(schedule) {}

  auto decide(model_question /*question*/, std::size_t count) -> std::size_t override {
    std::size_t chosen = 0;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), chosen);
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    if (!rest_.empty()) rest_.remove_prefix(1);
    return chosen < count ? chosen : 0;  // a schedule of another body is also valid
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
