// rankd/server/events/counter_sums.hpp: adds to a counter in a hash, as the commands of Redis would.
#pragma once

#include <rankd/registry/value.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/store/counted_value.hpp>

#include <string>

namespace rankd {

/// Returns decimal digits that are parsed as the same number as the amount.
[[nodiscard]] auto amount_text(const scalar& amount) -> std::string;

/// Returns whether a counter adds only integers. If the counter can also add fractions, its field may contain a
/// fraction, which HINCRBY refuses. So HINCRBYFLOAT is used for such a counter, even for steps that add an integer.
[[nodiscard]] auto adds_integers(const event_rules& rules, const event_rule& counter) -> bool;

/// Changes a hash as Redis does: HINCRBY, HINCRBYFLOAT, or the script of a decaying sum. Returns false and changes
/// nothing if Redis would refuse the change, because a field is not a number or because the sum is too large. Values
/// have the digits that Redis would write on this machine.
[[nodiscard]] auto add_to(counted_hash& hash, const event_rules& rules, const rule_step& step) -> bool;

}  // namespace rankd
