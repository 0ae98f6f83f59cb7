// rankd/op/detail/model_lists.hpp: reads lists of numbers from the JSON of a model.
#pragma once

#include <rankd/op/detail/model_reading.hpp>
#include <rankd/registry/object_reader.hpp>

#include <cmath>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::detail {

/// Returns the items of a list, whose items must all have type T. Reports each item of another type, and returns T{} in
/// its place.
template <typename T>
auto read_list(object_reader& reader, std::string_view field, value_type type, const model_reading& reading)
    -> std::vector<T> {
  std::vector<T> out;
  const nlohmann::json* list = reader.array(field, presence::required);
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto value = scalar_from_json((*list)[i], type);
    if (!value)
      reading.report(value.error().code, braid::json_pointer(reader.pointer_of(field), i),
                     "the item " + value.error().message);
    out.push_back(value ? std::get<T>(*value) : T{});
  }
  return out;
}

/// Reads a list of thresholds, which may be infinite or NaN, unlike the items of `read_list`.
inline auto read_thresholds(object_reader& reader, std::string_view field, const model_reading& reading)
    -> std::vector<double> {
  std::vector<double> out;
  const nlohmann::json* list = reader.array(field, presence::required);
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const nlohmann::json& item = (*list)[i];
    if (item.is_number_float() && !std::isfinite(item.get<double>())) {
      out.push_back(item.get<double>());
      continue;
    }
    const auto value = scalar_from_json(item, value_type::floating);
    if (!value)
      reading.report(value.error().code, braid::json_pointer(reader.pointer_of(field), i),
                     "the item " + value.error().message);
    out.push_back(value ? std::get<double>(*value) : 0.0);
  }
  return out;
}

}  // namespace rankd::detail
