// rankd/op/detail/onnx_call.hpp: helpers that convert one node of an ONNX graph to steps: for its operands, attributes
// and diagnostics.
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

/// A tensor with one row for each row of the request. Each of its columns is a slot. Its shape is [rows] for rank 1,
/// [rows, columns] for rank 2, and [rows, 1, columns] for rank 3. A one-hot encoder produces rank 3. Several tables can
/// be stacked: the shape is then [tables, rows, columns], and the slots of the tables follow each other. Ensembles
/// average such tables.
struct onnx_rows {
  onnx_type type = onnx_type::floats;
  std::uint32_t rank = 2;
  slot_list slots;
  std::size_t tables = 0;  ///< the number of stacked tables; 0 if there are none
};

/// The values of an ONNX graph that have been defined so far, by name.
struct onnx_scope {
  const onnx_file& file;
  const model_reading& with;
  program_builder& out;
  std::map<std::string_view, onnx_rows> rows = {};
  std::map<std::string_view, onnx_numbers> numbers = {};  ///< constants, once they were decoded
  /// The names of values that are shapes, each with the name of the rows that have this shape.
  std::map<std::string_view, std::string_view> shapes = {};
};

/// The operands of a node, widened to the same number of columns.
struct onnx_operands {
  onnx_type type = onnx_type::floats;  ///< the type of the operands that have rows
  std::uint32_t rank = 2;
  std::vector<slot_list> slots;  ///< for each operand, its slots
};

auto width_of(onnx_type type) -> number_width;
auto is_real(onnx_type type) -> bool;

class onnx_call {
 public:
  onnx_call(const onnx_node& node, onnx_scope& scope) : node_(node), scope_(scope) {}

  /// Reports a diagnostic whose message begins with the node's name and operator. `place` is the field of the node that
  /// is wrong.
  void refuse(std::string_view code, std::string_view place, const std::string& message, std::string hint = {}) const;

  /// Reports a diagnostic like `refuse`, for an item of one of the node's lists.
  void refuse_item(std::string_view code, std::string_view list, std::size_t index, const std::string& message) const;

  /// Returns the message, preceded by the name and operator of the node.
  [[nodiscard]] auto named(const std::string& message) const -> std::string;

  [[nodiscard]] auto node() const -> const onnx_node& { return node_; }
  [[nodiscard]] auto file() const -> const onnx_file& { return scope_.file; }
  [[nodiscard]] auto with() const -> const model_reading& { return scope_.with; }
  [[nodiscard]] auto out() const -> program_builder& { return scope_.out; }

  /// Returns whether the number of steps is still within the limit. Reports a diagnostic and returns false otherwise.
  /// Called after each node, and also within a node that has many inputs.
  [[nodiscard]] auto may_go_on() const -> bool;

  /// Returns whether the outputs of a regressor need no transform. Reports a diagnostic and returns false otherwise.
  [[nodiscard]] auto is_plain_regressor() const -> bool;

  /// These functions return the number of inputs, and whether an input is absent or constant.
  [[nodiscard]] auto inputs() const -> std::size_t { return node_.inputs.size(); }
  [[nodiscard]] auto is_absent(std::size_t index) const -> bool;
  [[nodiscard]] auto is_constant(std::size_t index) const -> bool;

  /// Returns whether an output of the node is an output of the graph.
  [[nodiscard]] auto is_result() const -> bool;

  /// Returns an input that has a row for each row of the request. A constant with a single row counts as the same row
  /// for all rows of the request. Returns null after a diagnostic. Stacked tables are refused.
  [[nodiscard]] auto rows(std::size_t index) const -> const onnx_rows*;
  /// Works like `rows`, but also returns stacked tables.
  [[nodiscard]] auto rows_or_tables(std::size_t index) const -> const onnx_rows*;
  /// Returns the rows whose shape is the value of this input. Returns null after a diagnostic, for example if the input
  /// is not a shape.
  [[nodiscard]] auto shaped(std::size_t index) const -> const onnx_rows*;
  /// Returns the tensor of an attribute. Returns nothing if there is no such attribute, or after a diagnostic.
  [[nodiscard]] auto tensor(std::string_view attribute) const -> std::optional<onnx_numbers>;
  /// Works like `rows`, but also reports a diagnostic unless the input consists of floats or doubles and has two
  /// dimensions.
  [[nodiscard]] auto table(std::size_t index) const -> const onnx_rows*;
  /// Returns an input that is a constant for all rows. Returns null after a diagnostic.
  [[nodiscard]] auto constant(std::size_t index) const -> const onnx_numbers*;
  /// Returns the value of a constant input that consists of one number.
  [[nodiscard]] auto single(std::size_t index) const -> std::optional<double>;
  /// Returns the integers of a constant input.
  [[nodiscard]] auto whole(std::size_t index) const -> std::optional<std::vector<std::int64_t>>;

