// rankd/store/detail/load_mark.hpp: the progress of a load, which is saved inside the data file, so that the load can
// be continued.
#pragma once

#include <rankd/store/line_reader.hpp>
#include <rankd/store/load_store.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rankd::detail {

/// A position in a load. All data before this position is saved in the file.
struct load_mark {
  std::string made_from;      ///< digest of the load's inputs: see `load_sources`
  std::uint32_t file = 0;     ///< the position in the list of files; the number of files if all files have been read
  line_position line;         ///< the position in that file
  std::uint64_t records = 0;  ///< the number of records that were made from the files
  std::uint64_t kept = 0;     ///< the number of records that were taken over from the old store
  std::string merged_to;      ///< the last key of the old store that was examined; empty if no key was
};

auto to_text(const load_mark& mark) -> std::string;

/// Parses a mark. Returns nothing if the text is not a mark.
auto parse_load_mark(std::string_view text) -> std::optional<load_mark>;

/// Returns a digest of the inputs of a load: the name, identity, size and times of each file, the mode, and the old
/// store. Two loads with the same digest produce the same store.
auto load_sources(std::span<const std::filesystem::path> files, load_mode mode,
                  const std::optional<store_manifest>& old) -> std::string;

}  // namespace rankd::detail
