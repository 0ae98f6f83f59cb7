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
  name,          ///< letters, digits and `_`, beginning with a letter or `_`, at most `max_name` characters
  expr_id,       ///< names a tree of expr_table
  pred_id,       ///< names a tree of pred_table
  pred_ids,      ///< an array of names of trees of pred_table, without duplicates
  node_ref,      ///< names a node, and is an edge from it
  endpoint_ref,  ///< ep_NNNN
  key_id,        ///< a number of the registry of keys
  key_ids,       ///< an array of such numbers, without duplicates
  names,         ///< an array of names, without duplicates
  ascending,     ///< an array of finite numbers, each greater than the one before
  literals,      ///< an array of int64 or an array of strings, without duplicates
  texts,         ///< an array of strings, without duplicates
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

/// A condition under which a param has an effect. It holds if an earlier param of the shape has one of the listed
/// values.
struct param_condition {
  std::string_view param;  ///< the name of an enumeration; if it is absent, it has none of the values
  std::span<const std::string_view> values = {};
};

struct param_shape {
  std::string_view name;
  param_kind kind = param_kind::int64;
  presence need = presence::required;
  int_range range = {};         ///< for an int64
  float_range floats = {};      ///< for a float64
  key_use use = key_use::read;  ///< for a key_id and for key_ids
  std::size_t min_items = 0;    ///< the minimum number of items in a list
  /// The meaning depends on the kind of the param: the values of an enumeration, the accepted types of a key_id or of
  /// key_ids, or the accepted kinds of an endpoint_ref.
  std::span<const std::string_view> choices = {};
  param_condition when = {};         ///< if it names no param, there is no condition
  std::string_view capability = {};  ///< the capability that a plan must require to set the param; empty: none
  bool bindable = false;             ///< for an int64 or a float64: whether a param of the request may set the value
};

/// The shape of an operator: its inputs and params. Every operator also has the param `trace`, a string or null, which
/// no shape lists.
/// Lifetime: names and params are views into tables that outlive the shape.
struct op_shape {
  std::string_view name;
  std::uint32_t inputs = 0;
  std::span<const param_shape> params;
  std::uint32_t optional_inputs = 0;  ///< the number of inputs that may be omitted
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
