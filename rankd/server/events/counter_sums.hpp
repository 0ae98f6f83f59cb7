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

/// Returns whether a counter only ever adds integers. Otherwise its field may hold a fraction, which HINCRBY refuses,
/// so HINCRBYFLOAT is used even for a step that adds an integer.
[[nodiscard]] auto adds_integers(const event_rules& rules, const event_rule& counter) -> bool;

/// Changes a hash as Redis does: HINCRBY, HINCRBYFLOAT, or the script of a decaying sum. Returns false, and changes
/// nothing, if Redis would refuse the change, because a field is not a number or a sum would not fit. Values have the
/// digits that Redis would write on this machine.
[[nodiscard]] auto add_to(counted_hash& hash, const event_rules& rules, const rule_step& step) -> bool;

}  // namespace rankd
