// rankd/plan/json.hpp: reading JSON that may be anything: too deep, not UTF-8, ambiguous, past the range of numbers.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/registry/file.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

inline constexpr std::size_t max_json_depth = 1000;  ///< arrays and objects around a value

/// Returns the document. Integers are exact, as int64 or uint64; a larger integer that is the spelling of a float
/// (`float_of_integer`) becomes this float. No field occurs twice. A byte_order_mark in front is skipped.
/// Errors: file_too_large, invalid_utf8, json_syntax (with line and column), json_too_deep, number_out_of_range (past
/// double, or an integer past 64 bits that no float equals), duplicate_field; `source` is `source_name`. Lines are
/// counted from `first_line`, the line at which the text begins in its source. Cost: linear; neither reading nor
/// destroying recurses on the depth.
auto parse_json(std::string_view text, std::string_view source_name, std::uint64_t first_line = 1)
    -> braid::checked<nlohmann::json>;

/// Parses like `parse_json`, and reads the token `NaN` as null: Python writes it for a float that is missing. Costs
/// nothing for a text that is JSON.
auto parse_json_with_nan(std::string_view text, std::string_view source_name, std::uint64_t first_line = 1)
    -> braid::checked<nlohmann::json>;

/// How to read the JSON that programs of others write.
struct foreign_json {
  std::size_t max_bytes = largest_document;                          ///< of the text; a longer one is file_too_large
  std::size_t max_memory = std::numeric_limits<std::size_t>::max();  ///< an estimate of the bytes of the document
};

/// Parses like `parse_json`, and accepts the tokens `NaN`, `Infinity` and `-Infinity`, which Python, Java and XGBoost
/// write for floats that JSON cannot express. They become floats that are not finite.
/// Errors: those of `parse_json`, and file_too_large for a document that exceeds `max_memory`.
auto parse_foreign_json(std::string_view text, std::string_view source_name, const foreign_json& limits = {})
    -> braid::checked<nlohmann::json>;

/// Destroys the parts of a value one by one, and leaves it empty. The destructor of a value with parts allocates
/// memory, and ends the program if there is none.
/// Cost: linear, without memory, for values of `parse_json`.
void dismantle(nlohmann::json& value) noexcept;

/// Dismantles a value at the end of its scope, for requests: a request that gets no memory must fail alone.
/// Lifetime: ends before the value.
class json_dismantler {
 public:
  explicit json_dismantler(nlohmann::json& value) noexcept : value_(&value) {}
  json_dismantler(const json_dismantler&) = delete;
  auto operator=(const json_dismantler&) -> json_dismantler& = delete;
  ~json_dismantler() { dismantle(*value_); }

 private:
  nlohmann::json* value_;
};

/// Parses a file like `parse_json`. The name of the file becomes the source.
/// Blocks: on the disk.
/// Errors: unreadable_file too.
auto read_json_file(const std::filesystem::path& file) -> braid::checked<nlohmann::json>;

}  // namespace rankd
