// rankd/registry/object_reader.hpp: takes the fields out of one JSON object and collects what is wrong with them.
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

/// Whether a field is required; for `nullable`, null means absent.
enum class presence : std::uint8_t { required, optional, nullable };

/// Both ends included.
struct int_range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

/// The numbers that ids in registries may have.
inline constexpr int_range id_range{.min = 1, .max = std::numeric_limits<std::uint32_t>::max()};

/// Reads the fields of one object. A field that is absent or wrong reads as nothing; what is wrong is appended to the
/// diagnostics: wrong_type, missing_field, out_of_range, bad_value, non_finite_number, unknown_field.
/// Lifetime: the value and the diagnostics outlive the reader; strings and values found point into the value.
class object_reader {
 public:
  /// Complains when `value` is not an object; no field of it is then missed.
  object_reader(const nlohmann::json& value, std::string pointer, braid::diagnostics& problems);

  [[nodiscard]] auto pointer() const noexcept -> const std::string& { return pointer_; }
  [[nodiscard]] auto pointer_of(std::string_view field) const -> std::string;

  auto value(std::string_view field, presence need) -> const nlohmann::json*;
  auto object(std::string_view field, presence need) -> const nlohmann::json*;
  auto array(std::string_view field, presence need) -> const nlohmann::json*;
  auto text(std::string_view field, presence need) -> const std::string*;
  auto boolean(std::string_view field, presence need) -> std::optional<bool>;
  /// Nothing that merely converts to an integer is one: neither 1.0 nor "1".
  auto integer(std::string_view field, presence need, int_range range = {}) -> std::optional<std::int64_t>;
  auto id(std::string_view field, presence need) -> std::optional<std::uint32_t>;
  /// A value of a registry's type; an integer stands for the float that equals it.
  auto typed(std::string_view field, presence need, value_type type) -> std::optional<scalar>;
  /// Returns the position among `choices` of the string that is there.
  auto choice(std::string_view field, presence need, std::span<const std::string_view> choices)
      -> std::optional<std::size_t>;

  void report(std::string_view field, std::string_view code, std::string message, std::string hint = {});

  /// Reports every field that was not read. Call it last.
  void refuse_unknown_fields();

 private:
  const nlohmann::json* object_ = nullptr;  ///< null if the value is not an object
  std::string pointer_;
  braid::diagnostics& problems_;
  std::vector<std::string_view> asked_;
};

/// Returns the value as a scalar of `type`, or the code and sentence of what is wrong with it. Errors: wrong_type,
/// out_of_range for an integer past int64, non_finite_number.
auto scalar_from_json(const nlohmann::json& value, value_type type) -> std::expected<scalar, braid::diagnostic>;

/// "a string", "an integer", …: what a message calls the value.
auto kind_of(const nlohmann::json& value) -> std::string_view;

/// The same with the value, if it is a scalar: "a string: `\"7\"`". A long value is truncated.
auto described(const nlohmann::json& value) -> std::string;

}  // namespace rankd
