// rankd/registry/write_file.hpp: writing files so that a crash leaves them whole.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string_view>

namespace rankd {

/// Writes all of the bytes, in as many pieces as the system takes.
/// Blocks: on what is written to. Errors: the system's; some of the bytes may be written then.
auto write_all(int descriptor, std::string_view bytes) -> braid::result<void>;

/// Writes a file anew, readable for its owner and group at most, and waits until its bytes are on the disk. Its name is
/// durable after `sync_folder`. A crash may leave any part of it. Blocks: on the disk.
auto write_file(const std::filesystem::path& file, std::string_view bytes) -> braid::result<void>;

/// Makes the names in a folder durable: what a crash leaves has them.
/// Blocks: on the disk.
auto sync_folder(const std::filesystem::path& folder) -> braid::result<void>;

/// The same for the folder in which `file` lies.
auto sync_parent_folder(const std::filesystem::path& file) -> braid::result<void>;

/// Replaces a file as a whole, by way of FILE.new: after a crash at any point it is the old or the new one, and after
/// the return the new one.
/// Blocks: on the disk.
auto replace_file(const std::filesystem::path& file, std::string_view bytes) -> braid::result<void>;

}  // namespace rankd
