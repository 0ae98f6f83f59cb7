// rankd/op/onnx_shapes.cpp: implements the ONNX operators that select, join and rename columns. Most of these operators
// need no step in the program.
#include <rankd/op/detail/onnx_call.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace rankd::detail {
namespace {

using made_rows = std::optional<onnx_rows>;

auto make_same(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  return *of;
}

auto make_cast(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  onnx_rows out = *of;
  out.type = static_cast<onnx_type>(call.integer("to", 0));
  switch (out.type) {
    case onnx_type::floats:
      if (of->type != onnx_type::floats) out.slots = call.each(model_op::same, out.type, of->slots);
      return out;
    case onnx_type::doubles: return out;
    case onnx_type::int32:
    case onnx_type::int64:
      if (is_real(of->type)) out.slots = call.each(model_op::whole, out.type, of->slots);
      return out;
    case onnx_type::flags:
      out.slots = call.each(model_op::no, out.type, call.each(model_op::no, out.type, of->slots));
      return out;
    case onnx_type::none:
    case onnx_type::text: break;
  }
  call.refuse("wrong_type", "to", "a cast to " + onnx_type_text(out.type) + " is not supported");
  return std::nullopt;
}

/// Returns true if the axis is the last axis of a tensor. The last axis contains the columns.
auto is_of_columns(std::int64_t axis, std::uint32_t rank) -> bool {
  return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

/// Joins the columns of all inputs. Requires that each input has `rank` dimensions. Floats and doubles become doubles:
/// skl2onnx joins them, although ONNX requires one type.
auto joined(const onnx_call& call, onnx_type type, std::uint32_t rank) -> made_rows {
  onnx_rows out{.type = type, .rank = rank, .slots = {}};
  const bool is_vector = call.node().op == "FeatureVectorizer";
  for (std::size_t at = 0; at < call.inputs(); ++at) {
    const onnx_rows* part = call.rows(at);
    if (part == nullptr) return std::nullopt;
    const bool fits = part->type == out.type || (is_real(part->type) && is_real(out.type)) || is_vector;
    if (part->rank != rank || !fits) {
      call.refuse("wrong_type", "input",
                  shown(call.node().inputs[at]) + " is " + onnx_type_text(part->type) + " with " +
                      counted(part->rank, "dimension") + "; expected " + onnx_type_text(type) + " with " +
                      std::to_string(rank));
      return std::nullopt;
    }
    if (part->type == onnx_type::doubles && !is_vector) out.type = onnx_type::doubles;
    out.slots.insert(out.slots.end(), part->slots.begin(), part->slots.end());
    if (out.slots.size() <= max_model_keys) continue;
    call.refuse("too_many_items", "input", "there are more than " + std::to_string(max_model_keys) + " columns");
    return std::nullopt;
  }
  return out;
}

/// Stacks the tables of all inputs.
auto stacked(const onnx_call& call, const onnx_rows& first) -> made_rows {
  onnx_rows out{.type = first.type, .rank = first.rank, .slots = {}};
  for (std::size_t at = 0; at < call.inputs(); ++at) {
    const onnx_rows* part = call.rows_or_tables(at);
    if (part == nullptr) return std::nullopt;
    if (part->tables == 0 || part->type != first.type ||
        part->slots.size() * first.tables != first.slots.size() * part->tables) {
      call.refuse("wrong_type", "input", "stacked tables must have one type and the same number of columns");
      return std::nullopt;
    }
    out.tables += part->tables;
    out.slots.insert(out.slots.end(), part->slots.begin(), part->slots.end());
    if (out.slots.size() <= max_model_keys) continue;
    call.refuse("too_many_items", "input", "there are more than " + std::to_string(max_model_keys) + " columns");
    return std::nullopt;
  }
  return out;
}

auto make_concat(const onnx_call& call) -> made_rows {
  const onnx_rows* first = call.rows_or_tables(0);
  if (first == nullptr) return std::nullopt;
  if (first->tables > 0 && call.integer("axis", 0) == 0) return stacked(call, *first);
  const std::uint32_t rank = std::max(first->rank, 2U);  // encoders of one column each make three dimensions
  if (const std::int64_t axis = call.integer("axis", 0); !is_of_columns(axis, rank)) {
    call.refuse("bad_value", "axis",
                "only columns (axis " + std::to_string(rank - 1) + ") can be joined, not axis " + std::to_string(axis));
    return std::nullopt;
  }
  return joined(call, first->type, rank);
}

/// Joins the tables of a sequence, such as the classes of each label of a classifier for several labels.
auto make_sequence(const onnx_call& call) -> made_rows {
  const onnx_rows* first = call.table(0);
  return first == nullptr ? std::nullopt : joined(call, first->type, 2);
}

/// Makes rows of the same shape as other rows, with one number in all columns. The number is the attribute `value`, or
/// 0.
auto make_filled(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.shaped(0);
  if (of == nullptr) return std::nullopt;
  const onnx_numbers value = call.tensor("value").value_or(onnx_numbers{onnx_type::floats, {1}, {0}});
  if (!is_real(value.type) || value.values.size() != 1) {
    call.refuse("wrong_type", "value", "the value must be one number, of tensor(float) or tensor(double)");
    return std::nullopt;
  }
  const std::uint32_t slot = call.out().constant(value.values.front(), width_of(value.type));
  return onnx_rows{value.type, of->rank, slot_list(of->slots.size(), slot)};
}

/// Joins columns as floats.
auto make_vector(const onnx_call& call) -> made_rows {
  auto out = joined(call, onnx_type::floats, 2);
  if (out) out->slots = call.each(model_op::same, onnx_type::floats, out->slots);
  return out;
}

/// Returns the columns with the given indexes.
auto chosen(const onnx_call& call, const onnx_rows& rows, const std::vector<std::int64_t>& numbers) -> made_rows {
  onnx_rows out{.type = rows.type, .rank = rows.rank, .slots = {}};
  const auto columns = static_cast<std::int64_t>(rows.slots.size());
  if (rows.rank < 2 || numbers.size() > max_model_keys || numbers.empty()) {
    call.refuse("wrong_length", "input",
                "from 1 to " + std::to_string(max_model_keys) + " columns of a table can be chosen");
    return std::nullopt;
  }
  for (const std::int64_t each : numbers) {
    if (each < -columns || each >= columns) {
      call.refuse("out_of_range", "input",
                  "there is no column " + std::to_string(each) + "; the input has " +
                      counted(static_cast<std::uint64_t>(columns), "column"));
      return std::nullopt;
    }
    out.slots.push_back(rows.slots[static_cast<std::size_t>(each < 0 ? each + columns : each)]);
  }
  return out;
}

auto make_columns(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  const auto numbers = of == nullptr ? std::nullopt : call.whole(1);
  if (!numbers) return std::nullopt;
  return chosen(call, *of, *numbers);
}

auto make_gather(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  if (const std::int64_t axis = call.integer("axis", 0); !is_of_columns(axis, of->rank)) {
    call.refuse(
        "bad_value", "axis",
        "only columns (axis " + std::to_string(of->rank - 1) + ") can be chosen, not axis " + std::to_string(axis));
    return std::nullopt;
  }
  auto out = make_columns(call);
  if (out && call.constant(1)->dims.empty()) --out->rank;
  return out;
}

/// Returns integers that are an attribute in older operator versions, and an input in newer versions. Returns nothing
/// after a diagnostic.
auto read_integers(const onnx_call& call, std::string_view attribute, std::size_t input)
    -> std::optional<std::vector<std::int64_t>> {
  if (call.is_absent(input)) return call.ints(attribute);
  return call.whole(input);
}

/// Returns a range of the columns. Indexes below zero count from the end, and a range never extends beyond the last
/// column.
auto make_slice(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const auto starts = read_integers(call, "starts", 1);
  const auto ends = starts ? read_integers(call, "ends", 2) : std::nullopt;
  const auto axes = ends ? read_integers(call, "axes", 3) : std::nullopt;
  const auto steps = axes ? read_integers(call, "steps", 4) : std::nullopt;
  if (!steps) return std::nullopt;
  const bool is_plain = steps->empty() || (steps->size() == 1 && steps->front() == 1);
  if (starts->size() != 1 || ends->size() != 1 || axes->size() != 1 || !is_of_columns(axes->front(), of->rank) ||
      !is_plain) {
    call.refuse("bad_value", "axes",
                "only one range of columns (axis " + std::to_string(of->rank - 1) + ") with the step 1 is supported");
    return std::nullopt;
  }
  const auto columns = static_cast<std::int64_t>(of->slots.size());
  const auto place = [columns](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + columns : index, 0, columns);
  };
  std::vector<std::int64_t> numbers;
  for (std::int64_t at = place(starts->front()); at < place(ends->front()); ++at) numbers.push_back(at);
  return chosen(call, *of, numbers);
}

auto refuse_shape(const onnx_call& call, const onnx_rows& rows) -> made_rows {
  call.refuse("bad_value", "input",
              "the new shape must keep the rows, with " + counted(rows.slots.size(), "column") + " in each row");
  return std::nullopt;
}

auto make_reshaped(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  const auto shape = of == nullptr ? std::nullopt : call.whole(1);
  if (!shape) return std::nullopt;
  onnx_rows out = *of;
  out.rank = static_cast<std::uint32_t>(shape->size());
  const auto columns = static_cast<std::int64_t>(of->slots.size());
  if (of->rank <= 2 && *shape == std::vector<std::int64_t>{1, -1, columns}) {
    out.tables = 1;
    return out;
  }
  // An output of the graph may be reshaped to a single column. The numbers of a row then follow each other, so the rows
  // can still be distinguished.
  if (of->rank == 2 && call.is_result() && *shape == std::vector<std::int64_t>{-1, 1}) return out;
  const bool keeps_rows = !shape->empty() && (shape->front() == -1 || (shape->front() == 0 && of->rank <= 2));
  if (shape->size() == 1 && keeps_rows && columns == 1) return out;
  if (shape->size() != 2 || !keeps_rows) return refuse_shape(call, *of);
  const std::int64_t wanted = (*shape)[1];
  if (wanted == columns || (shape->front() == 0 && wanted == -1)) return out;
  return refuse_shape(call, *of);
}

auto make_flat(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  if (call.integer("axis", 1) != 1) return refuse_shape(call, *of);
  onnx_rows out = *of;
  out.rank = 2;
  return out;
}

/// Returns the axis that is removed or inserted. The axis is an attribute up to operator version 12, and an input from
/// version 13 on.
auto read_axis(const onnx_call& call) -> std::int64_t {
  const auto axes = read_integers(call, "axes", 1);
  return axes && axes->size() == 1 ? axes->front() : 0;
}

auto make_squeezed(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  onnx_rows out = *of;
  const std::int64_t axis = read_axis(call);
  const bool is_single = of->rank == 3 || (of->rank == 2 && of->slots.size() == 1);
  if (!is_single || (axis != 1 && axis != (of->rank == 2 ? -1 : -2))) return refuse_shape(call, *of);
  --out.rank;
  return out;
}

auto make_unsqueezed(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const std::int64_t axis = read_axis(call);
  if (of->rank != 1 || (axis != 1 && axis != -1)) return refuse_shape(call, *of);
  onnx_rows out = *of;
  out.rank = 2;
  return out;
}

constexpr std::array shapes_operators{
    onnx_operator{"", "Cast", &make_cast},
    onnx_operator{"", "Concat", &make_concat},
    onnx_operator{"", "ConstantOfShape", &make_filled},
    onnx_operator{"", "Flatten", &make_flat},
    onnx_operator{"", "Gather", &make_gather},
    onnx_operator{"", "Identity", &make_same},
    onnx_operator{"", "Reshape", &make_reshaped},
    onnx_operator{"", "SequenceConstruct", &make_sequence},
    onnx_operator{"", "Slice", &make_slice},
    onnx_operator{"", "Squeeze", &make_squeezed},
    onnx_operator{"", "Unsqueeze", &make_unsqueezed},
    onnx_operator{onnx_ml, "ArrayFeatureExtractor", &make_columns},
    onnx_operator{onnx_ml, "FeatureVectorizer", &make_vector},
    onnx_operator{onnx_ml, "ZipMap", &make_same},
};

}  // namespace

auto onnx_shapes() -> std::span<const onnx_operator> { return shapes_operators; }

}  // namespace rankd::detail
