// rankd/cli/output/report.hpp: how commands print diagnostics.
#pragma once

#include <rankd/cli/commands/commands.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// Prints diagnostics for people on standard error, one a line; for programs as an error response on standard output,
/// with the request's id if there is one. Returns exit_status::failed.
auto report(const braid::diagnostics& problems, output_form form = output_form::people,
            std::string_view request_id = {}) -> exit_status;

/// "1 record", "2 records".
auto counted(std::uint64_t count, std::string_view noun) -> std::string;

/// The text that a table shows for an absent value.
inline constexpr std::string_view nothing = "-";

/// Returns a number by a format of printf for one double. Zero has no sign.
auto printed(const char* format, double value) -> std::string;

/// Returns "a, b, c"; `none` if there are no items.
auto joined(std::span<const std::string> items, std::string_view none = {}) -> std::string;

/// "yes" or "no".
auto yes_or_no(bool yes) -> std::string;

/// Text on standard output.
void print(const std::string& text);

}  // namespace rankd
