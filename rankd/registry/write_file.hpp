// rankd/registry/write_file.hpp: writes files durably, and replaces them so that a crash leaves the old or the new
// file.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string_view>

namespace rankd {

/// Writes all bytes, in as many pieces as the system accepts.
/// Blocks: until all bytes are written. Errors: those of the system. After an error, some of the bytes may have been
/// written.
auto write_all(int descriptor, std::string_view bytes) -> braid::result<void>;

/// Writes a new file, readable at most for its owner and group, and waits until its bytes are on the disk. The name is
/// durable only after `sync_folder`. A crash may leave any part of the file. Blocks: on the disk.
auto write_file(const std::filesystem::path& file, std::string_view bytes) -> braid::result<void>;

/// Makes the names in a folder durable, so that they exist after a crash.
/// Blocks: on the disk.
auto sync_folder(const std::filesystem::path& folder) -> braid::result<void>;

/// Makes the name of `file` durable by syncing its folder.
auto sync_parent_folder(const std::filesystem::path& file) -> braid::result<void>;

/// Creates a folder and the missing folders above it, and makes their names durable. The last folder may exist already.
/// It may even have been created by a process that was killed before the name was durable. Returns whether this call
/// has created the last folder.
/// Blocks: on the disk.
auto create_durable_folder(const std::filesystem::path& folder) -> braid::result<bool>;

/// Replaces a file atomically: writes FILE.new and renames it. After a crash at any point, the file is the old or the
/// new one. Once the function has returned, it is the new one.
/// Blocks: on the disk.
auto replace_file(const std::filesystem::path& file, std::string_view bytes) -> braid::result<void>;

}  // namespace rankd
