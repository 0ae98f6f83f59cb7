// rankd/op/detail/onnx_call.hpp: one node of a graph of ONNX while it becomes steps: its operands, attributes,
// diagnostics.
#pragma once

#include <rankd/op/detail/onnx_file.hpp>
#include <rankd/op/detail/program_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// A tensor with a row for each row of a request: its columns are slots. Its shape is [rows] with rank 1, [rows,
/// columns] with rank 2, and [rows, 1, columns] with rank 3, which a one-hot encoder makes.
struct onnx_rows {
  onnx_type type = onnx_type::floats;
  std::uint32_t rank = 2;
  slot_list slots;
};

/// The names of a graph that have been defined so far.
struct onnx_scope {
  const onnx_file& file;
  const model_reading& with;
  program_builder& out;
  std::map<std::string_view, onnx_rows> rows = {};
  std::map<std::string_view, onnx_numbers> numbers = {};  ///< constants, once they were decoded
};

/// Operands of one length.
struct onnx_operands {
  onnx_type type = onnx_type::floats;  ///< of those that have rows
  std::uint32_t rank = 2;
  std::vector<slot_list> slots;  ///< by operand
};

auto width_of(onnx_type type) -> number_width;
auto is_real(onnx_type type) -> bool;

class onnx_call {
 public:
  onnx_call(const onnx_node& node, onnx_scope& scope) : node_(node), scope_(scope) {}

  /// Complains, with the node's name and operator in front of the sentence. The place is a field of the node.
  void refuse(std::string_view code, std::string_view place, const std::string& message, std::string hint = {}) const;

  /// Does the same for an item of a list of the node.
  void refuse_item(std::string_view code, std::string_view list, std::size_t at, const std::string& message) const;

  /// Returns the sentence with the node's name and operator in front.
  [[nodiscard]] auto named(const std::string& message) const -> std::string;

  [[nodiscard]] auto node() const -> const onnx_node& { return node_; }
  [[nodiscard]] auto with() const -> const model_reading& { return scope_.with; }
  [[nodiscard]] auto out() const -> program_builder& { return scope_.out; }

  /// Returns whether the steps so far are few enough; false after a diagnostic. Asked after each node, and within those
  /// whose inputs are any number.
  [[nodiscard]] auto may_go_on() const -> bool;

  /// How many inputs there are, and whether one is left out or beyond the last.
  [[nodiscard]] auto inputs() const -> std::size_t { return node_.inputs.size(); }
  [[nodiscard]] auto is_absent(std::size_t at) const -> bool;
  [[nodiscard]] auto is_constant(std::size_t at) const -> bool;

  /// Returns an input with rows; null after a diagnostic.
  [[nodiscard]] auto rows(std::size_t at) const -> const onnx_rows*;
  /// Returns the same for floats or doubles, with a row and columns.
  [[nodiscard]] auto table(std::size_t at) const -> const onnx_rows*;
  /// Returns an input that is the same for all rows; null after a diagnostic.
  [[nodiscard]] auto constant(std::size_t at) const -> const onnx_numbers*;
  /// Returns the one number of such an input.
  [[nodiscard]] auto single(std::size_t at) const -> std::optional<double>;
  /// Returns the whole numbers of such an input.
  [[nodiscard]] auto whole(std::size_t at) const -> std::optional<std::vector<std::int64_t>>;

  [[nodiscard]] auto has(std::string_view attribute) const -> bool;
  [[nodiscard]] auto integer(std::string_view attribute, std::int64_t otherwise) const -> std::int64_t;
  [[nodiscard]] auto real(std::string_view attribute, double otherwise) const -> double;
  [[nodiscard]] auto text(std::string_view attribute, std::string_view otherwise) const -> std::string_view;
  [[nodiscard]] auto floats(std::string_view attribute) const -> std::vector<double>;
  [[nodiscard]] auto ints(std::string_view attribute) const -> std::vector<std::int64_t>;
  [[nodiscard]] auto strings(std::string_view attribute) const -> std::vector<std::string_view>;

  /// Returns those inputs, each with as many columns as the widest; nothing after a diagnostic.
  [[nodiscard]] auto broadcast(std::initializer_list<std::size_t> which) const -> std::optional<onnx_operands>;

  /// Returns a step for each column of slots that are equally many.
  [[nodiscard]] auto each(step_kind kind, onnx_type type, std::span<const slot_list> operands, double value = 0) const
      -> slot_list;
  [[nodiscard]] auto each(step_kind kind, onnx_type type, const slot_list& operands, double value = 0) const
      -> slot_list;

  /// Returns these slots with one constant each.
  [[nodiscard]] auto with_constants(step_kind kind, onnx_type type, const slot_list& slots,
                                    std::span<const double> values) const -> slot_list;

  /// Returns the constants as slots.
  [[nodiscard]] auto constants(std::span<const double> values, onnx_type type) const -> slot_list;

 private:
  [[nodiscard]] auto find(std::string_view attribute) const -> onnx_attribute;
  [[nodiscard]] auto find_columns(std::size_t at, const onnx_operands& all) const -> std::optional<std::size_t>;

  const onnx_node& node_;
  onnx_scope& scope_;
};

/// A function that makes the result of an operator from its inputs; nothing after a diagnostic.
using onnx_maker = auto (*)(const onnx_call&) -> std::optional<onnx_rows>;

struct onnx_operator {
  std::string_view domain;
  std::string_view name;
  onnx_maker make;
  std::size_t output = 0;  ///< which of the node's outputs it is
};

/// All operators that are known, of each kind.
auto onnx_arithmetic() -> std::span<const onnx_operator>;
auto onnx_shapes() -> std::span<const onnx_operator>;
auto onnx_learners() -> std::span<const onnx_operator>;

/// Adds the scores of an ensemble of trees.
auto make_tree_regressor(const onnx_call& call) -> std::optional<onnx_rows>;
auto make_tree_classifier(const onnx_call& call) -> std::optional<onnx_rows>;

/// Applies the transform after the scores of trees and of linear models: NONE, LOGISTIC or SOFTMAX.
auto transformed(const onnx_call& call, slot_list scores, std::string_view transform) -> std::optional<onnx_rows>;

/// exp(x - max) over the sum of these.
auto softened(const onnx_call& call, const slot_list& slots, onnx_type type) -> slot_list;

}  // namespace rankd::detail
