// rankd/server/traffic/traffic_comparison.hpp: runs two plans for recorded requests, and compares their answers.
#pragma once

#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/server/traffic/traffic_file.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/future.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// One of the two answers to a compared request.
struct compared_answer {
  std::string code = {};  ///< `ok`, or the code of the error
  std::size_t candidates = 0;
};

/// A request whose answers differ.
struct changed_request {
  std::uint64_t place = 0;   ///< the position among all requests that were read, from 0
  std::uint64_t number = 0;  ///< the number in its record
  std::string record;        ///< the name of the record
  std::string request_id;
  answer_verdict verdict;
  compared_answer before;
  compared_answer after;
  std::size_t moved = 0;             ///< the total number of ids that moved
  std::vector<moved_id> moves = {};  ///< the ids among these that are explained
};

/// The sum of the differences over all requests.
struct traffic_differences {
  std::uint64_t requests = 0;           ///< requests to the compared plan
  std::uint64_t others = 0;             ///< requests to other plans
  std::uint64_t redacted = 0;           ///< requests that are only partly recorded
  std::uint64_t unusable = 0;           ///< requests that cannot be read
  std::uint64_t not_recorded = 0;       ///< requests for which a plan reads data that is not in the record
  std::string first_not_recorded = {};  ///< the first such read
  std::uint64_t live_batches = 0;       ///< batches that were sent to live stores
  std::array<std::uint64_t, answer_changes> by_change{};  ///< the numbers of the remaining requests, by their change
  /// The number of requests that both plans have answered. Only these requests have an overlap, because an error has no
  /// candidates.
  std::uint64_t answered = 0;
  double overlap = 0;                         ///< the sum over all requests that both plans have answered
  double rbo = 0;                             ///< the same
  std::vector<changed_request> changed = {};  ///< the most changed requests, first by `rbo`

  [[nodiscard]] auto count(answer_change change) const noexcept -> std::uint64_t {
    return by_change[static_cast<std::size_t>(change)];
  }
  [[nodiscard]] auto compared() const noexcept -> std::uint64_t;
  [[nodiscard]] auto different() const noexcept -> std::uint64_t { return compared() - count(answer_change::equal); }
};

/// Compares two plans on recorded traffic. Reads frames of this traffic, and runs each recorded request to
/// `recorded_plan` with both compared plans, using the recorded reads. Ignores deadlines and time limits of nodes, so
/// that the answers depend only on the requests. Several threads run requests. The result does not depend on the number
/// of threads.
/// Threads: one at a time.
class traffic_comparison {
 public:
  struct settings {
    const registries* declared = nullptr;
    std::shared_ptr<const bound_plan> before;
    std::shared_ptr<const bound_plan> after;
    std::string recorded_plan;     ///< the plan whose requests are run
    store_list live = nullptr;     ///< stores for reads that are not in the record; null: there are none
    std::size_t depth = 10;        ///< the depth of `overlap_at`
    std::size_t max_changed = 20;  ///< requests that are listed and explained
    unsigned workers = 0;          ///< threads; 0: as many as the machine grants
  };

  /// Starts the threads that run requests. Errors: no_runtime.
  static auto make(settings settings) -> braid::checked<std::unique_ptr<traffic_comparison>>;
  ~traffic_comparison();
  traffic_comparison(const traffic_comparison&) = delete;
  auto operator=(const traffic_comparison&) -> traffic_comparison& = delete;

  /// Begins another record. Its first frame must describe the project.
  void begin(std::string record);

  /// Processes the next frame. Errors: not_traffic for a frame that cannot be read, or that precedes the project frame;
  /// other_endpoints if the endpoints of the recorded project differ from those in the settings; those of
  /// `recorded_world::make`.
  auto take(const traffic_reader::frame& frame) -> braid::checked<void>;

  /// Runs the remaining requests, and explains the requests whose answers have changed most. Must be called once, at
  /// the end.
  auto finish() -> traffic_differences;

  /// Returns the plans of the records, with the number of requests of each.
  [[nodiscard]] auto plans() const noexcept -> const std::map<std::string, std::uint64_t, std::less<>>& {
    return plans_;
  }
  /// Returns how many requests are missing in the records, according to the gaps in the request numbers.
  [[nodiscard]] auto lost() const noexcept -> std::uint64_t { return lost_ + lost_here(); }

 private:
  struct runner;
  struct question;
  struct outcome;
  struct kept;

  explicit traffic_comparison(settings settings);
  auto begin_project(std::string_view content) -> braid::checked<void>;
  auto take_request(std::string_view content) -> braid::checked<void>;
  [[nodiscard]] auto lost_here() const noexcept -> std::uint64_t;
  void run_waiting();
  void collect();
  void add(question& question, outcome& result);
  void explain_all();
  auto compare_all(runner& runner) -> braid::task<void>;
  auto compare(runner& runner, const question& question, outcome& out) -> braid::task<void>;
  auto answer(runner& runner, std::shared_ptr<const bound_plan> plan, rank_request request, const question& question,
              outcome& out) -> braid::task<ranking>;
  auto explain(runner& runner, kept& changed) -> braid::task<void>;

  settings settings_;
  std::shared_ptr<const page_cursors> cursors_;
  move_explainer explainer_;
  std::string record_;
  bool has_project_ = false;
  std::map<std::uint32_t, std::string> names_;  // the names of the plans of this record, by number
  std::uint64_t next_number_ = 0;               // the next expected number in this record
  std::uint64_t taken_ = 0;                     // the number of requests that were read from this record
  std::uint64_t lost_ = 0;                      // the number of lost requests in earlier records
  std::uint64_t next_place_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> plans_;
  std::vector<question> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<question> running_;
  std::vector<outcome> outcomes_;          // the outcomes of these questions
  braid::atomic<std::size_t> begun_{0};    // questions that were begun; written by the loops of the runners
  std::vector<braid::future<void>> ends_;  // the ends of the runners
  std::vector<kept> kept_;                 // the most changed requests, in order
  traffic_differences found_;
  std::vector<std::unique_ptr<runner>> runners_;  // destroyed first, because the runners use all members above
};

}  // namespace rankd
