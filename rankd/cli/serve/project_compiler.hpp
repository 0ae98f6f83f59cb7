// rankd/cli/serve/project_compiler.hpp: which dslc a project is edited with.
#pragma once

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/server/studio/draft_plans.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace rankd {

/// Returns the program dslc: that of the project's own packages, or else the first in a list of folders separated by
/// colons, like the variable PATH; empty if there is no dslc.
[[nodiscard]] auto find_compiler(const std::filesystem::path& root, const std::string& path) -> std::string;

/// Opens drafts for the plans of a project, bound as the library would bind them then. Returns null if there is no
/// compiler, and says so on standard error. Lifetime: the library outlives it.
[[nodiscard]] auto open_drafts(const std::filesystem::path& root, plan_library& library, const std::string& compiler)
    -> std::unique_ptr<draft_plans>;

}  // namespace rankd
