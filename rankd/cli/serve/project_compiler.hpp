// rankd/cli/serve/project_compiler.hpp: finds the compiler dslc, which compiles the edited plans of a project.
#pragma once

#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/server/studio/draft_plans.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace rankd {

/// Returns the path of the compiler dslc in the project's own packages. If these packages do not contain dslc, returns
/// the first dslc in the folders of `path`, which has the form of the variable PATH. Returns an empty path if no dslc
/// is found.
[[nodiscard]] auto find_compiler(const std::filesystem::path& root, const std::string& path) -> std::string;

/// Opens drafts for the plans of a project. A draft is bound in the same way as a plan that `library` would load at
/// that moment. If there is no compiler, prints a message to standard error and returns null. Lifetime: the library
/// outlives it.
[[nodiscard]] auto open_drafts(const std::filesystem::path& root, plan_library& library, const std::string& compiler)
    -> std::unique_ptr<draft_plans>;

}  // namespace rankd
