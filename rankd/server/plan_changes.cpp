// rankd/server/plan_changes.cpp: a library's operations, with a line in the log for each.
#include <rankd/server/plan_changes.hpp>

#include <string>
#include <utility>

namespace rankd {
namespace {

void tell(const serve_log& log, std::string_view event, const braid::checked<plan_version_info>& version) {
  if (version)
    log.note(log_level::info, event, {{"plan", version->name}, {"version", std::to_string(version->number)}});
}

}  // namespace

void plan_changes::reload_with(reload_step step) {
  const std::scoped_lock alone(reloading_);
  step_ = std::move(step);
}

auto plan_changes::refuse(std::string_view event, braid::diagnostics problems) -> std::unexpected<braid::diagnostics> {
  refused_.fetch_add(1, braid::relaxed);
  for (const braid::diagnostic& each : problems)
    log_.note(log_level::error, event,
              {{"code", each.code}, {"message", each.message}, {"source", each.source}, {"pointer", each.pointer}});
  return std::unexpected(std::move(problems));
}

auto plan_changes::reload() -> braid::checked<reload_report> {
  const std::scoped_lock alone(reloading_);
  braid::checked<std::function<void()>> others = std::function<void()>();
  if (step_) others = step_();
  if (!others) return refuse("credentials_refused", std::move(others.error()));
  auto report = of_->reload(folder_);
  if (!report) return refuse("plans_refused", std::move(report.error()));
  if (*others) {
    (*others)();
    log_.note(log_level::info, "credentials_loaded");
  }
  done_.fetch_add(1, braid::relaxed);
  log_.note(log_level::info, "plans_loaded",
            {{"added", std::to_string(report->added.size())},
             {"changed", std::to_string(report->changed.size())},
             {"unchanged", std::to_string(report->unchanged.size())},
             {"removed", std::to_string(report->removed.size())}});
  return report;
}

auto plan_changes::pin(std::string_view name, std::uint64_t number) -> braid::checked<plan_version_info> {
  auto version = of_->pin(name, number);
  tell(log_, "plan_pinned", version);
  return version;
}

auto plan_changes::unpin(std::string_view name) -> braid::checked<void> {
  auto done = of_->unpin(name);
  if (done) log_.note(log_level::info, "plan_unpinned", {{"plan", name}});
  return done;
}

auto plan_changes::roll_back(std::string_view name) -> braid::checked<plan_version_info> {
  auto version = of_->roll_back(name);
  tell(log_, "plan_rolled_back", version);
  return version;
}

}  // namespace rankd
