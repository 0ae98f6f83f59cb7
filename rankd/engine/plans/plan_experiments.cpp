// rankd/engine/plans/plan_experiments.cpp: assigns requests to arms of experiments, and sets the values of params.
#include <rankd/engine/plans/plan_experiments.hpp>

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <ranges>
#include <utility>
#include <variant>

namespace rankd {
namespace {

using detail::diagnostic_list;

auto find_position(std::uint32_t param_id, const registries& declared) -> std::size_t {
  return declared.index_of(*declared.find_param(param_id));
}

auto list_arms(const experiment_entry& entry, const std::string& pointer, const registries& declared)
    -> std::vector<plan_experiments::arm> {
  std::vector<plan_experiments::arm> out;
  for (const experiment_arm& each : entry.arms) {
    plan_experiments::arm arm{
        .name = each.name, .set = {}, .pointer = braid::json_pointer(braid::json_pointer(pointer, "arms"), out.size())};
    for (const experiment_arm::setting& one : each.set)
      arm.set.push_back({.param = find_position(one.param_id, declared), .value = one.value});
    out.push_back(std::move(arm));
  }
  return out;
}

/// Returns the index of a layer in `into`, and adds the layer if necessary.
auto make_layer(plan_experiments& into, const experiment_layer& from, const registries& declared) -> std::uint32_t {
  auto found = std::ranges::find(into.layers, from.name, &plan_experiments::layer::name);
  if (found == into.layers.end()) {
    into.layers.push_back(
        {.name = from.name,
         .salt = from.salt,
         .unit = from.unit_param ? std::optional(find_position(*from.unit_param, declared)) : std::nullopt,
         .buckets = from.buckets,
         .slots = {}});
    found = std::prev(into.layers.end());
  }
  return static_cast<std::uint32_t>(found - into.layers.begin());
}

void add_experiment(plan_experiments& into, const experiment_set& experiments, std::size_t index,
                    const registries& declared) {
  const experiment_entry& entry = experiments.experiments()[index];
  const auto number = static_cast<std::uint32_t>(into.experiments.size());
  plan_experiments::experiment made{.name = entry.name,
                                    .layer = make_layer(into, experiments.layers()[entry.layer], declared),
                                    .about = {},
                                    .arms = list_arms(entry, braid::json_pointer("/experiment", index), declared)};
  if (entry.filter)
    made.about =
        plan_experiments::filter{.param = find_position(entry.filter->param_id, declared), .in = entry.filter->in};
  for (std::uint32_t arm = 0; arm < entry.arms.size(); ++arm)
    into.layers[made.layer].slots.push_back(
        {.from = entry.arms[arm].from, .to = entry.arms[arm].to, .experiment = number, .arm = arm});
  into.experiments.push_back(std::move(made));
}

/// Returns the unit of a request, such as its user, as a text. Returns nothing if the request has no unit.
auto find_unit(const plan_experiments::layer& layer, const rank_request& request) -> std::optional<std::string> {
  if (!layer.unit) return request.user_id ? std::optional(to_text(*request.user_id)) : std::nullopt;
  const scalar& value = request.params[*layer.unit];
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::nullopt;
}

/// Returns the slot that contains a bucket, or null if the bucket belongs to no arm.
auto find_slot(const plan_experiments::layer& layer, std::uint32_t bucket) -> const plan_experiments::slot* {
  const auto behind = std::ranges::upper_bound(layer.slots, bucket, {}, &plan_experiments::slot::from);
  if (behind == layer.slots.begin()) return nullptr;
  const plan_experiments::slot& last = *std::prev(behind);
  return bucket <= last.to ? &last : nullptr;
}

auto is_about(const plan_experiments::experiment& one, const rank_request& request) -> bool {
  if (!one.about) return true;
  return std::ranges::find(one.about->in, request.params[one.about->param]) != one.about->in.end();
}

/// Returns the arm of the bucket that a request belongs to.
auto arm_by_bucket(const plan_experiments& running, std::uint32_t layer, const rank_request& request)
    -> std::optional<chosen_arm> {
  const plan_experiments::layer& in = running.layers[layer];
  const std::optional<std::string> unit = find_unit(in, request);
  if (!unit) return std::nullopt;
  const std::uint32_t bucket = hash_to_bucket(in.salt, *unit, in.buckets);
  const plan_experiments::slot* const slot = find_slot(in, bucket);
  if (slot == nullptr || !is_about(running.experiments[slot->experiment], request)) return std::nullopt;
  return chosen_arm{.experiment = slot->experiment, .arm = slot->arm, .bucket = bucket};
}

template <typename Items>
auto list_names(const Items& items) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  for (const auto& each : items) out.emplace_back(each.name);
  return out;
}

/// Returns the arm that the request names. Reports an error if the experiment or the arm is unknown.
auto forced_arm(const plan_experiments& running, const forced_choice& named, diagnostic_list problems)
    -> std::optional<chosen_arm> {
  const std::string pointer = braid::json_pointer("/experiments", named.experiment);
  const auto found = std::ranges::find(running.experiments, named.experiment, &plan_experiments::experiment::name);
  if (found == running.experiments.end()) {
    problems.add("unknown_experiment", pointer,
                 "no active experiment of this plan is called " + quote_name(named.experiment),
                 braid::did_you_mean(named.experiment, list_names(running.experiments)));
    return std::nullopt;
  }
  const auto arm = std::ranges::find(found->arms, named.arm, &plan_experiments::arm::name);
  if (arm == found->arms.end()) {
    problems.add("unknown_arm", pointer, "no arm of `" + found->name + "` is called " + quote_name(named.arm),
                 braid::did_you_mean(named.arm, list_names(found->arms)));
    return std::nullopt;
  }
  return chosen_arm{.experiment = static_cast<std::uint32_t>(found - running.experiments.begin()),
                    .arm = static_cast<std::uint32_t>(arm - found->arms.begin()),
                    .from = arm_source::request};
}

/// Returns the arms that the request names, indexed by layer.
auto forced_arms(const plan_experiments& running, const rank_request& request, diagnostic_list problems)
    -> std::vector<std::optional<chosen_arm>> {
  std::vector<std::optional<chosen_arm>> out(running.layers.size());
  constexpr std::size_t most = 100;  // more than there are arms, so with this many at least one is wrong
  for (const forced_choice& named : request.forced | std::views::take(most)) {
    const auto arm = forced_arm(running, named, problems);
    if (!arm) continue;
    std::optional<chosen_arm>& place = out[running.experiments[arm->experiment].layer];
    if (place)
      problems.add("layer_conflict", braid::json_pointer("/experiments", named.experiment),
                   "`" + running.experiments[place->experiment].name +
                       "` is in the same layer, and a request can take part in only one experiment of a layer");
    else
      place = arm;
  }
  return out;
}

/// Sets params to the values of an arm. Does not change values that the request sets itself.
void set_params(rank_request& request, const plan_experiments::arm& arm, chosen_arm& chosen) {
  for (const plan_experiments::setting& each : arm.set) {
    if (std::ranges::find(request.overridden, each.param) != request.overridden.end()) {
      chosen.is_overridden = true;
      continue;
    }
    request.params[each.param] = each.value;
    request.set_by_arms.push_back(each.param);
  }
}

/// Chooses the arms of a request. All filters are evaluated on the original params, before any arm changes them.
void choose_arms(rank_request& request, const plan_experiments& running, diagnostic_list problems) {
  const std::vector<std::optional<chosen_arm>> forced = forced_arms(running, request, problems);
  for (std::uint32_t layer = 0; layer < running.layers.size(); ++layer)
    if (const auto arm = forced[layer] ? forced[layer] : arm_by_bucket(running, layer, request))
      request.arms.push_back(*arm);
  std::ranges::sort(request.arms, {}, &chosen_arm::experiment);
  for (chosen_arm& each : request.arms) set_params(request, running.experiments[each.experiment].arms[each.arm], each);
}

auto is_outside(const scalar& value, const param_range& range) -> bool {
  return is_null(value) || value < range.min || range.max < value;
}

/// Calls `use(experiment, setting, pointer)` for each param that an arm sets.
template <typename Use>
void for_each_setting(const plan_experiments& running, const registries& declared, Use use) {
  for (const plan_experiments::experiment& one : running.experiments)
    for (const plan_experiments::arm& arm : one.arms)
      for (const plan_experiments::setting& each : arm.set)
        use(one, each,
            braid::json_pointer(braid::json_pointer(arm.pointer, "set"), declared.params()[each.param].name));
}

}  // namespace