  [[nodiscard]] auto has(std::string_view attribute) const -> bool;
  [[nodiscard]] auto integer(std::string_view attribute, std::int64_t otherwise) const -> std::int64_t;
  [[nodiscard]] auto real(std::string_view attribute, double otherwise) const -> double;
  [[nodiscard]] auto text(std::string_view attribute, std::string_view otherwise) const -> std::string_view;
  [[nodiscard]] auto floats(std::string_view attribute) const -> std::vector<double>;
  [[nodiscard]] auto ints(std::string_view attribute) const -> std::vector<std::int64_t>;
  [[nodiscard]] auto strings(std::string_view attribute) const -> std::vector<std::string_view>;

  /// Returns the given inputs, all widened to the column count of the widest input. Returns nothing after a diagnostic.
  [[nodiscard]] auto broadcast(std::initializer_list<std::size_t> indexes) const -> std::optional<onnx_operands>;

  /// Adds a step for each column, and returns the slots of the results. Requires operands with the same number of
  /// columns.
  [[nodiscard]] auto each(model_op kind, onnx_type type, std::span<const slot_list> operands, double value = 0) const
      -> slot_list;
  [[nodiscard]] auto each(model_op kind, onnx_type type, const slot_list& operands, double value = 0) const
      -> slot_list;

  /// For each slot, adds a step whose operands are the slot and its constant. Returns the slots of the results.
  [[nodiscard]] auto with_constants(model_op kind, onnx_type type, const slot_list& slots,
                                    std::span<const double> values) const -> slot_list;

  /// Returns a slot for each constant.
  [[nodiscard]] auto constants(std::span<const double> values, onnx_type type) const -> slot_list;

 private:
  /// Reports an input that does not consist of rows. The message says whether an earlier node has an output of this
  /// name.
  void refuse_unknown(std::string_view name) const;
  [[nodiscard]] auto find(std::string_view attribute) const -> onnx_attribute;
  [[nodiscard]] auto find_columns(std::size_t index, const onnx_operands& all) const -> std::optional<std::size_t>;

  const onnx_node& node_;
  onnx_scope& scope_;
};

/// A function that computes the output of an ONNX operator from its inputs. The result is empty after a diagnostic.
using onnx_maker = auto (*)(const onnx_call&) -> std::optional<onnx_rows>;

struct onnx_operator {
  std::string_view domain;
  std::string_view name;
  onnx_maker make;
  std::size_t output = 0;  ///< which of the operator's outputs is used
};

/// The supported operators of each kind.
auto onnx_arithmetic() -> std::span<const onnx_operator>;
auto onnx_shapes() -> std::span<const onnx_operator>;
auto onnx_learners() -> std::span<const onnx_operator>;

/// Converts an ensemble of trees to steps, and returns its scores.
auto make_tree_regressor(const onnx_call& call) -> std::optional<onnx_rows>;
auto make_tree_classifier(const onnx_call& call) -> std::optional<onnx_rows>;

/// Applies the attribute `post_transform` (NONE, LOGISTIC or SOFTMAX) to the scores of trees or a linear model.
auto transformed(const onnx_call& call, slot_list scores, std::string_view transform) -> std::optional<onnx_rows>;

/// Computes a softmax of the slots: exp(x - max), divided by the sum of these values over all slots.
auto softened(const onnx_call& call, const slot_list& slots, onnx_type type) -> slot_list;

}  // namespace rankd::detail
