// rankd/plan/param_binding.cpp: reads those options of nodes whose value is set by a param of the request.
#include <rankd/plan/detail/artifact.hpp>
#include <rankd/registry/names.hpp>

#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

/// Reads the minimum or maximum that a param may have. The value must be in the range of the option.
auto read_end(object_reader& reader, std::string_view field, param_shape shape) -> scalar {
  shape.name = field;
  shape.need = presence::required;
  if (shape.kind == param_kind::float64) return read_number(reader, shape);
  const auto end = reader.integer(field, presence::required, shape.range);
  return end ? scalar(*end) : scalar();
}

}  // namespace

auto read_number(object_reader& reader, const param_shape& shape) -> scalar {
  auto value = reader.typed(shape.name, shape.need, value_type::floating);
  if (!value) return {};
  const double number = std::get<double>(*value);
  if (number >= shape.floats.min && number <= shape.floats.max) return *value;
  reader.report(shape.name, "out_of_range",
                quote_name(shape.name) + " must lie between " + std::to_string(shape.floats.min) + " and " +
                    std::to_string(shape.floats.max));
  return {};
}

auto is_bound(object_reader& reader, const param_shape& shape) -> bool {
  if (!shape.bindable) return false;
  const nlohmann::json* value = reader.value(shape.name, presence::nullable);
  return value != nullptr && value->is_object();
}

auto read_binding(object_reader& reader, const param_shape& shape, const known_names& known,
                  braid::diagnostics& problems) -> std::optional<param_binding> {
  const std::size_t before = problems.size();
  object_reader own(*reader.value(shape.name, shape.need), reader.pointer_of(shape.name), problems);
  const auto param_id = own.id("param_id", presence::required);
  scalar min = read_end(own, "min", shape);
  scalar max = read_end(own, "max", shape);
  own.refuse_unknown_fields();
  if (problems.size() != before) return std::nullopt;
  if (max < min) own.report("max", "out_of_range", "`max` must not be less than `min`");
  if (!known.capabilities.find(bound_params_capability))
    reader.report(shape.name, "capability_not_required",
                  quote_name(shape.name) + " is bound to a param, which needs a capability that the plan does not list",
                  "add " + quote_name(bound_params_capability) + " to `capabilities_required`");
  return param_binding{.param_id = *param_id, .min = std::move(min), .max = std::move(max)};
}

}  // namespace rankd::detail
