// rankd/registry/utc_time.hpp: parses times in UTC, as files of projects and logs contain them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace rankd {

/// A point in time with the resolution of rankd's logs.
using utc_time = std::chrono::sys_time<std::chrono::microseconds>;

/// Parses a time such as `2026-11-24T00:00:00Z`. The seconds may have a fraction of one to six digits, as in
/// `2026-11-24T00:00:00.25Z`. Returns nothing for any other text, and for dates that do not exist.
[[nodiscard]] auto parse_utc_time(std::string_view text) -> std::optional<utc_time>;

}  // namespace rankd
