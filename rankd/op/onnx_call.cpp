// rankd/op/onnx_call.cpp: finds the operands of ONNX nodes and widens them to the same number of columns.
#include <rankd/op/detail/onnx_call.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rankd::detail {

auto width_of(onnx_type type) -> number_width {
  return type == onnx_type::floats ? number_width::floats : number_width::doubles;
}

auto is_real(onnx_type type) -> bool { return type == onnx_type::floats || type == onnx_type::doubles; }

auto onnx_call::may_go_on() const -> bool {
  constexpr std::size_t max_steps = 500'000;
  constexpr std::size_t max_operands = std::size_t{1} << 24U;
  constexpr std::size_t max_weights = std::size_t{1} << 22U;
  if (out().steps() <= max_steps && out().operands() <= max_operands && out().numbers() <= max_weights) return true;
  refuse("too_many_items", "input",
         "the nodes up to this one take more than " + std::to_string(max_steps) + " steps, " +
             std::to_string(max_operands) + " operands or " + std::to_string(max_weights) + " weights");
  return false;
}

auto onnx_call::is_plain_regressor() const -> bool {
  const std::string_view after = text("post_transform", "NONE");
  if (after == "NONE") return true;
  refuse("bad_value", "post_transform", "a regressor with " + shown(after) + " is not supported");
  return false;
}

auto onnx_call::named(const std::string& message) const -> std::string {
  const std::string name = node_.name.empty() ? "the node" : "node " + shown(node_.name);
  return name + " (" + shown(node_.op) + "): " + message;
}

void onnx_call::refuse(std::string_view code, std::string_view place, const std::string& message,
                       std::string hint) const {
  scope_.with.report(code, braid::json_pointer(node_.pointer, place), named(message), std::move(hint));
}

void onnx_call::refuse_item(std::string_view code, std::string_view list, std::size_t index,
                            const std::string& message) const {
  scope_.with.report(code, braid::json_pointer(braid::json_pointer(node_.pointer, list), index), named(message));
}

auto onnx_call::is_absent(std::size_t index) const -> bool {
  return index >= node_.inputs.size() || node_.inputs[index].empty();
}

auto onnx_call::is_constant(std::size_t index) const -> bool {
  return !is_absent(index) &&
         (scope_.numbers.contains(node_.inputs[index]) || scope_.file.constants.contains(node_.inputs[index]));
}

auto onnx_call::is_result() const -> bool {
  return std::ranges::any_of(scope_.file.outputs, [this](const onnx_value& each) {
    return std::ranges::find(node_.outputs, each.name) != node_.outputs.end();
  });
}

auto onnx_call::rows(std::size_t index) const -> const onnx_rows* {
  const onnx_rows* found = rows_or_tables(index);
  if (found == nullptr || found->tables == 0) return found;
  refuse("wrong_type", "input",
         shown(node_.inputs[index]) + " has three dimensions, but this operator needs one value for each row");
  return nullptr;
}

void onnx_call::refuse_unknown(std::string_view name) const {
  const onnx_node* const begin = scope_.file.nodes.data();
  const onnx_node* const maker = std::find_if(begin, &node_, [name](const onnx_node& each) {
    return std::ranges::find(each.outputs, name) != each.outputs.end();
  });
  if (maker == &node_)
    return refuse("unknown_value", "input",
                  "no input of the graph, initializer or earlier node provides " + shown(name));
  refuse("unknown_value", "input",
         "the output " + shown(name) + " of an earlier node (" + shown(maker->op) +
             ") cannot be used as a table of numbers");
}

auto onnx_call::rows_or_tables(std::size_t index) const -> const onnx_rows* {
  if (is_absent(index)) {
    refuse("missing_field", "input", "input " + std::to_string(index) + " is missing");
    return nullptr;
  }
  const std::string_view name = node_.inputs[index];
  if (const auto found = scope_.rows.find(name); found != scope_.rows.end()) return &found->second;
  if (!is_constant(index)) {
    refuse_unknown(name);
    return nullptr;
  }
  const onnx_numbers* numbers = constant(index);
  if (numbers == nullptr) return nullptr;
  if (numbers->dims.size() == 1 && numbers->values.size() <= max_model_keys)
    return &scope_.rows.emplace(name, onnx_rows{numbers->type, 2, constants(numbers->values, numbers->type)})
                .first->second;
  refuse("wrong_type", "input",
         shown(name) + " is the same for all rows, but this operator needs a value for each row");
  return nullptr;
}

