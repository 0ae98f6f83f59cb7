// rankd/plan/catalog.hpp: the artifacts of one folder.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// Beside the artifacts; where it is present, it must name them all, with the digests that they have.
inline constexpr std::string_view index_file = "index.json";

/// Beside the sources of plans, which may lie in the same folder: the list of them that the compiler of plans reads.
inline constexpr std::string_view manifest_file = "manifest.json";

/// Beside the artifacts: NAME.tests.json holds the tests of the plan NAME, and is none of them.
inline constexpr std::string_view test_suffix = ".tests.json";

/// NAME.json in a folder of artifacts; index.json, manifest.json and NAME.tests.json are none.
struct artifact {
  std::string name;
  std::filesystem::path file;
};

/// The artifacts of a folder in the order of their names. They are not opened.
/// Blocks: on the disk.
/// Errors: unreadable_folder.
auto list_artifacts(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// The files NAME.tests.json of a folder, as artifacts called NAME, in the order of their names. They are not opened.
/// Blocks: on the disk.
/// Errors: unreadable_folder.
auto list_plan_tests(const std::filesystem::path& folder) -> braid::checked<std::vector<artifact>>;

/// What is wrong with the index of a folder; nothing where there is none.
/// Blocks: on the disk.
/// Errors: digest_mismatch, not_indexed, unknown_artifact, and those of `read_json_file` and `object_reader`.
auto verify_index(const std::filesystem::path& folder) -> braid::diagnostics;

/// The same for one artifact only: what the index says of the others does not matter. One that the index does not name
/// is fine here; the diagnostic about it is that of the whole.
auto verify_index_of(const artifact& one) -> braid::diagnostics;

}  // namespace rankd
