// rankd/registry/budgets.cpp: reads budgets, and selects the budget of a plan.
#include <rankd/registry/budgets.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/project.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

constexpr int_range amount_range{.min = 1};
constexpr int_range time_range{.min = 1, .max = 86'400'000};  // as the deadline of a request
constexpr int_range requests_range{.min = 1, .max = 1'000'000};

template <typename T>
void read_into(std::optional<T>& into, object_reader& reader, std::string_view field, int_range range) {
  if (const auto number = reader.integer(field, presence::optional, range)) into = static_cast<T>(*number);
}

/// Reads a budget. Members that the table does not set are taken from `base`.
auto read_budget(object_reader& reader, plan_budget base) -> plan_budget {
  read_into(base.rows, reader, "rows", amount_range);
  read_into(base.bytes, reader, "bytes", amount_range);
  read_into(base.max_deadline, reader, "deadline_ms", time_range);
  read_into(base.default_deadline, reader, "default_deadline_ms", time_range);
  read_into(base.in_flight, reader, "in_flight", requests_range);
  if (base.max_deadline && base.default_deadline && *base.default_deadline > *base.max_deadline)
    reader.report("default_deadline_ms", "bad_value",
                  "the default deadline, " + std::to_string(base.default_deadline->count()) +
                      " ms, is longer than the maximum, `deadline_ms`: " + std::to_string(base.max_deadline->count()) +
                      " ms");
  return base;
}

void append(std::string& out, const plan_budget& budget) {
  const auto number = [&out](const char* name, const auto& stated) {
    if (stated) out += std::string(" ") + name + "=" + std::to_string(*stated);
  };
  const auto time = [&out](const char* name, const auto& stated) {
    if (stated) out += std::string(" ") + name + "=" + std::to_string(stated->count());
  };
  number("rows", budget.rows);
  number("bytes", budget.bytes);
  time("deadline_ms", budget.max_deadline);
  time("default_deadline_ms", budget.default_deadline);
  number("in_flight", budget.in_flight);
  out += '\n';
}

}  // namespace

auto plan_budgets::of(std::string_view plan) const -> const plan_budget& {
  const auto found = plans_.find(plan);
  return found == plans_.end() ? budget_ : found->second;
}

auto plan_budgets::strangers(const std::vector<std::string>& plans) const -> braid::diagnostics {
  braid::diagnostics problems;
  for (const auto& [name, budget] : plans_) {
    if (std::ranges::find(plans, name) != plans.end()) continue;
    problems.add({.code = "unknown_plan",
                  .pointer = braid::json_pointer("/budget/plan", name),
                  .message = "no plan is called " + quote_name(name),
                  .hint = braid::did_you_mean(name, {plans.begin(), plans.end()}),
                  .node = {},
                  .source = std::string(project_file)});
  }
  return problems;
}

auto plan_budgets::to_text() const -> std::string {
  std::string out = "*";
  append(out, budget_);
  for (const auto& [name, budget] : plans_) {
    out += name;
    append(out, budget);
  }
  return out;
}

auto read_budgets(const nlohmann::json& table, const std::string& pointer, braid::diagnostics& problems)
    -> plan_budgets {
  object_reader in(table, pointer, problems);
  const plan_budget all = read_budget(in, {});
  std::map<std::string, plan_budget, std::less<>> plans;
  if (const nlohmann::json* tables = in.object("plan", presence::optional)) {
    const std::string parent = in.pointer_of("plan");
    for (const auto& [name, own] : tables->items()) {
      const std::string place = braid::json_pointer(parent, name);
      if (!is_plan_word(name))
        problems.add({.code = "bad_value",
                      .pointer = place,
                      .message = quote_name(name) + " is not a plan name: use letters, digits and `_`",
                      .hint = {},
                      .node = {},
                      .source = {}});
      object_reader one(own, place, problems);
      plans.emplace(name, read_budget(one, all));
      one.refuse_unknown_fields();
    }
  }
  in.refuse_unknown_fields();
  return {all, std::move(plans)};
}

}  // namespace rankd
