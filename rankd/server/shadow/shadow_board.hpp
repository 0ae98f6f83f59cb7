// rankd/server/shadow/shadow_board.hpp: what came of running a plan beside the one that is served.
#pragma once

#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/registry/shadows.hpp>
#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/metrics/time_histogram.hpp>

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

/// What came of a request that was to be run by the candidate, too. The first are those of `answer_change`.
enum class shadow_verdict : std::uint8_t {
  equal,
  values,
  order,
  candidates,
  error,
  starved,      ///< the time of the candidate was over before it had an answer, as its thread gets what others leave
  skipped,      ///< not run: requests waited to be admitted, or the server is about to stop
  busy,         ///< not run: as many runs were under way as there may be
  unavailable,  ///< not run: the candidate cannot be run, or not for this request
};
inline constexpr std::size_t shadow_verdicts = 9;

/// equal, values, …, unavailable.
[[nodiscard]] auto to_string(shadow_verdict verdict) noexcept -> std::string_view;

/// One answer beside that of the candidate.
struct shadow_run {
  std::string request_id;  ///< empty where it is not to be shown
  answer_verdict verdict;
  std::string code;        ///< of the answer that was given: `ok`, or that of the error
  std::string other_code;  ///< of the candidate
  std::size_t candidates = 0;
  std::size_t other_candidates = 0;
  std::size_t moved = 0;             ///< ids that moved, in all
  std::vector<moved_id> moves = {};  ///< the first of these, without reasons
  braid::duration extra{};           ///< that the candidate took longer; zero where it did not
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
  /// How many runs there may be at a time.
  [[nodiscard]] auto max_runs() const noexcept -> std::size_t { return max_runs_.load(braid::relaxed); }
  [[nodiscard]] auto settings() const -> shadow_settings;

  /// Takes share and `in_flight` of other settings for the same two plans; the counts go on.
  void change(const shadow_settings& next) noexcept;

  /// Whether a request of that id is among those that the candidate is run for: always the same ones.
  [[nodiscard]] auto wants(std::string_view request_id) const noexcept -> bool;

  /// A request that the candidate was not run for.
  void count(shadow_verdict why);

  /// Whether a run with that verdict, of these versions of both plans, would be among the worst: with other versions
  /// than the last ones these begin anew.
  [[nodiscard]] auto is_among_worst(const answer_verdict& verdict, const std::string& digest,
                                    const std::string& other_digest) const -> bool;

  /// A run of these versions of both plans. With other ones the means and the worst begin anew. Overlaps are those of
  /// runs with two answers: an error has none, and neither has a run that was starved.
  void add(shadow_run run, const std::string& digest, const std::string& other_digest);

  /// One object with its end: the settings, the counts since the candidate was put beside the plan, and of the versions
  /// that ran last means and worst runs.
  [[nodiscard]] auto to_json() const -> std::string;

  static void write(exposition& out, std::span<const std::shared_ptr<shadow_board>> all);

 private:
  /// The classes of overlaps. A histogram counts durations: one is a second.
  struct overlap_bounds {
    static constexpr std::array seconds{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
  };

  const std::string plan_;
  const std::string candidate_;
  braid::atomic<double> share_;          // this and the next one: written by reloads, one at a time
  braid::atomic<std::size_t> max_runs_;  // each is right by itself, so a request may see one of them before the other
  mutable std::mutex mutex_;
  std::array<std::uint64_t, shadow_verdicts> counts_{};
  histogram_of<overlap_bounds> overlaps_;
  time_histogram extra_;

  std::string digest_;  // this and the next ones: of the versions that ran last
  std::string other_digest_;
  std::uint64_t runs_ = 0;
  std::uint64_t compared_ = 0;  // of these, with two answers
  double overlap_ = 0;          // sums
  double rbo_ = 0;
  std::vector<shadow_run> worst_;  // the worst first
};

}  // namespace rankd
