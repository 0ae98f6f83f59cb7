// rankd/registry/object_reader.hpp: reads the fields of one JSON object, and collects its errors.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/registry/value.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// States whether a field is required. For a `nullable` field, null means the same as an absent field.
enum class presence : std::uint8_t { required, optional, nullable };

/// A range of integers that includes both ends.
struct int_range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// The range of numeric ids in registries.
inline constexpr int_range id_range{.min = 1, .max = std::numeric_limits<std::uint32_t>::max()};

/// Reads the fields of one object. If a field is absent or wrong, reading it returns nothing. Errors are appended to
/// the diagnostics: wrong_type, missing_field, out_of_range, bad_value, non_finite_number, unknown_field.
/// Lifetime: the value and the diagnostics must outlive the reader. Returned strings and values point into the value.
class object_reader {
 public:
  /// Reports an error if `value` is not an object. In this case, missing fields are not reported.
  object_reader(const nlohmann::json& value, std::string pointer, braid::diagnostics& problems);

  [[nodiscard]] auto pointer() const noexcept -> const std::string& { return pointer_; }
  [[nodiscard]] auto pointer_of(std::string_view field) const -> std::string;

  auto value(std::string_view field, presence need) -> const nlohmann::json*;
  auto object(std::string_view field, presence need) -> const nlohmann::json*;
  auto array(std::string_view field, presence need) -> const nlohmann::json*;
  auto text(std::string_view field, presence need) -> const std::string*;
  auto boolean(std::string_view field, presence need) -> std::optional<bool>;
  /// Reads an integer. Other values are errors, even if they could be converted to an integer, such as 1.0 or "1".
  auto integer(std::string_view field, presence need, int_range range = {}) -> std::optional<std::int64_t>;
  auto id(std::string_view field, presence need) -> std::optional<std::uint32_t>;
  /// Reads a value of one of the types of keys and params. If a float is expected, an integer that equals a float is
  /// accepted, too.
  auto typed(std::string_view field, presence need, value_type type) -> std::optional<scalar>;
  /// Reads a string that must be one of `choices`, and returns its index.
  auto choice(std::string_view field, presence need, std::span<const std::string_view> choices)
      -> std::optional<std::size_t>;

  void report(std::string_view field, std::string_view code, std::string message, std::string hint = {});

  /// Reports every field that was not read. Must be called last.
  void refuse_unknown_fields();

 private:
  const nlohmann::json* object_ = nullptr;  ///< null if the value is not an object
  std::string pointer_;
  braid::diagnostics& problems_;
  std::vector<std::string_view> asked_;
};

/// Converts a value to a scalar of `type`. Returns the code and message of an error if that is not possible. Errors:
/// wrong_type, out_of_range for an integer beyond int64, non_finite_number.
auto scalar_from_json(const nlohmann::json& value, value_type type) -> std::expected<scalar, braid::diagnostic>;

/// Returns the kind of a value for messages, such as "a string" or "an integer".
auto kind_of(const nlohmann::json& value) -> std::string_view;

/// Returns the kind of a value together with the value, if it is a scalar: "a string: `\"7\"`". A long value is
/// truncated.
auto described(const nlohmann::json& value) -> std::string;

}  // namespace rankd