auto onnx_call::shaped(std::size_t index) const -> const onnx_rows* {
  const auto found = is_absent(index) ? scope_.shapes.end() : scope_.shapes.find(node_.inputs[index]);
  if (found != scope_.shapes.end()) return &scope_.rows.at(found->second);
  refuse("bad_value", "input", "only the shape of other rows is supported here");
  return nullptr;
}

auto onnx_call::tensor(std::string_view attribute) const -> std::optional<onnx_numbers> {
  const auto found = find_attribute(node_, attribute, scope_.with);
  return found && found->tensor ? read_numbers(*found->tensor, scope_.with) : std::nullopt;
}

auto onnx_call::table(std::size_t index) const -> const onnx_rows* {
  const onnx_rows* found = rows(index);
  if (found == nullptr) return nullptr;
  if (found->rank == 2 && is_real(found->type)) return found;
  refuse("wrong_type", "input",
         shown(node_.inputs[index]) + " is " + onnx_type_text(found->type) + " with " +
             counted(found->rank, "dimension") + "; expected a table of tensor(float) or tensor(double)");
  return nullptr;
}

auto onnx_call::constant(std::size_t index) const -> const onnx_numbers* {
  if (is_absent(index)) {
    refuse("missing_field", "input", "input " + std::to_string(index) + " is missing");
    return nullptr;
  }
  const std::string_view name = node_.inputs[index];
  if (const auto known = scope_.numbers.find(name); known != scope_.numbers.end()) return &known->second;
  const auto stored = scope_.file.constants.find(name);
  if (stored == scope_.file.constants.end()) {
    refuse("wrong_type", "input", shown(name) + " must be a constant that is the same for all rows");
    return nullptr;
  }
  auto made = read_numbers(stored->second, scope_.with);
  if (!made) return nullptr;
  return &scope_.numbers.emplace(name, std::move(*made)).first->second;
}

auto onnx_call::single(std::size_t index) const -> std::optional<double> {
  const onnx_numbers* found = constant(index);
  if (found == nullptr) return std::nullopt;
  if (found->values.size() == 1) return found->values.front();
  refuse("wrong_length", "input", shown(node_.inputs[index]) + " must be one number");
  return std::nullopt;
}

auto onnx_call::whole(std::size_t index) const -> std::optional<std::vector<std::int64_t>> {
  const onnx_numbers* found = constant(index);
  if (found == nullptr) return std::nullopt;
  if (is_real(found->type)) {
    refuse("wrong_type", "input",
           shown(node_.inputs[index]) + " must be whole numbers, not " + onnx_type_text(found->type));
    return std::nullopt;
  }
  std::vector<std::int64_t> out;
  for (const double each : found->values) out.push_back(std::llrint(std::clamp(each, -9e15, 9e15)));
  return out;
}

auto onnx_call::has(std::string_view attribute) const -> bool {
  return std::ranges::find(node_.attributes, attribute, &std::pair<std::string_view, std::string_view>::first) !=
         node_.attributes.end();
}

auto onnx_call::find(std::string_view attribute) const -> onnx_attribute {
  return find_attribute(node_, attribute, scope_.with).value_or(onnx_attribute{});
}

auto onnx_call::integer(std::string_view attribute, std::int64_t otherwise) const -> std::int64_t {
  const auto found = ints(attribute);
  return found.empty() ? otherwise : found.front();
}

auto onnx_call::real(std::string_view attribute, double otherwise) const -> double {
  const auto found = floats(attribute);
  return found.empty() ? otherwise : found.front();
}

auto onnx_call::text(std::string_view attribute, std::string_view otherwise) const -> std::string_view {
  const auto found = strings(attribute);
  return found.empty() ? otherwise : found.front();
}

auto onnx_call::floats(std::string_view attribute) const -> std::vector<double> { return find(attribute).floats; }

