// rankd/cli/output/report.hpp: prints diagnostics and other texts for all commands.
#pragma once

#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// Prints diagnostics. For people, each diagnostic is a line on standard error. For programs, all diagnostics form one
/// error response on standard output, with the request id if there is one. Returns exit_status::failed.
auto report(const braid::diagnostics& problems, output_form form = output_form::people,
            std::string_view request_id = {}) -> exit_status;

/// The text that a table shows for an absent value.
inline constexpr std::string_view nothing = "-";

/// Formats a number. `format` is a printf format for one double. Zero is printed without a sign.
auto printed(const char* format, double value) -> std::string;

/// Joins items with commas, as in "a, b, c". Returns `none` if there are no items.
auto joined(std::span<const std::string> items, std::string_view none = {}) -> std::string;

/// Returns "yes" or "no".
auto yes_or_no(bool yes) -> std::string;

/// Prints a text to standard output.
void print(const std::string& text);

}  // namespace rankd
