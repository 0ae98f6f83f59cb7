// tests/windows/tests/support/privileges.hpp: Windows lets each process change the settings of its threads.
#pragma once

namespace braid::testing {

inline void give_up_privileges() {}

inline auto settings_can_change() -> bool { return true; }

}  // namespace braid::testing
