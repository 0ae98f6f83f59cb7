// rankd/plan/json.hpp: parses untrusted JSON, and refuses deep nesting, invalid UTF-8, duplicate fields and numbers out
// of range.
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

/// Parses a document. Integers are read exactly, as int64 or uint64. A larger integer is accepted only if it represents
/// a float (`float_of_integer`), and is converted to this float. Duplicate fields are refused. A leading byte-order
/// mark is skipped.
/// Errors: file_too_large, invalid_utf8, json_syntax (with line and column), json_too_deep, number_out_of_range (beyond
/// double, or an integer beyond 64 bits that equals no float), duplicate_field; `source` is `source_name`. `first_line`
/// is the line at which the text begins in its source. Cost: linear. Neither parsing nor destroying a value recurses.
auto parse_json(std::string_view text, std::string_view source_name, std::uint64_t first_line = 1)
    -> braid::checked<nlohmann::json>;

/// Parses like `parse_json`, and reads the token `NaN` as null, because Python writes `NaN` for a missing float. Valid
/// JSON is parsed at the same cost as by `parse_json`.
auto parse_json_with_nan(std::string_view text, std::string_view source_name, std::uint64_t first_line = 1)
    -> braid::checked<nlohmann::json>;

/// Options for reading JSON that other programs have written.
struct foreign_json {
  std::size_t max_bytes = largest_document;  ///< the maximum size of the text; file_too_large for a longer text
  /// The maximum memory of the document in bytes, by an estimate.
  std::size_t max_memory = std::numeric_limits<std::size_t>::max();
};

/// Parses like `parse_json`, and accepts the tokens `NaN`, `Infinity` and `-Infinity`. Python, Java and XGBoost write
/// them for floats that JSON cannot express. These tokens become floats that are not finite.
/// Errors: those of `parse_json`, and file_too_large for a document that exceeds `max_memory`.
auto parse_foreign_json(std::string_view text, std::string_view source_name, const foreign_json& limits = {})
    -> braid::checked<nlohmann::json>;

/// Returns whether these bytes begin like a UBJSON object. Such an object begins with `{`, followed by the type code of
/// the first name's length, or by the mark of an optimized object. A JSON object never begins like this.
auto is_ubjson(std::string_view bytes) noexcept -> bool;

/// Parses a UBJSON document (draft 12) like `parse_foreign_json`. XGBoost saves models in this format.
/// Errors: file_too_large, json_syntax (with the position of the byte), json_too_deep, duplicate_field, and
/// invalid_utf8 for a text or a name that is not UTF-8.
auto parse_ubjson(std::string_view bytes, std::string_view source_name, const foreign_json& limits = {})
    -> braid::checked<nlohmann::json>;

/// Destroys the parts of a value one by one, and leaves it empty. The value's own destructor would allocate memory, and
/// would end the program if no memory is left. Cost: linear. Allocates nothing for values that `parse_json` has
/// returned.
void dismantle(nlohmann::json& value) noexcept;

/// Dismantles a value at the end of a scope. This is needed for requests: if memory runs out during a request, the
/// program must not end. Lifetime: the value outlives this object.
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
/// Errors: those of `parse_json`, unreadable_file.
auto read_json_file(const std::filesystem::path& file) -> braid::checked<nlohmann::json>;

}  // namespace rankd
