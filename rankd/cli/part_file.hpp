// rankd/cli/part_file.hpp: the file beside a place that is written until it is complete, and then takes that place.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <filesystem>

namespace rankd {

/// Opens `part` for reading and writing, made if need be, with what a process may have left in it that did not come to
/// its end. As long as it is open no other process opens it; the lock goes with the process, however that ends. A part
/// that is made has no more readers than the file at `place`.
/// Blocks: on the disk. Errors: operation_would_block where another process has it open; file_exists where something is
/// there that is no regular file; the system's.
auto open_part(const std::filesystem::path& part, const std::filesystem::path& place)
    -> braid::result<braid::descriptor>;

/// Whether an open file is the one that has the name: it may have been renamed, replaced or deleted since.
auto has_name(const braid::descriptor& file, const std::filesystem::path& name) -> bool;

/// Begins an open part anew: empties it, and gives it no more readers than the file at `place` has.
/// Blocks: on the disk.
auto empty_part(const braid::descriptor& file, const std::filesystem::path& place) -> braid::result<void>;

/// Makes an open part durable and renames it to `place`. It takes over the mode of the file that it replaces, and where
/// the system allows it owner and group.
/// Blocks: on the disk.
auto put_in_place(const braid::descriptor& file, const std::filesystem::path& part, const std::filesystem::path& place)
    -> braid::result<void>;

}  // namespace rankd
