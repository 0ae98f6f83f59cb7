// rankd/server/shadow/shadow_board.hpp: the results of running a candidate plan as a shadow of the served plan.
#pragma once

#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/registry/shadows.hpp>
#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/metrics/histogram.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The result of running a candidate for a request. The first values of this enumeration are the values of
/// `answer_change`.
enum class shadow_verdict : std::uint8_t {
  equal,
  values,
  order,
  candidates,
  error,
  starved,      ///< the candidate ran out of time before it had an answer, because its thread gets only idle time
  skipped,      ///< the candidate did not run, because requests waited to be admitted, or the server is about to stop
  busy,         ///< the candidate did not run, because the limit of running candidates was reached
  unavailable,  ///< the candidate did not run, because it cannot run at all, or not for this request
};
inline constexpr std::size_t shadow_verdicts = 9;

/// Returns the name of a verdict, such as `equal`.
[[nodiscard]] auto to_string(shadow_verdict verdict) noexcept -> std::string_view;

/// A comparison of a served answer with the candidate's answer.
struct shadow_run {
  std::string request_id;  ///< empty if the id must not be shown
  answer_verdict verdict;
  std::string code;        ///< for the served answer: `ok`, or the code of the error
  std::string other_code;  ///< the same for the candidate's answer
  std::size_t candidates = 0;
  std::size_t other_candidates = 0;
  std::size_t moved = 0;             ///< the total number of ids that moved
  std::vector<moved_id> moves = {};  ///< the first of these ids, without reasons
  braid::duration extra{};           ///< how much longer the candidate took; zero if it did not take longer
};

/// The verdicts about one candidate, for all loops of a server.
/// Threads: any. Cost: an uncontended lock for each call.
class shadow_board {
 public:
  static constexpr std::size_t max_worst = 20;
  static constexpr std::size_t max_moves = 10;

  explicit shadow_board(shadow_settings settings)
      : plan_(std::move(settings.plan)),
        candidate_(std::move(settings.candidate)),
        share_(settings.share),
        max_runs_(settings.in_flight) {}

  [[nodiscard]] auto plan() const noexcept -> const std::string& { return plan_; }
  [[nodiscard]] auto candidate() const noexcept -> const std::string& { return candidate_; }
  /// Returns the maximum number of concurrent runs.
  [[nodiscard]] auto max_runs() const noexcept -> std::size_t { return max_runs_.load(braid::relaxed); }
  [[nodiscard]] auto settings() const -> shadow_settings;

  /// Changes `share` and `in_flight`. Requires settings for the same two plans. The counts are kept.
  void change(const shadow_settings& next) noexcept;

  /// Returns whether the candidate runs for a request with this id. The same id always has the same result.
  [[nodiscard]] auto wants(std::string_view request_id) const noexcept -> bool;

  /// Counts a request for which the candidate did not run.
  void count(shadow_verdict verdict);

  /// Returns whether a run with this verdict would be among the worst runs. Also returns true if one of the plans has a
  /// new version since the last run, because `add` then clears the list of the worst runs.
  [[nodiscard]] auto is_among_worst(const answer_verdict& verdict, const std::string& digest,
                                    const std::string& other_digest) const -> bool;

  /// Adds a run of these versions of both plans. If a version is new, the means and the list of the worst runs are
  /// cleared. An overlap requires two answers, so errors and starved runs have no overlap.
  void add(shadow_run run, const std::string& digest, const std::string& other_digest);

  /// Returns a JSON object with a line feed: the settings, the counts since the candidate was added, and the means and
  /// worst runs of the current versions.
  [[nodiscard]] auto to_json() const -> std::string;

  static void write(exposition& out, std::span<const std::shared_ptr<shadow_board>> all);

 private:
  /// The buckets for overlaps. The histogram counts durations, so an overlap of 1 is stored as one second.
  struct overlap_bounds {
    static constexpr std::array seconds{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
  };

  const std::string plan_;
  const std::string candidate_;
  braid::atomic<double> share_;          // this member and the next are written by reloads, one at a time
  braid::atomic<std::size_t> max_runs_;  // independent of `share_`, so a request may see a change of only one of them
  mutable std::mutex mutex_;
  std::array<std::uint64_t, shadow_verdicts> counts_{};
  histogram_of<overlap_bounds> overlaps_;
  request_histogram extra_;

  std::string digest_;  // this member and the next members belong to the versions that ran last
  std::string other_digest_;
  std::uint64_t runs_ = 0;
  std::uint64_t compared_ = 0;  // the number of runs of these versions with two answers
  double overlap_ = 0;          // the sum of their overlaps
  double rbo_ = 0;
  std::vector<shadow_run> worst_;  // the worst first
};

}  // namespace rankd
