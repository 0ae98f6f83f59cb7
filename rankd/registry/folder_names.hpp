// rankd/registry/folder_names.hpp: the names in a folder.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace rankd {

/// The names of what a folder holds, in no order. std::filesystem::directory_iterator of libstdc++ 12 ends the process
/// if there is no memory; this function throws. Blocks: on the disk. Errors: those of opendir and readdir;
/// std::bad_alloc.
auto folder_names(const std::filesystem::path& folder) -> braid::result<std::vector<std::string>>;

}  // namespace rankd
