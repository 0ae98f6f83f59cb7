// rankd/server/plan_changes.hpp: reloads, pins and rolls back the served plans, and counts and logs these changes.
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

/// Counts of reloads of the plans.
struct reload_counts {
  std::uint64_t done = 0;
  std::uint64_t refused = 0;  ///< something was wrong, and the earlier plans continue to serve
};

/// Logs a line for each diagnostic about each plan that a reload has left out, and for each warning.
void log_findings(const serve_log& log, const reload_report& report);

/// The operations on a plan library that people who operate the server can call. Each operation is logged. Threads:
/// any.
/// Lifetime: the library and the log outlive it.
class plan_changes {
 public:
  plan_changes(plan_library& library, std::filesystem::path folder, serve_log log)
      : library_(&library), folder_(std::move(folder)), log_(log) {}

  /// A function that prepares other state to be reloaded together with the plans. It returns errors, or a function that
  /// publishes the new state. The returned function is called if the plans are also valid. Threads: called by the
  /// reloading threads, one at a time.
  using reload_step = std::function<braid::checked<std::function<void()>>()>;
  void reload_with(reload_step step);

  /// Sets the function that reads the budgets for a reload. Without it, reloads do not change the budgets. The function
  /// is called like a `reload_step`.
  void budgets_by(std::function<braid::checked<plan_budgets>()> read);

  /// Sets the function that reads the experiments for a reload. The function receives the new registries.
  void experiments_by(std::function<braid::checked<experiment_set>(const registries&)> read);

  /// A function that prepares the plans that run as shadows. It returns another function, which is called if all plans
  /// are valid. That function publishes the shadows, and returns whether they have changed. The step is called like a
  /// `reload_step`.
  using shadow_step = std::function<braid::checked<std::function<bool()>>(std::vector<shadow_settings>)>;
  /// Sets the functions that read and prepare the shadows for a reload. Without them, reloads do not change the
  /// shadows.
  void shadows_by(std::function<braid::checked<std::vector<shadow_settings>>()> read, shadow_step take);

  /// Sets the function that reads the registries for a reload. The function receives the current registries. All plans
  /// are then bound to the new registries.
  void registries_by(std::function<braid::checked<registry_change>(std::shared_ptr<const registries>)> read);

  /// Sets a function that is called after each reload that has changed the registries. The function is called like a
  /// `reload_step`.
  void after_registries(std::function<void()> done);

  /// Reloads the plans; see `plan_library`. If anything is invalid, nothing changes, except that the library may leave
  /// out invalid plans. Blocks: on the disk.
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
  // The following members are guarded by `reloading_`:
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