auto onnx_call::ints(std::string_view attribute) const -> std::vector<std::int64_t> { return find(attribute).ints; }

auto onnx_call::strings(std::string_view attribute) const -> std::vector<std::string_view> {
  return find(attribute).strings;
}

auto onnx_call::find_columns(std::size_t index, const onnx_operands& all) const -> std::optional<std::size_t> {
  if (!is_constant(index)) {
    const onnx_rows* found = rows(index);
    if (found == nullptr) return std::nullopt;
    if (found->rank == all.rank) return found->slots.size();
  } else {
    const onnx_numbers* found = constant(index);
    if (found == nullptr) return std::nullopt;
    const bool is_row = found->dims.size() <= 1 || (found->dims.size() == 2 && found->dims[0] == 1);
    const bool fits_list = found->dims.size() <= 1 && found->values.size() == 1;
    if (!found->values.empty() && (all.rank == 2 ? is_row : fits_list)) return found->values.size();
  }
  refuse("wrong_length", "input", "the shape of " + shown(node_.inputs[index]) + " does not fit the other inputs");
  return std::nullopt;
}

auto onnx_call::broadcast(std::initializer_list<std::size_t> indexes) const -> std::optional<onnx_operands> {
  onnx_operands out;
  bool has_rows = false;
  for (const std::size_t at : indexes) {
    if (is_constant(at)) continue;
    const onnx_rows* found = rows(at);
    if (found == nullptr) return std::nullopt;
    const bool is_new_type = has_rows && out.type != onnx_type::flags && found->type != onnx_type::flags;
    if (is_new_type && found->type != out.type) {
      refuse("wrong_type", "input",
             "the inputs are " + onnx_type_text(out.type) + " and " + onnx_type_text(found->type));
      return std::nullopt;
    }
    if (!has_rows || found->type != onnx_type::flags) out.type = found->type;
    out.rank = has_rows ? std::max(out.rank, found->rank) : found->rank;
    has_rows = true;
  }
  if (!has_rows) {
    refuse("wrong_type", "input", "at least one input must have a value for each row, but all inputs are constants");
    return std::nullopt;
  }
  std::size_t columns = 1;
  for (const std::size_t at : indexes) {
    const auto own = find_columns(at, out);
    if (!own) return std::nullopt;
    if (*own != 1) columns = columns == 1 ? *own : columns;
    if (*own == 1 || *own == columns) continue;
    refuse("wrong_length", "input",
           shown(node_.inputs[at]) + " has " + counted(*own, "column") + ", but another input has " +
               std::to_string(columns));
    return std::nullopt;
  }
  if (columns > max_model_keys) {
    refuse("too_many_items", "input", "there are more than " + std::to_string(max_model_keys) + " columns");
    return std::nullopt;
  }
  for (const std::size_t at : indexes) {
    slot_list own = is_constant(at) ? constants(constant(at)->values, out.type) : rows(at)->slots;
    if (own.size() != columns) own.assign(columns, own.front());
    out.slots.push_back(std::move(own));
  }
  return out;
}

auto onnx_call::each(model_op kind, onnx_type type, std::span<const slot_list> operands, double value) const
    -> slot_list {
  slot_list out;
  slot_list own(operands.size());
  for (std::size_t column = 0; column < operands.front().size(); ++column) {
    for (std::size_t at = 0; at < own.size(); ++at) own[at] = operands[at][column];
    out.push_back(scope_.out.step(kind, width_of(type), own, value));
  }
  return out;
}

auto onnx_call::each(model_op kind, onnx_type type, const slot_list& operands, double value) const -> slot_list {
  return each(kind, type, std::span(&operands, 1), value);
}

auto onnx_call::constants(std::span<const double> values, onnx_type type) const -> slot_list {
  slot_list out;
  for (const double each : values) out.push_back(scope_.out.constant(each, width_of(type)));
  return out;
}

auto onnx_call::with_constants(model_op kind, onnx_type type, const slot_list& slots,
                               std::span<const double> values) const -> slot_list {
  const std::vector<slot_list> operands{slots, constants(values, type)};
  return each(kind, type, operands);
}

}  // namespace rankd::detail
