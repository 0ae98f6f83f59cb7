// rankd/op/detail/program_builder.hpp: builds a `program_model` step by step. Each new step writes its own slots. At
// the end, unused steps are removed, and the remaining steps reuse slots.
#pragma once

#include <rankd/op/detail/model_program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankd::detail {

/// A list of slots. A slot is a number that the builder has returned.
using slot_list = std::vector<std::uint32_t>;

class program_builder {
 public:
  /// Adds an input, whose slot must be filled before the steps run, and returns the slot.
  auto input(number_width width) -> std::uint32_t;

  auto constant(double value, number_width width) -> std::uint32_t;

  /// Adds a step with these slots as operands, and returns the slot of its result. The kind of the step must not need
  /// numbers from `extra`.
  auto step(model_op kind, number_width width, std::span<const std::uint32_t> operands, double value = 0)
      -> std::uint32_t;

  /// Adds a step for each column of the matrix `weights`. The step multiplies each slot by the slot's number in the
  /// column. Its result is the sum of these products and of the column's number in `last`. `weights` is stored row by
  /// row.
  auto weighted(std::span<const std::uint32_t> operands, std::span<const double> weights, std::span<const double> last,
                number_width width) -> slot_list;

  /// Adds trees and returns the slots of their outputs. The features of the trees are positions in `columns`.
  auto forest(program_forest made, std::size_t outputs, std::span<const std::uint32_t> columns) -> slot_list;

  [[nodiscard]] auto steps() const noexcept -> std::size_t { return made_.steps.size(); }
  [[nodiscard]] auto operands() const noexcept -> std::size_t { return made_.operands.size(); }
  [[nodiscard]] auto numbers() const noexcept -> std::size_t { return made_.numbers.size(); }

  /// Returns the program that computes these slots. The keys of the program are the inputs that the slots depend on,
  /// numbered from 0 in the order of the calls of `input`.
  auto finished(slot_list outputs) && -> program_model;

 private:
  void mark_needed();
  void find_last_uses();
  auto place(std::uint32_t slot) -> std::uint32_t;
  void lay_out();
  void release(std::span<const std::uint32_t> slots, std::size_t after);
  [[nodiscard]] auto list_outs(const program_step& step) const -> std::span<const std::uint32_t>;
  [[nodiscard]] auto list_operands(const program_step& step) const -> std::span<const std::uint32_t>;

  program_model made_;
  std::vector<program_key> inputs_;
  std::uint32_t slots_ = 0;
  std::vector<bool> needed_;            ///< by slot
  std::vector<std::size_t> last_uses_;  ///< for each slot: the last step that reads it
  std::vector<std::uint32_t> places_;   ///< for each slot: its final number
  std::vector<std::uint32_t> free_;     ///< final numbers that can be used again
};

}  // namespace rankd::detail