auto find_experiments(const experiment_set& experiments, std::string_view plan, const registries& declared,
                      std::optional<std::chrono::sys_seconds> now) -> std::shared_ptr<const plan_experiments> {
  plan_experiments out;
  for (std::size_t at = 0; at < experiments.experiments().size(); ++at) {
    const experiment_entry& each = experiments.experiments()[at];
    const bool runs = now ? each.runs_at(*now) : each.status != experiment_status::ended;
    if (runs && each.belongs_to(plan)) add_experiment(out, experiments, at, declared);
  }
  if (out.experiments.empty()) return nullptr;
  for (plan_experiments::layer& each : out.layers) std::ranges::sort(each.slots, {}, &plan_experiments::slot::from);
  return std::make_shared<const plan_experiments>(std::move(out));
}

auto experiment_time() -> std::chrono::sys_seconds {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

void add_experiments(bound_plan& plan, std::shared_ptr<const plan_experiments> running, const registries& declared,
                     braid::diagnostics& problems) {
  plan.experiments = std::move(running);
  if (plan.experiments == nullptr) return;
  for_each_setting(*plan.experiments, declared, [&](const auto& /*of*/, const auto& each, const std::string& pointer) {
    const auto range = std::ranges::find(plan.whole.needs.ranges, each.param, &param_range::param);
    if (range == plan.whole.needs.ranges.end() || !is_outside(each.value, *range)) return;
    problems.add({.code = "param_out_of_range",
                  .pointer = pointer,
                  .message = "plan `" + plan.name + "` accepts `" + declared.params()[each.param].name + "` from " +
                             number_text(range->min) + " to " + number_text(range->max) + ", not " +
                             number_text(each.value),
                  .hint = {},
                  .node = {},
                  .source = std::string(experiments_file)});
  });
}

auto unread_settings(const bound_plan& plan, const registries& declared) -> braid::diagnostics {
  braid::diagnostics warnings;
  if (plan.experiments == nullptr) return warnings;
  const std::vector<const param_entry*> read = params_read_by(*plan.stated, declared);
  for_each_setting(*plan.experiments, declared, [&](const auto& entry, const auto& each, const std::string& pointer) {
    const param_entry& param = declared.params()[each.param];
    if (std::ranges::find(read, &param) != read.end()) return;
    warnings.add(
        {.code = "unread_param",
         .pointer = pointer,
         .message = "`" + entry.name + "` sets `" + param.name + "`, which plan `" + plan.name + "` does not read",
         .hint = {},
         .node = {},
         .source = std::string(experiments_file)});
  });
  return warnings;
}

auto fit_to_plan(rank_request& request, const bound_plan& plan, const registries& declared) -> braid::diagnostics {
  if (plan.experiments != nullptr || !request.forced.empty()) [[unlikely]] {
    static const plan_experiments none;
    braid::diagnostics problems;
    choose_arms(request, plan.experiments == nullptr ? none : *plan.experiments, {problems});
    problems.set_source("request");
    if (!problems.empty()) return problems;
  }
  braid::diagnostics problems = check_needs(request, find_route(plan, request.params)->needs, declared);
  if (!request.captures.empty()) problems.append(check_captures(request, plan, declared));
  return problems;
}

void append_arms(std::string& out, const plan_experiments& running, std::span<const chosen_arm> arms) {
  out += "\"experiments\":{";
  bool is_overridden = false;
  for (const chosen_arm& each : arms) {
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, running.experiments[each.experiment].name);
    out += ':';
    append_json_string(out, running.experiments[each.experiment].arms[each.arm].name);
    is_overridden = is_overridden || each.is_overridden;
  }
  out += '}';
  if (!is_overridden) return;
  out += ",\"experiments_overridden\":[";
  for (const chosen_arm& each : arms) {
    if (!each.is_overridden) continue;
    if (!out.ends_with('[')) out += ',';
    append_json_string(out, running.experiments[each.experiment].name);
  }
  out += ']';
}

}  // namespace rankd
