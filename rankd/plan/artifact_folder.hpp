// rankd/plan/artifact_folder.hpp: the artifacts of one folder.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A file next to the artifacts; if it is present, it must name all of them with their digests.
inline constexpr std::string_view index_file = "index.json";

/// A file next to the sources of plans, which may be in the same folder: the list of sources that the compiler of plans
/// reads.
inline constexpr std::string_view manifest_file = "manifest.json";

/// NAME.tests.json, next to the artifacts, contains the tests of the plan NAME, and is not an artifact.
inline constexpr std::string_view test_suffix = ".tests.json";

/// NAME.json in a folder of artifacts; index.json, manifest.json and NAME.tests.json are not artifacts.
struct artifact {
  std::string name;
  std::filesystem::path file;
};

/// Returns the artifacts of a folder in the order of their names. They are not opened. Blocks: on the disk. Errors:
/// unreadable_folder.
auto list_artifacts(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// Returns the files NAME.tests.json of a folder, as artifacts called NAME, in the order of their names. They are not
/// opened. Blocks: on the disk. Errors: unreadable_folder.
auto list_plan_tests(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// Returns the faults of the index of a folder; nothing if there is no index.
/// Blocks: on the disk. Errors: digest_mismatch, not_indexed, unknown_artifact, and those of `read_json_file` and
/// `object_reader`.
auto verify_index(const std::filesystem::path& folder) -> braid::diagnostics;

/// Does the same for one artifact only; the index's entries for the others are ignored. An artifact that the index does
/// not name is accepted here; the check of the whole reports it.
auto verify_index_entry(const artifact& artifact) -> braid::diagnostics;

}  // namespace rankd
