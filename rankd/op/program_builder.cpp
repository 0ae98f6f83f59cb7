// rankd/op/program_builder.cpp: builds programs: removes unused steps, and assigns the results of steps to as few slots
// as possible.
#include <rankd/op/detail/program_builder.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::uint32_t unplaced = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

}  // namespace

auto program_builder::input(number_width width) -> std::uint32_t {
  inputs_.push_back({.key_id = static_cast<std::uint32_t>(inputs_.size()), .slot = slots_, .width = width});
  return slots_++;
}

auto program_builder::step(model_op kind, number_width width, std::span<const std::uint32_t> operands, double value)
    -> std::uint32_t {
  made_.steps.push_back({.kind = kind,
                         .width = width,
                         .out = slots_,
                         .first = static_cast<std::uint32_t>(made_.operands.size()),
                         .count = static_cast<std::uint32_t>(operands.size()),
                         .value = value});
  made_.operands.insert(made_.operands.end(), operands.begin(), operands.end());
  return slots_++;
}

auto program_builder::constant(double value, number_width width) -> std::uint32_t {
  return step(model_op::constant, width, {}, value);
}

auto program_builder::weighted(std::span<const std::uint32_t> operands, std::span<const double> weights,
                               std::span<const double> last, number_width width) -> slot_list {
  slot_list out;
  for (std::size_t column = 0; column < last.size(); ++column) {
    out.push_back(step(model_op::weighted, width, operands));
    made_.steps.back().extra = static_cast<std::uint32_t>(made_.numbers.size());
    for (std::size_t at = 0; at < operands.size(); ++at) made_.numbers.push_back(weights[at * last.size() + column]);
    made_.numbers.push_back(last[column]);
  }
  return out;
}

auto program_builder::forest(program_forest made, std::size_t outputs, std::span<const std::uint32_t> columns)
    -> slot_list {
  slot_list used;
  std::vector<split_node>& nodes = made.trees.nodes;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (nodes[at].left == at) {
      nodes[at].feature = unplaced;
      continue;
    }
    nodes[at].feature = columns[nodes[at].feature];
    used.push_back(nodes[at].feature);
  }
  std::ranges::sort(used);
  const auto repeats = std::ranges::unique(used);
  used.erase(repeats.begin(), repeats.end());
  step(model_op::forest, made.trees.width, used);
  made_.steps.back().extra = static_cast<std::uint32_t>(made_.forests.size());
  made.outs = {made_.steps.back().out};
  while (made.outs.size() < outputs) made.outs.push_back(slots_++);
  made_.forests.push_back(std::move(made));
  return made_.forests.back().outs;
}

auto program_builder::list_outs(const program_step& step) const -> std::span<const std::uint32_t> {
  if (step.kind == model_op::forest) return made_.forests[step.extra].outs;
  return {&step.out, 1};
}

auto program_builder::list_operands(const program_step& step) const -> std::span<const std::uint32_t> {
  return std::span(made_.operands).subspan(step.first, step.count);
}

void program_builder::mark_needed() {
  needed_.assign(slots_, false);
  for (const std::uint32_t each : made_.outputs) needed_[each] = true;
  for (std::size_t at = made_.steps.size(); at-- > 0;) {
    const auto is_needed = [this](std::uint32_t slot) { return static_cast<bool>(needed_[slot]); };
    if (!std::ranges::any_of(list_outs(made_.steps[at]), is_needed)) continue;
    for (const std::uint32_t each : list_operands(made_.steps[at])) needed_[each] = true;
  }
  const auto is_idle = [this](const program_step& step) {
    return std::ranges::none_of(list_outs(step),
                                [this](std::uint32_t slot) { return static_cast<bool>(needed_[slot]); });
  };
  std::erase_if(made_.steps, is_idle);
}

void program_builder::find_last_uses() {
  last_uses_.assign(slots_, 0);
  for (std::size_t at = 0; at < made_.steps.size(); ++at) {
    for (const std::uint32_t each : list_outs(made_.steps[at])) last_uses_[each] = at;
    for (const std::uint32_t each : list_operands(made_.steps[at])) last_uses_[each] = at;
  }
  for (const std::uint32_t each : made_.outputs) last_uses_[each] = always;
}

auto program_builder::place(std::uint32_t slot) -> std::uint32_t {
  if (places_[slot] != unplaced) return places_[slot];
  if (free_.empty()) {
    places_[slot] = static_cast<std::uint32_t>(made_.slots++);
  } else {
    places_[slot] = free_.back();
    free_.pop_back();
  }
  return places_[slot];
}

void program_builder::release(std::span<const std::uint32_t> slots, std::size_t after) {
  for (const std::uint32_t each : slots) {
    if (last_uses_[each] != after) continue;
    free_.push_back(places_[each]);
    last_uses_[each] = always;  // it may be listed twice
  }
}

void program_builder::lay_out() {
  places_.assign(slots_, unplaced);
  for (const program_key& each : inputs_)
    if (needed_[each.slot])
      made_.keys.push_back({.key_id = each.key_id, .slot = place(each.slot), .width = each.width});
  for (std::size_t at = 0; at < made_.steps.size(); ++at) {
    // Assigns slots to the outputs before the slots of the operands are released, so a step never writes a slot that it
    // reads.
    for (const std::uint32_t each : list_outs(made_.steps[at])) place(each);
    release(list_operands(made_.steps[at]), at);
    release(list_outs(made_.steps[at]), at);
  }
}

auto program_builder::finished(slot_list outputs) && -> program_model {
  made_.outputs = std::move(outputs);
  mark_needed();
  find_last_uses();
  lay_out();
  for (program_step& step : made_.steps) {
    if (step.kind == model_op::forest) {
      program_forest& by = made_.forests[step.extra];
      for (split_node& node : by.trees.nodes) node.feature = node.feature == unplaced ? 0 : places_[node.feature];
      for (std::uint32_t& each : by.outs) each = places_[each];
    }
    step.out = places_[step.out];
  }
  for (std::uint32_t& each : made_.operands) each = each < slots_ && places_[each] != unplaced ? places_[each] : 0;
  for (std::uint32_t& each : made_.outputs) each = places_[each];
  made_.slots = std::max<std::size_t>(made_.slots, 1);
  return std::move(made_);
}

}  // namespace rankd::detail
