// rankd/embed/ranker.hpp: an open project that answers requests within this process, one at a time or in batches.
#pragma once

#include <rankd/embed/plan_verdicts.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/batch/batch_runner.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace rankd {

/// States whether plans with time-dependent answers are allowed. An answer depends on time if a fallback may replace
/// late results.
enum class time_fallbacks : std::uint8_t { refused, allowed };

/// The options for opening a ranker.
struct ranker_options {
  /// The path of the folder that contains rankd.toml. If the path is empty, the folder is searched for from the current
  /// folder upwards.
  std::filesystem::path project = {};
  /// The name of the plan for requests that do not name a plan. This plan is loaded when the project is opened. If the
  /// name is empty, each request must name its plan.
  std::string plan = {};
  workspace_choice choice = {};
  unsigned workers = 0;  ///< threads that compute; 0: as many as the machine grants
  std::optional<std::chrono::milliseconds> node_timeout = {};
  load_observer observer = {};  ///< observes the load of an embedded store that does not exist yet
};

/// Options of one call of `rank`, in addition to the text of the request.
struct rank_call {
  std::string plan = {};  ///< like ranker_options::plan, but for this request
  /// Changes the parsed request before it runs. If the function returns diagnostics, they are the answer.
  std::function<braid::diagnostics(rank_request& request, const workspace& workspace)> adjust = {};
  /// Works like many_options::is_interrupted, but for this request.
  std::function<bool()> is_interrupted = {};
};

/// The answer to a request. It is a ranking, or the diagnostics of a request for which no plan ran. A ranking may
/// contain the error of its plan. Copies share the rows.
struct rank_answer {
  std::shared_ptr<const workspace> owner = {};  ///< owns the names that the ranking refers to
  std::optional<ranking> result = {};
  braid::diagnostics problems = {};  ///< not empty if there is no result
  std::string request_id = {};       ///< the id of a request without a result; empty if it is not known

  [[nodiscard]] auto has_candidates() const noexcept -> bool { return result && !result->error; }
};

/// Returns the line that `rankd rank` prints for an answer, without a line feed.
auto to_json(const rank_answer& answer) -> std::string;

/// The options for answering many requests.
struct many_options {
  std::string plan = {};  ///< like ranker_options::plan, but for these requests
  std::optional<unsigned> workers = {};
  time_fallbacks fallbacks = time_fallbacks::refused;
  std::uint64_t cache_mib = 0;  ///< the size of the cache for rows of nodes, in each thread; 0: no cache
  std::size_t in_flight = batch_runner::max_lines;  ///< requests that each thread answers at the same time
  /// This function is called several times within 100 ms, on the calling thread. If the function returns true, the
  /// batch ends soon afterwards.
  std::function<bool()> is_interrupted = {};
};

/// Returns the next lines, at most batch_runner::max_lines. Returns an empty list at the end.
using line_source = std::function<braid::checked<std::vector<batch_line>>()>;

/// Receives the answers to the lines that one call of the source has returned. The calls are in the order of the
/// source's calls.
using answer_sink = std::function<braid::checked<void>(batch_answers answers)>;

/// An open project with its plans, its stores and the threads that run requests. Plans and stores are opened when a
/// request first needs them. The answers equal those of `rankd rank` and `rankd batch`, byte for byte.
/// Threads: any number at once. The threads do not exist in a forked child process, so the child may only destroy the
/// object.
class ranker {
 public:
  /// Opens the project, and the plan in the options with its stores. Errors: those of `workspace::open`,
  /// `workspace::load_named_plan` and `open_store`; `forked` in a child of a process that has opened a ranker.
  static auto open(ranker_options options) -> braid::checked<std::unique_ptr<ranker>>;

  /// Waits for nodes that are still running although their request has been answered.
  ~ranker();
  ranker(const ranker&) = delete;
  auto operator=(const ranker&) -> ranker& = delete;

  /// Returns the project in the state in which it was opened or last reloaded.
  [[nodiscard]] auto project() const -> std::shared_ptr<const workspace>;

  /// Returns a plan by its name or file, and loads it at the first call. Errors: those of `workspace::load_named_plan`;
  /// `forked`, as for `open`; depends_on_time if `fallbacks` refuses plans whose answers depend on time.
  auto find_plan(std::string_view name, time_fallbacks fallbacks = time_fallbacks::allowed)
      -> braid::checked<std::shared_ptr<const bound_plan>>;

  /// Answers one request. Blocks: until the answer is known. Errors: interrupted, in the answer.
  auto rank(std::string_view text, const rank_call& call = {}) -> rank_answer;

  /// Answers one request with an explanation of the answer and of the given ids. The ids have the same form as in a
  /// request. Errors: those of `rank`; bad_id, in the answer.
  auto explain(std::string_view text, std::span<const std::string> ids, const rank_call& call = {}) -> rank_answer;

  /// Answers lines on several threads. The sink receives a text with one line for each answer. The answer to an invalid
  /// request is an error. The source and the sink are called on the calling thread.
  /// Blocks: until all lines are answered. Errors: those of the source, the sink, `open_store` and
  /// `batch_runner::create`; depends_on_time for the plan in the options; interrupted; `forked`, as for `open`.
  auto rank_many(const line_source& source, const answer_sink& sink, const many_options& options = {})
      -> braid::checked<void>;

  /// Returns the plans of the project that can be run, and the errors of all other plans. Blocks: on the disk. Errors:
  /// `forked`, as for `open`.
  [[nodiscard]] auto plans() const -> braid::checked<plan_list>;

  /// Checks plans by name or file. Without names, checks all plans of the project. Blocks: on the disk.
  /// Errors: `forked`, as for `open`.
  [[nodiscard]] auto validate(std::vector<std::string> names = {}) const -> braid::checked<std::vector<plan_verdict>>;

  /// Reloads the project with its registries, plans, models and stores. Running requests continue with the previous
  /// state. If an error occurs, nothing changes. Errors: those of `open`.
  auto reload() -> braid::checked<void>;

 private:
  struct generation;

  explicit ranker(ranker_options options);

  [[nodiscard]] auto current() const -> std::shared_ptr<generation>;
  [[nodiscard]] auto open_generation() const -> braid::checked<std::shared_ptr<generation>>;

  ranker_options options_;
  ::pid_t process_;
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<generation> current_;
};

}  // namespace rankd
