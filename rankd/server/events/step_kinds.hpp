// rankd/server/events/step_kinds.hpp: the table of the kinds of rules, with their effects in memory and in Redis.
#pragma once

#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/store/counted_value.hpp>

#include <braid/net/redis_batch.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace rankd {

/// A kind of rule. `change` applies a step to a value in memory. `send` appends Redis commands with the same effect.
struct step_kind {
  rule_kind kind = rule_kind::counter;
  std::string_view table;                 ///< the name of the table in events.toml
  record_kind holds = record_kind::hash;  ///< the kind of value that the step changes
  /// Applies the step. Returns false and changes nothing if Redis would refuse the step.
  auto (*change)(counted_value& value, const event_rules& rules, const rule_step& step) -> bool = nullptr;
  /// Appends commands and returns how many were appended. If Redis refuses the step, it refuses the first of these
  /// commands.
  auto (*send)(const event_rules& rules, const rule_step& step, braid::redis_batch& out) -> std::size_t = nullptr;
};

/// Returns one row for each `rule_kind`, in the order of the enumeration.
[[nodiscard]] auto step_kinds() noexcept -> std::span<const step_kind>;
[[nodiscard]] auto find_step_kind(rule_kind kind) noexcept -> const step_kind&;

/// Changes a value as Redis does, and its expiry as EXPIRE does, relative to the time at which the event was received.
/// Returns false and changes nothing if Redis would refuse the step, because the value has another kind, a set is full,
/// a field is not a number, or a sum is out of range.
[[nodiscard]] auto apply_step(counted_value& value, const event_rules& rules, const rule_step& step) -> bool;

/// Appends the commands of a step, and returns how many replies they have. The step was applied if the first reply is
/// not an error.
auto add_commands(const event_rules& rules, const rule_step& step, braid::redis_batch& out) -> std::size_t;

}  // namespace rankd
