// rankd/registry/object_reader.cpp: reads the fields of JSON objects.
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/json_number.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

/// The maximum number of unknown fields that are reported for one object. A document may contain a million of them.
constexpr std::size_t max_unknown_fields = 100;

/// The usual number of fields that are read from an object.
constexpr std::size_t usual_fields = 8;

auto problem(std::string_view code, std::string message) -> std::unexpected<braid::diagnostic> {
  return std::unexpected(braid::diagnostic{
      .code = std::string(code), .pointer = {}, .message = std::move(message), .hint = {}, .node = {}, .source = {}});
}

/// Returns a scalar as it was written. A model file may contain numbers that JSON cannot express, such as NaN.
auto written(const json& value) -> std::string {
  const double number = value.is_number_float() ? value.get<double>() : 0;
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return value.dump();
}

auto wrong_type(std::string_view wanted, const json& value) -> std::unexpected<braid::diagnostic> {
  return problem("wrong_type", "must be " + std::string(wanted) + ", not " + described(value));
}

/// Returns true for a float that was written as an integer beyond 64 bits, or that is as large as such an integer.
auto is_beyond_integers(const json& value) -> bool {
  constexpr double end = 0x1p63;
  return value.is_number_float() && std::abs(value.get<double>()) >= end;
}

auto int64_from(const json& value) -> std::expected<std::int64_t, braid::diagnostic> {
  if (is_beyond_integers(value))
    return problem("out_of_range", "must be an integer of 64 bits, not `" + written(value) + "`");
  if (!value.is_number_integer()) return wrong_type("an integer", value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
    return problem("out_of_range", "must be at most " + std::to_string(std::numeric_limits<std::int64_t>::max()) +
                                       ", not `" + value.dump() + "`");
  return value.get<std::int64_t>();
}

/// Returns the float that equals an integer, if there is such a float.
template <typename Integer>
auto equal_float(Integer whole) -> std::expected<scalar, braid::diagnostic> {
  const auto near = static_cast<double>(whole);
  const double end = std::ldexp(1.0, std::numeric_limits<Integer>::digits);  // one past the largest
  if (near < end && static_cast<Integer>(near) == whole) return scalar(near);
  if (const auto meant = float_of_integer(std::to_string(whole))) return scalar(*meant);
  return problem("out_of_range", "no float equals the integer `" + std::to_string(whole) + "`");
}

auto double_from(const json& value) -> std::expected<scalar, braid::diagnostic> {
  if (!value.is_number()) return wrong_type("a number", value);
  if (value.is_number_unsigned()) return equal_float(value.get<std::uint64_t>());
  if (value.is_number_integer()) return equal_float(value.get<std::int64_t>());
  if (!std::isfinite(value.get<double>()))
    return problem("non_finite_number", "must be finite, not `" + written(value) + "`");
  return scalar(value.get<double>());
}

}  // namespace

object_reader::object_reader(const json& value, std::string pointer, braid::diagnostics& problems)
    : pointer_(std::move(pointer)), problems_(problems) {
  asked_.reserve(usual_fields);
  if (value.is_object()) {
    object_ = &value;
    return;
  }
  problems_.add({.code = "wrong_type",
                 .pointer = pointer_,
                 .message = "expected an object, not " + described(value),
                 .hint = {},
                 .node = {},
                 .source = {}});
}

auto object_reader::pointer_of(std::string_view field) const -> std::string {
  return braid::json_pointer(pointer_, field);
}

auto object_reader::value(std::string_view field, presence need) -> const json* {
  asked_.push_back(field);
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(field);
  if (found == object_->end()) {
    if (need != presence::required) return nullptr;
    problems_.add({.code = "missing_field",
                   .pointer = pointer_,
                   .message = "the field " + quote_name(field) + " is missing",
                   .hint = {},
                   .node = {},
                   .source = {}});
    return nullptr;
  }
  return found->is_null() && need == presence::nullable ? nullptr : &*found;
}

auto object_reader::object(std::string_view field, presence need) -> const json* {
  const json* found = value(field, need);
  if (found == nullptr || found->is_object()) return found;
  report(field, "wrong_type", quote_name(field) + " must be an object, not " + described(*found));
  return nullptr;
}

auto object_reader::array(std::string_view field, presence need) -> const json* {
  const json* found = value(field, need);
  if (found == nullptr || found->is_array()) return found;
  report(field, "wrong_type", quote_name(field) + " must be an array, not " + described(*found));
  return nullptr;
}

