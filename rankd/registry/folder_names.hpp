// rankd/registry/folder_names.hpp: lists the names in a folder.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace rankd {

/// Returns the names in a folder, unordered. If memory runs out, this function throws, whereas
/// std::filesystem::directory_iterator of libstdc++ 12 would end the process. Blocks: on the disk. Errors: those of
/// opendir and readdir; std::bad_alloc.
auto folder_names(const std::filesystem::path& folder) -> braid::result<std::vector<std::string>>;

}  // namespace rankd
