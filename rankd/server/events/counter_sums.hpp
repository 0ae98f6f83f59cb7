// rankd/server/events/counter_sums.hpp: adds to a counter in a hash, as the commands of Redis would.
#pragma once

#include <rankd/registry/value.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/store/counted_value.hpp>

#include <string>

namespace rankd {

/// Returns the amount as decimal digits that are parsed as the same number.
[[nodiscard]] auto amount_text(const scalar& by) -> std::string;

/// Returns whether every amount is an integer. If one may be a fraction, the field may hold a fraction already, which
/// HINCRBY refuses: so the amount of one step does not determine the command.
[[nodiscard]] auto adds_integers(const event_rules& rules, const event_rule& counter) -> bool;

/// Changes a hash as Redis does: HINCRBY, HINCRBYFLOAT, or the script of a decaying sum. Returns false, and changes
/// nothing, if Redis would refuse it: a field that is not a number, or a sum that would not fit. Values have the digits
/// that Redis would write on this machine.
[[nodiscard]] auto add_to(counted_hash& hash, const event_rules& rules, const rule_step& step) -> bool;

}  // namespace rankd
