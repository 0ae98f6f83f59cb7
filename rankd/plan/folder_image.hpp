// rankd/plan/folder_image.hpp: a consistent snapshot of all artifacts in a folder.
#pragma once

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rankd {

/// An artifact with its contents.
struct artifact_image {
  std::string name;
  std::filesystem::path file;
  std::string text;
  braid::diagnostics problems;  ///< problems of the file and of its row in the index; only with `image_faults::kept`
};

/// States what to do with an artifact that cannot be read, or that differs from the index.
enum class image_faults : std::uint8_t {
  refused,  ///< the whole image is refused
  kept,     ///< the artifact is in the image, with its problems
};

/// A function that returns the contents of a file. The default is `read_text_file`. Tests can pass a function that
/// simulates a disk.
using file_reader = std::function<braid::checked<std::string>(const std::filesystem::path&)>;

/// Reads the artifacts of a folder, sorted by name. Reads every file twice to detect concurrent writes, so there was a
/// moment between the two passes at which all files had the returned contents. The index is compared with these
/// contents. If faults are kept, the image also contains artifacts that only the index lists.
/// Blocks: on the disk. Errors: folder_changing if the folder keeps changing; those of `list_artifacts`,
/// `verify_index`, `read_text_file`.
auto read_folder_image(const std::filesystem::path& folder, const file_reader& read = {},
                       image_faults faults = image_faults::refused) -> braid::checked<std::vector<artifact_image>>;

}  // namespace rankd
