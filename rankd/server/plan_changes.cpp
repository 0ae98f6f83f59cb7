// rankd/server/plan_changes.cpp: changes the served plans through a plan library, and logs each change.
#include <rankd/server/plan_changes.hpp>

#include <optional>
#include <string>
#include <utility>

namespace rankd {
namespace {

void log_change(const serve_log& log, std::string_view event, const braid::checked<plan_version_info>& version) {
  if (version)
    log.note(log_level::info, event,
             {{"plan", version->name}, {"version", static_cast<std::int64_t>(version->number)}});
}

}  // namespace

void log_findings(const serve_log& log, const reload_report& report) {
  for (const left_out_plan& plan : report.left_out)
    for (const braid::diagnostic& each : plan.problems)
      log.note(log_level::error, "plan_left_out",
               {{"plan", plan.name},
                {"code", each.code},
                {"message", each.message},
                {"source", each.source},
                {"pointer", each.pointer}});
  for (const braid::diagnostic& each : report.warnings)
    log.note(log_level::warning, "plan_warning",
             {{"code", each.code},
              {"message", each.message},
              {"source", each.source},
              {"pointer", each.pointer},
              {"node", each.node}});
}

void plan_changes::reload_with(reload_step step) {
  const std::scoped_lock alone(reloading_);
  step_ = std::move(step);
}

void plan_changes::budgets_by(std::function<braid::checked<plan_budgets>()> read) {
  const std::scoped_lock alone(reloading_);
  read_budgets_ = std::move(read);
}

void plan_changes::experiments_by(std::function<braid::checked<experiment_set>(const registries&)> read) {
  const std::scoped_lock alone(reloading_);
  read_experiments_ = std::move(read);
}

void plan_changes::registries_by(
    std::function<braid::checked<registry_change>(std::shared_ptr<const registries>)> read) {
  const std::scoped_lock alone(reloading_);
  read_registries_ = std::move(read);
}

void plan_changes::shadows_by(std::function<braid::checked<std::vector<shadow_settings>>()> read, shadow_step take) {
  const std::scoped_lock alone(reloading_);
  read_shadows_ = std::move(read);
  take_shadows_ = std::move(take);
}

void plan_changes::after_registries(std::function<void()> done) {
  const std::scoped_lock alone(reloading_);
  after_registries_ = std::move(done);
}

auto plan_changes::refuse(std::string_view event, braid::diagnostics problems) -> std::unexpected<braid::diagnostics> {
  refused_.fetch_add(1, braid::relaxed);
  for (const braid::diagnostic& each : problems)
    log_.note(log_level::error, event,
              {{"code", each.code}, {"message", each.message}, {"source", each.source}, {"pointer", each.pointer}});
  return std::unexpected(std::move(problems));
}

/// Reads the registries first, because plans and experiments refer to entries of the registries.
auto plan_changes::reload_plans() -> braid::checked<reload_report> {
  registry_change change{.next = library_->current()->declared(), .until_restart = {}};
  if (read_registries_) {
    auto read = read_registries_(change.next);
    if (!read) return std::unexpected(std::move(read.error()));
    change = std::move(*read);
  }
  std::optional<plan_budgets> budgets;
  if (read_budgets_) {
    auto read = read_budgets_();
    if (!read) return std::unexpected(std::move(read.error()));
    budgets = std::move(*read);
  }
  std::optional<experiment_set> experiments;
  if (read_experiments_) {
    auto read = read_experiments_(*change.next);
    if (!read) return std::unexpected(std::move(read.error()));
    experiments = std::move(*read);
  }
  std::vector<shadow_settings> shadows;
  std::function<bool()> put_shadows = [] { return false; };
  if (read_shadows_) {
    auto read = read_shadows_();
    if (!read) return std::unexpected(std::move(read.error()));
    shadows = std::move(*read);
    auto taken = take_shadows_(shadows);
    if (!taken) return std::unexpected(std::move(taken.error()));
    put_shadows = std::move(*taken);
  }
  const auto name_check = [&shadows](const std::vector<std::string>& plans) { return find_strangers(shadows, plans); };
  auto report =
      library_->reload(folder_, std::move(budgets), std::move(experiments), std::move(change.next), name_check);
  if (!report) return report;
  report->until_restart = std::move(change.until_restart);
  report->shadows_changed = put_shadows();
  return report;
}

void plan_changes::log_reload(const reload_report& report) const {
  const auto count = [](const std::vector<std::string>& names) { return static_cast<std::int64_t>(names.size()); };
  if (report.registries_changed) log_.note(log_level::info, "registries_loaded");
  if (report.shadows_changed) log_.note(log_level::info, "shadows_loaded");
  for (const std::string& each : report.until_restart)
    log_.note(log_level::warning, "needs_restart", {{"message", each}});
  log_.note(log_level::info, "plans_loaded",
            {{"added", count(report.added)},
             {"changed", count(report.changed)},
             {"unchanged", count(report.unchanged)},
             {"removed", count(report.removed)},
             {"pinned_only", count(report.pinned_only)}});
  log_findings(log_, report);
}

auto plan_changes::reload() -> braid::checked<reload_report> {
  const std::scoped_lock alone(reloading_);
  braid::checked<std::function<void()>> others = std::function<void()>();
  if (step_) others = step_();
  if (!others) return refuse("credentials_refused", std::move(others.error()));
  auto report = reload_plans();
  if (!report) return refuse("plans_refused", std::move(report.error()));
  if (*others) {
    (*others)();
    log_.note(log_level::info, "credentials_loaded");
  }
  if (report->registries_changed && after_registries_) after_registries_();
  done_.fetch_add(1, braid::relaxed);
  log_reload(*report);
  return report;
}

auto plan_changes::pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info> {
  auto version = library_->pin(name, number);
  log_change(log_, "plan_pinned", version);
  return version;
}

auto plan_changes::unpin(std::string_view name) -> braid::checked<void> {
  auto done = library_->unpin(name);
  if (done) log_.note(log_level::info, "plan_unpinned", {{"plan", name}});
  return done;
}

auto plan_changes::roll_back(std::string_view name) -> braid::checked<plan_version_info> {
  auto version = library_->roll_back(name);
  log_change(log_, "plan_rolled_back", version);
  return version;
}

}  // namespace rankd
