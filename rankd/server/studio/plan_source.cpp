// rankd/server/studio/plan_source.cpp: finds plans by name, either in a fixed list or in a plan library.
#include <rankd/server/studio/plan_source.hpp>

#include <rankd/registry/diagnostic.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rankd {

fixed_plans::fixed_plans(std::vector<known_plan> plans) : plans_(std::move(plans)) {
  std::ranges::sort(plans_, {}, &known_plan::name);
}

auto fixed_plans::find(std::string_view name) const -> std::optional<known_plan> {
  const auto found = std::ranges::lower_bound(plans_, name, {}, &known_plan::name);
  if (found == plans_.end() || found->name != name) return std::nullopt;
  return *found;
}

auto fixed_plans::find(std::string_view name, std::uint64_t version) const -> braid::checked<plan_handle> {
  const std::optional<known_plan> found = find(name);
  if (!found || !found->bound) return refused("unknown_plan", "no plan is called `" + std::string(name) + "`");
  if (version == 1) return found->bound;
  return refused("unknown_version",
                 "no version " + std::to_string(version) + " of plan `" + std::string(name) + "` is kept");
}

auto library_plans::find(std::string_view name) const -> std::optional<known_plan> {
  const auto now = library_->current();
  if (plan_handle bound = now->find(name)) return known_plan{.name = bound->name, .bound = bound, .problems = {}};
  const auto wrong = now->left_out();
  const auto found = std::ranges::find(wrong, name, &left_out_plan::name);
  if (found == wrong.end()) return std::nullopt;
  return known_plan{.name = found->name, .bound = nullptr, .problems = found->problems};
}

auto library_plans::list() const -> std::vector<known_plan> {
  const auto all = library_->current();
  std::vector<known_plan> out;
  for (const auto& version : all->versions())
    out.push_back({.name = version->plan.name, .bound = plan_handle(version, &version->plan), .problems = {}});
  for (const left_out_plan& each : all->left_out()) {
    const auto at = std::ranges::lower_bound(out, each.name, {}, &known_plan::name);
    if (at != out.end() && at->name == each.name)
      at->problems = each.problems;
    else
      out.insert(at, {.name = each.name, .bound = nullptr, .problems = each.problems});
  }
  return out;
}

}  // namespace rankd
