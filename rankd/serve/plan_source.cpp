// rankd/serve/plan_source.cpp: plans in the order of their names.
#include <rankd/serve/plan_source.hpp>

#include <algorithm>
#include <utility>

namespace rankd {
namespace {

auto name_of(const std::shared_ptr<const known_plan>& plan) -> std::string_view { return plan->name; }

}  // namespace

fixed_plans::fixed_plans(std::vector<known_plan> plans) {
  for (known_plan& each : plans) plans_.push_back(std::make_shared<const known_plan>(std::move(each)));
  std::ranges::sort(plans_, {}, &name_of);
}

auto fixed_plans::find(std::string_view name) const -> std::shared_ptr<const known_plan> {
  const auto found = std::ranges::lower_bound(plans_, name, {}, &name_of);
  return found != plans_.end() && (*found)->name == name ? *found : nullptr;
}

}  // namespace rankd
