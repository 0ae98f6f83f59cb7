// rankd/op/detail/program_builder.hpp: how programs are made: each step writes slots of its own, and in the end those
// that nothing reads go, and the others share as few as they can.
#pragma once

#include <rankd/op/detail/model_program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankd::detail {

/// Numbers of slots, as the builder returns them.
using slot_list = std::vector<std::uint32_t>;

class program_builder {
 public:
  /// Returns a slot that is filled before the steps run.
  auto input(number_width width) -> std::uint32_t;

  auto constant(double value, number_width width) -> std::uint32_t;

  /// Returns a step that reads these slots. Requires a kind without numbers of its own.
  auto step(step_kind kind, number_width width, std::span<const std::uint32_t> operands, double value = 0)
      -> std::uint32_t;

  /// Computes, for each column of the matrix `weights`, the sum of its products with these slots plus the number of
  /// `last` for the column. `weights` is stored row by row.
  auto weighted(std::span<const std::uint32_t> operands, std::span<const double> weights, std::span<const double> last,
                number_width width) -> slot_list;

  /// Returns the outputs of trees whose features are positions in `columns`.
  auto forest(program_forest made, std::size_t outputs, std::span<const std::uint32_t> columns) -> slot_list;

  [[nodiscard]] auto steps() const noexcept -> std::size_t { return made_.steps.size(); }
  [[nodiscard]] auto operands() const noexcept -> std::size_t { return made_.operands.size(); }
  [[nodiscard]] auto numbers() const noexcept -> std::size_t { return made_.numbers.size(); }

  /// Returns the program that computes these slots. Its keys are the inputs that it needs, by their numbers from 0.
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
  std::vector<std::size_t> last_uses_;  ///< by slot: the step after which it is free
  std::vector<std::uint32_t> places_;   ///< by slot: its place in the end
  std::vector<std::uint32_t> free_;     ///< places
};

}  // namespace rankd::detail
