// rankd/cli/report.hpp: how commands print complaints.
#pragma once

#include <rankd/cli/commands.hpp>

#include <braid/base/diagnostics.hpp>

#include <string>

namespace rankd {

/// Complaints on standard error, one a line. Gives exit_status::failed.
auto report(const braid::diagnostics& problems) -> exit_status;

/// Text on standard output.
void print(const std::string& text);

/// The complaints as a JSON array of {code, pointer, node, message, hint, source}.
auto complaints_json(const braid::diagnostics& problems) -> std::string;

}  // namespace rankd
