// rankd/plan/folder_image.hpp: the artifacts of a folder with their bytes, all as they were at one moment.
#pragma once

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rankd {

/// One artifact as it was read.
struct artifact_image {
  std::string name;
  std::filesystem::path file;
  std::string text;
  braid::diagnostics problems;  ///< of the file and of its row in the index; only with `image_faults::kept`
};

/// How to treat an artifact that cannot be read, or that differs from the index.
enum class image_faults : std::uint8_t {
  refused,  ///< there is no image
  kept,     ///< it is in the image, with its problems
};

/// Gives the bytes of a file; `read_text_file` unless a test brings a disk of its own.
using file_reader = std::function<braid::checked<std::string>(const std::filesystem::path&)>;

/// Reads the artifacts of a folder in the order of their names. Every file is read twice, so that a write meanwhile is
/// noticed: between both passes all files had these bytes. The index is compared with these bytes, and nothing of it is
/// read later. If faults are kept, the image also contains artifacts that only the index names.
/// Blocks: on the disk. Errors: folder_changing if it keeps changing; those of `list_artifacts`, `verify_index`,
/// `read_text_file`.
auto read_folder_image(const std::filesystem::path& folder, const file_reader& read = {},
                       image_faults faults = image_faults::refused) -> braid::checked<std::vector<artifact_image>>;

}  // namespace rankd