auto object_reader::text(std::string_view field, presence need) -> const std::string* {
  const json* found = value(field, need);
  if (found == nullptr || found->is_string()) return found == nullptr ? nullptr : found->get_ptr<const std::string*>();
  report(field, "wrong_type", quote_name(field) + " must be a string, not " + described(*found));
  return nullptr;
}

auto object_reader::boolean(std::string_view field, presence need) -> std::optional<bool> {
  const auto found = typed(field, need, value_type::boolean);
  if (!found) return std::nullopt;
  return std::get<bool>(*found);
}

auto object_reader::integer(std::string_view field, presence need, int_range range) -> std::optional<std::int64_t> {
  const json* found = value(field, need);
  if (found == nullptr) return std::nullopt;
  const auto number = int64_from(*found);
  if (number && *number >= range.min && *number <= range.max) return *number;
  if (!number && number.error().code == "wrong_type") {
    report(field, "wrong_type", quote_name(field) + " " + number.error().message);
    return std::nullopt;
  }
  report(field, "out_of_range",
         quote_name(field) + " must lie between " + std::to_string(range.min) + " and " + std::to_string(range.max) +
             ", not `" + written(*found) + "`");
  return std::nullopt;
}

auto object_reader::id(std::string_view field, presence need) -> std::optional<std::uint32_t> {
  const auto number = integer(field, need, id_range);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

auto object_reader::typed(std::string_view field, presence need, value_type type) -> std::optional<scalar> {
  const json* found = value(field, need);
  if (found == nullptr) return std::nullopt;
  auto read = scalar_from_json(*found, type);
  if (read) return std::move(*read);
  report(field, read.error().code, quote_name(field) + " " + read.error().message);
  return std::nullopt;
}

auto object_reader::choice(std::string_view field, presence need, std::span<const std::string_view> choices)
    -> std::optional<std::size_t> {
  const std::string* found = text(field, need);
  if (found == nullptr) return std::nullopt;
  const auto at = std::ranges::find(choices, *found);
  if (at != choices.end()) return static_cast<std::size_t>(at - choices.begin());
  std::string all;
  for (const std::string_view name : choices)
    all += (all.empty() ? "" : ", ") + (name.empty() ? "\"\"" : std::string(name));
  report(field, "bad_value", quote_name(field) + " is " + quote_name(*found) + "; expected one of: " + all,
         braid::did_you_mean(*found, {choices.begin(), choices.end()}));
  return std::nullopt;
}

void object_reader::report(std::string_view field, std::string_view code, std::string message, std::string hint) {
  problems_.add({.code = std::string(code),
                 .pointer = pointer_of(field),
                 .message = std::move(message),
                 .hint = std::move(hint),
                 .node = {},
                 .source = {}});
}

void object_reader::refuse_unknown_fields() {
  if (object_ == nullptr) return;
  std::size_t count = 0;
  for (const auto& item : object_->items()) {
    const std::string& name = item.key();
    if (std::ranges::find(asked_, name) != asked_.end()) continue;
    if (++count > max_unknown_fields) return;
    report(name, "unknown_field", "there is no field " + quote_name(name) + " here", braid::did_you_mean(name, asked_));
  }
}

auto scalar_from_json(const json& value, value_type type) -> std::expected<scalar, braid::diagnostic> {
  switch (type) {
    case value_type::integer: {
      const auto number = int64_from(value);
      if (!number) return std::unexpected(number.error());
      return scalar(*number);
    }
    case value_type::floating: return double_from(value);
    case value_type::string:
      if (!value.is_string()) return wrong_type("a string", value);
      return scalar(value.get<std::string>());
    case value_type::boolean:
      if (!value.is_boolean()) return wrong_type("true or false", value);
      return scalar(value.get<bool>());
    case value_type::vector: break;
  }
  return problem("wrong_type", "cannot be set: JSON has no form for a single vector");
}

auto kind_of(const json& value) -> std::string_view {
  if (value.is_null()) return "null";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "a boolean";
  if (value.is_number_integer()) return "an integer";
  if (!std::isfinite(value.get<double>())) return "a number that is not finite";
  if (is_beyond_integers(value)) return "a number beyond 64 bits";
  return "a fraction";
}

auto described(const json& value) -> std::string {
  constexpr std::size_t enough = 80;
  const std::string kind(kind_of(value));
  if (value.is_null() || value.is_structured()) return kind;
  if (!value.is_string()) return kind + ": `" + written(value) + "`";
  const std::string_view all = value.get_ref<const std::string&>();
  const std::string_view text = all.substr(0, enough);
  return kind + ": `" + json(text.substr(0, utf8_prefix(text))).dump() + (text.size() < all.size() ? "…`" : "`");
}

}  // namespace rankd
