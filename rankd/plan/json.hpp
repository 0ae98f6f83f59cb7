// rankd/plan/json.hpp: reading JSON that may be anything: too deep, not UTF-8, ambiguous, past the range of numbers.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

inline constexpr std::size_t max_json_depth = 1000;  ///< arrays and objects around a value

/// The document, with integers kept exact: int64, or uint64 above it. No field occurs twice. A byte_order_mark in front
/// is passed over.
/// Errors: file_too_large, invalid_utf8, json_syntax (with line and column), json_too_deep, number_out_of_range (past
/// double, or an integer past 64 bits), duplicate_field; `source` is `source_name`. Lines are counted from
/// `first_line`, which is where the text begins in its source. Cost: linear; neither reading nor destroying recurses on
/// the depth.
auto parse_json(std::string_view text, std::string_view source_name, std::uint64_t first_line = 1)
    -> braid::checked<nlohmann::json>;

/// The same of a file, whose name becomes the source.
/// Blocks: on the disk.
/// Errors: unreadable_file too.
auto read_json_file(const std::filesystem::path& file) -> braid::checked<nlohmann::json>;

}  // namespace rankd
