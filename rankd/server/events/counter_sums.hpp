// rankd/server/events/counter_sums.hpp: what a step of a counter makes of a hash, as the commands of Redis would.
#pragma once

#include <rankd/registry/value.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/store/counted_hashes.hpp>

#include <string>

namespace rankd {

/// What is added, as decimal digits that are read as the same number.
[[nodiscard]] auto amount_text(const scalar& by) -> std::string;

/// Whether every amount is whole. Where one may be a fraction, the field may hold one already, which HINCRBY refuses:
/// so what is added is no sign of the command.
[[nodiscard]] auto adds_integers(const event_rules& rules, const event_counter& counter) -> bool;

/// Does to a hash what Redis does: HINCRBY, HINCRBYFLOAT, or the script of a sum that fades, and EXPIRE counted from
/// when the event was received. False, and nothing is changed, where Redis would refuse it: a field that is no number,
/// or a sum that would not fit. Values have the digits that Redis would give them on this machine.
[[nodiscard]] auto add_to(counted_hash& hash, const event_rules& rules, const counter_step& step) -> bool;

}  // namespace rankd
