// rankd/server/events/counter_sums.hpp: applies a counter step to a hash in memory, with the same result as the Redis
// commands.
#pragma once

#include <rankd/registry/value.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/store/counted_hashes.hpp>

#include <string>

namespace rankd {

/// Returns the amount as decimal digits that are parsed as the same number.
[[nodiscard]] auto amount_text(const scalar& by) -> std::string;

/// Returns whether every amount of a counter is an integer. This depends on the declared type, not on the amount of one
/// step: if one amount may be a fraction, the field may already hold a fraction, which HINCRBY refuses.
[[nodiscard]] auto adds_integers(const event_rules& rules, const event_counter& counter) -> bool;

/// Changes a hash as Redis does: HINCRBY, HINCRBYFLOAT, or the script of a decaying sum, and EXPIRE counted from the
/// receipt of the event. Returns false, and changes nothing, if Redis would refuse the change: the field is not a
/// number, or the sum does not fit. Values have the same digits that Redis would write on this machine.
[[nodiscard]] auto add_to(counted_hash& hash, const event_rules& rules, const counter_step& step) -> bool;

}  // namespace rankd
