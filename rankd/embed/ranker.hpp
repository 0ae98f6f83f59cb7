// rankd/embed/ranker.hpp: a project that ranks within this process, for one request or for many.
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

/// Whether plans may run whose answers depend on time, because a fallback replaces late results.
enum class time_fallbacks : std::uint8_t { refused, allowed };

/// How a ranker is opened.
struct ranker_options {
  std::filesystem::path project = {};  ///< a folder with rankd.toml; empty: looked for from the current one upwards
  std::string plan = {};               ///< for requests that name none; loaded at once. Empty: each request names one
  workspace_choice choice = {};
  unsigned workers = 0;  ///< threads that compute; 0: as many as the machine grants
  std::optional<std::chrono::milliseconds> node_timeout = {};
  load_observer observer = {};  ///< of the load of an embedded store that does not exist yet
};

/// What one call of `rank` adds to the text of its request.
struct rank_call {
  std::string plan = {};  ///< as ranker_options::plan, for this request
  /// Changes the parsed request before it runs; the diagnostics that it returns are the answer.
  std::function<braid::diagnostics(rank_request& request, const workspace& workspace)> adjust = {};
};

/// The answer to a request: a ranking, which may be the error of its plan, or the diagnostics of a request that no plan
/// was run for. Copying it shares the rows.
struct rank_answer {
  std::shared_ptr<const workspace> owner = {};  ///< owns the names that the ranking refers to
  std::optional<ranking> result = {};
  braid::diagnostics problems = {};  ///< not empty if there is no result
  std::string request_id = {};       ///< of a request without a result; empty if it is not known

  [[nodiscard]] auto has_candidates() const noexcept -> bool { return result && !result->error; }
};

/// The line that `rankd rank` prints for an answer, without a line feed.
auto to_json(const rank_answer& answer) -> std::string;

/// How many requests are answered.
struct many_options {
  std::string plan = {};  ///< as ranker_options::plan, for these requests
  std::optional<unsigned> workers = {};
  time_fallbacks fallbacks = time_fallbacks::refused;
  std::uint64_t cache_mib = 0;  ///< for rows that nodes keep, in each thread; 0: no cache
  /// Asked several times in 100 ms, on the calling thread; the batch ends soon after it returns true.
  std::function<bool()> is_interrupted = {};
};

/// Returns the next lines, at most batch_runner::max_lines; none at the end.
using line_source = std::function<braid::checked<std::vector<batch_line>>()>;

/// Receives the answers to the lines of one call of the source, in the order of these calls.
using answer_sink = std::function<braid::checked<void>(batch_answers answers)>;

/// An open project with its plans, its stores and the threads that run requests. Plans and stores are opened when a
/// request first needs them. Answers are those of `rankd rank` and `rankd batch`, byte for byte.
/// Threads: any number at once. A forked process has none of its threads, so it may only destroy it.
class ranker {
 public:
  /// Opens the project and the plan that is named, with its stores. Errors: those of `workspace::open`,
  /// `workspace::load_named_plan` and `open_store`; forked in a child of a process that has opened a ranker.
  static auto open(ranker_options options) -> braid::checked<std::unique_ptr<ranker>>;

  /// Waits for nodes that end after their answer.
  ~ranker();
  ranker(const ranker&) = delete;
  auto operator=(const ranker&) -> ranker& = delete;

  /// The project as it was opened or last reloaded.
  [[nodiscard]] auto project() const -> std::shared_ptr<const workspace>;

  /// Returns a plan by its name or file; it is loaded when it is first needed. Errors: those of
  /// `workspace::load_named_plan`; depends_on_time if answers of the plan may depend on time and that is refused;
  /// forked.
  auto find_plan(std::string_view name, time_fallbacks fallbacks = time_fallbacks::allowed)
      -> braid::checked<std::shared_ptr<const bound_plan>>;

  /// Answers one request. Blocks: until the answer is known.
  auto rank(std::string_view text, const rank_call& call = {}) -> rank_answer;

  /// Does the same, and explains the answer and what became of these ids, which are written as in a request.
  /// Errors: bad_id, in the answer.
  auto explain(std::string_view text, std::span<const std::string> ids, const rank_call& call = {}) -> rank_answer;

  /// Answers lines on several threads; each answer is a line of the text that the sink receives. A wrong request is
  /// answered by its error. The calling thread runs the source and the sink.
  /// Blocks: until all lines are answered. Errors: those of the source, the sink, `open_store` and
  /// `batch_runner::create`; of the plan that is given, also depends_on_time; interrupted; forked.
  auto rank_many(const line_source& source, const answer_sink& sink, const many_options& options = {})
      -> braid::checked<void>;

  /// Returns the plans of the project, and the errors of those that cannot be run. Blocks: on the disk.
  [[nodiscard]] auto plans() const -> braid::checked<plan_list>;

  /// Checks plans by name or file; all of the project if there are no names. Blocks: on the disk.
  [[nodiscard]] auto validate(std::vector<std::string> names = {}) const -> braid::checked<std::vector<plan_verdict>>;

  /// Reads project, registries, plans, models and stores again. Requests that run meanwhile are answered by what they
  /// began with. Errors: those of `open`; then nothing changes.
  auto reload() -> braid::checked<void>;

 private:
  struct generation;

  explicit ranker(ranker_options options);

  [[nodiscard]] auto current() const -> std::shared_ptr<generation>;
  [[nodiscard]] auto open_generation() const -> braid::checked<std::shared_ptr<generation>>;

  ranker_options options_;
  ::pid_t process_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<generation> current_;
};

}  // namespace rankd
