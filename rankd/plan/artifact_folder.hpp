// rankd/plan/artifact_folder.hpp: lists the artifacts of one folder, and checks its index.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The name of the index, an optional file next to the artifacts. If it exists, it must list all artifacts with their
/// digests.
inline constexpr std::string_view index_file = "index.json";

/// The name of the file that lists the sources for the compiler of plans. This file is stored next to the sources,
/// which may be in the same folder as the artifacts.
inline constexpr std::string_view manifest_file = "manifest.json";

/// The ending of a file of tests. The file NAME.tests.json contains the tests of the plan NAME. This file is stored
/// next to the artifacts, but is not an artifact itself.
inline constexpr std::string_view test_suffix = ".tests.json";

/// An artifact: the file NAME.json in a folder. The files index.json, manifest.json and NAME.tests.json are not
/// artifacts.
struct artifact {
  std::string name;
  std::filesystem::path file;
};

/// Returns the artifacts of a folder, sorted by name, without opening them. Blocks: on the disk. Errors:
/// unreadable_folder.
auto list_artifacts(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// Returns the files NAME.tests.json of a folder as artifacts called NAME, sorted by name, without opening them.
/// Blocks: on the disk. Errors: unreadable_folder.
auto list_plan_tests(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// Checks the index of a folder, and returns its errors. Returns no errors if there is no index.
/// Blocks: on the disk. Errors: digest_mismatch, not_indexed, unknown_artifact, and those of `read_json_file` and
/// `object_reader`.
auto verify_index(const std::filesystem::path& folder) -> braid::diagnostics;

/// Checks the index entry of one artifact only. An artifact that is missing in the index is accepted, because
/// `verify_index` reports it.
auto verify_index_entry(const artifact& artifact) -> braid::diagnostics;

}  // namespace rankd
