// rankd/server/plan_changes.hpp: counts and logs changes of the served plans.
#pragma once

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/registry/registry_change.hpp>
#include <rankd/registry/shadows.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// How often the plans were reloaded.
struct reload_counts {
  std::uint64_t done = 0;
  std::uint64_t refused = 0;  ///< something was wrong with one of them, and the earlier ones continue to serve
};

/// Logs a line for each diagnostic about each plan that a reload has left out, and for each warning.
void log_findings(const serve_log& log, const reload_report& report);

/// The operations of a library that an operator of the server may call; each is noted in the log. Threads: any.
/// Lifetime: the library's, and the log's.
class plan_changes {
 public:
  plan_changes(plan_library& of, std::filesystem::path folder, serve_log log)
      : library_(&of), folder_(std::move(folder)), log_(log) {}

  /// Reloads something else together with the plans: reports what is wrong, or returns a function that publishes the
  /// new state, which is called once the plans are right, too. The threads that reload call it, one at a time.
  using reload_step = std::function<braid::checked<std::function<void()>>()>;
  void reload_with(reload_step step);

  /// Sets how reloads get the budgets of the plans; without it the budgets do not change. Called as the step is.
  void budgets_by(std::function<braid::checked<plan_budgets>()> read);

  /// The same for the experiments, with these registries.
  void experiments_by(std::function<braid::checked<experiment_set>(const registries&)> read);

  /// Prepares plans that run as shadows: returns a function that publishes them once the plans are right, and returns
  /// whether they have changed. Called as the step is.
  using shadow_step = std::function<braid::checked<std::function<bool()>>(std::vector<shadow_settings>)>;
  /// Sets how reloads get the shadows, and what publishes them; without it they do not change.
  void shadows_by(std::function<braid::checked<std::vector<shadow_settings>>()> read, shadow_step take);

  /// Sets how reloads get the registries, to which all plans are then bound again; it receives the current ones.
  void registries_by(std::function<braid::checked<registry_change>(std::shared_ptr<const registries>)> read);

  /// Sets what is called after each reload with other registries, by a request or by a signal. Called as the step is.
  void after_registries(std::function<void()> done);

  /// The operations of `plan_library`. If anything is wrong, nothing changes, except plans that the library leaves out.
  /// Blocks: on the disk, for `reload`.
  auto reload() -> braid::checked<reload_report>;
  auto pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info>;
  auto unpin(std::string_view name) -> braid::checked<void>;
  auto roll_back(std::string_view name) -> braid::checked<plan_version_info>;
  [[nodiscard]] auto versions() const -> std::vector<plan_version_info> { return library_->versions(); }

  [[nodiscard]] auto reloads() const noexcept -> reload_counts {
    return {.done = done_.load(braid::relaxed), .refused = refused_.load(braid::relaxed)};
  }

 private:
  auto refuse(std::string_view event, braid::diagnostics problems) -> std::unexpected<braid::diagnostics>;
  auto reload_plans() -> braid::checked<reload_report>;
  void log_reload(const reload_report& report) const;

  plan_library* library_;
  std::filesystem::path folder_;
  serve_log log_;
  std::mutex reloading_;  // held by one reload from start to end
  // under it:
  reload_step step_;
  std::function<braid::checked<plan_budgets>()> read_budgets_;
  std::function<braid::checked<experiment_set>(const registries&)> read_experiments_;
  std::function<braid::checked<registry_change>(std::shared_ptr<const registries>)> read_registries_;
  std::function<braid::checked<std::vector<shadow_settings>>()> read_shadows_;
  shadow_step take_shadows_;
  std::function<void()> after_registries_;
  braid::atomic<std::uint64_t> done_{0};
  braid::atomic<std::uint64_t> refused_{0};
};

}  // namespace rankd
