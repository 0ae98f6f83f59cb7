// rankd/plan/folder_image.hpp: the artifacts of a folder with their bytes, all as they were at one moment.
#pragma once

#include <braid/base/diagnostics.hpp>

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
};

/// Gives the bytes of a file; `read_text_file` unless a test brings a disk of its own.
using file_reader = std::function<braid::checked<std::string>(const std::filesystem::path&)>;

/// The artifacts of a folder in the order of their names. Every file is read twice, so that a write meanwhile is
/// noticed: between both passes all files had these bytes. What an index says is held against these bytes, and nothing
/// of it is read later.
/// Blocks: on the disk.
/// Errors: folder_changing when it would not stand still; those of `list_artifacts`, `verify_index`, `read_text_file`.
auto read_folder_image(const std::filesystem::path& folder, const file_reader& read = {})
    -> braid::checked<std::vector<artifact_image>>;

}  // namespace rankd
