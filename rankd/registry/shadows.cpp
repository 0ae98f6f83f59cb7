// rankd/registry/shadows.cpp: reads which plans run as shadows of other plans.
#include <rankd/registry/shadows.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/project.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

constexpr int_range runs_range{.min = 1, .max = 10'000};

auto read_shadow(object_reader& reader, std::string plan) -> shadow_settings {
  shadow_settings out{.plan = std::move(plan), .candidate = {}};
  if (const std::string* candidate = reader.text("plan", presence::required)) out.candidate = *candidate;
  if (out.candidate == out.plan) reader.report("plan", "bad_value", "a plan cannot be its own candidate");
  if (const auto share = reader.typed("share", presence::optional, value_type::floating)) {
    out.share = std::get<double>(*share);
    if (!(out.share > 0 && out.share <= 1))
      reader.report("share", "bad_value", "`share` must be above 0 and at most 1, got `" + number_text(*share) + "`");
  }
  if (const auto runs = reader.integer("in_flight", presence::optional, runs_range))
    out.in_flight = static_cast<std::size_t>(*runs);
  reader.refuse_unknown_fields();
  return out;
}

}  // namespace

auto read_shadows(const nlohmann::json& tables, const std::string& pointer, braid::diagnostics& problems)
    -> std::vector<shadow_settings> {
  std::vector<shadow_settings> out;
  for (const auto& [name, table] : tables.items()) {
    object_reader in(table, braid::json_pointer(pointer, name), problems);
    out.push_back(read_shadow(in, name));
  }
  return out;
}

auto find_strangers(const std::vector<shadow_settings>& shadows, const std::vector<std::string>& plans)
    -> braid::diagnostics {
  braid::diagnostics problems;
  const auto check = [&](const std::string& name, const std::string& place) {
    if (std::ranges::find(plans, name) != plans.end()) return;
    std::string hint = braid::did_you_mean(name, {plans.begin(), plans.end()});
    if (hint.empty()) hint = "build that plan, or remove the table";
    problems.add({.code = "unknown_plan",
                  .pointer = place,
                  .message = "no plan is called " + quote_name(name),
                  .hint = std::move(hint),
                  .node = {},
                  .source = std::string(project_file)});
  };
  for (const shadow_settings& each : shadows) {
    const std::string place = braid::json_pointer("/shadow", each.plan);
    check(each.plan, place);
    check(each.candidate, place + "/plan");
  }
  return problems;
}

}  // namespace rankd
