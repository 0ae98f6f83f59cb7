// rankd/plan/op_shape.hpp: the shapes of operators: their inputs and params, as the loader of plans needs them.
#pragma once

#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace rankd {

enum class param_kind : std::uint8_t {
  int64,
  float64,
  boolean,
  string,
  enumeration,   ///< one of `choices`
  name,          ///< letters, digits and `_`, no digit in front, at most `max_name`
  expr_id,       ///< names a tree of expr_table
  pred_id,       ///< names a tree of pred_table
  pred_ids,      ///< an array of names of trees of pred_table, without repeats
  node_ref,      ///< names a node, and is an edge from it
  endpoint_ref,  ///< ep_NNNN
  key_id,        ///< a number of the registry of keys
  key_ids,       ///< an array of such, without repeats
  names,         ///< an array of names, without repeats
  ascending,     ///< an array of finite numbers, each greater than the one before
  literals,      ///< an array of int64 or an array of strings, without repeats
  texts,         ///< an array of strings, without repeats
  key_template,  ///< the text of keys, with holes for columns and params: see key_template.hpp
};

/// The maximum number of characters in a param of kind `name`.
inline constexpr std::size_t max_name = 100;

/// States how an operator uses the key that a param names.
enum class key_use : std::uint8_t { read, write };

/// A range that includes both ends.
struct float_range {
  double min = -std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::max();
};

/// A condition under which a param has an effect: an earlier param of the shape has one of these values.
struct param_condition {
  std::string_view param;  ///< an enumeration; if it is absent, it has none of the values
  std::span<const std::string_view> values = {};
};

struct param_shape {
  std::string_view name;
  param_kind kind = param_kind::int64;
  presence need = presence::required;
  int_range range = {};         ///< of an int64
  float_range floats = {};      ///< of a float64
  key_use use = key_use::read;  ///< of a key_id and of key_ids
  std::size_t min_items = 0;    ///< items of a list
  /// The values of an enumeration, the accepted types of a key_id or of key_ids, or the accepted kinds of an
  /// endpoint_ref.
  std::span<const std::string_view> choices = {};
  param_condition when = {};         ///< without a param: always
  std::string_view capability = {};  ///< what a plan must require to give it; empty: nothing
  bool bindable = false;             ///< of an int64 and of a float64: a param of the request may give the value
};

/// The shape of an operator: its inputs and params. Every operator also has the param `trace`, a string or null, which
/// no shape lists.
/// Lifetime: names and params are views into tables that outlive the shape.
struct op_shape {
  std::string_view name;
  std::uint32_t inputs = 0;
  std::span<const param_shape> params;
  std::uint32_t optional_inputs = 0;  ///< so many of the inputs may be left out
};

/// The operators that plans may use.
/// Lifetime: refers to a table that outlives it.
class op_shapes {
 public:
  constexpr explicit op_shapes(std::span<const op_shape> all) noexcept : shapes_(all) {}

  /// Returns the shape of an operator, or null if there is no such operator.
  [[nodiscard]] auto find(std::string_view name) const noexcept -> const op_shape* {
    const auto at = std::ranges::find(shapes_, name, &op_shape::name);
    return at == shapes_.end() ? nullptr : &*at;
  }

  [[nodiscard]] auto names() const -> std::vector<std::string_view> {
    std::vector<std::string_view> out;
    for (const op_shape& shape : shapes_) out.push_back(shape.name);
    return out;
  }

 private:
  std::span<const op_shape> shapes_;
};

}  // namespace rankd
