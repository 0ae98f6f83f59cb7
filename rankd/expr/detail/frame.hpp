// rankd/expr/detail/frame.hpp: the registers for the current block of an evaluation, and the execution of its
// instructions.
#pragma once

#include <braid/base/arena.hpp>
#include <rankd/expr/detail/evaluation.hpp>
#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/detail/program.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// The number of rows in one block. Several registers of this size fit into the L1 cache, and the cost of dispatching
/// an instruction is negligible for this number of rows. It is a multiple of 64, so every block begins at a word
/// boundary of a bitmap.
inline constexpr std::size_t block_rows = 512;

/// A range of consecutive positions of a row set. `first` is a multiple of `block_rows`.
struct block {
  std::size_t first = 0;
  std::size_t rows = 0;
};

/// The value of a slot for the current block: one value for each row, or a single value for all rows.
template <typename T>
struct vector_slot {
  const T* values = nullptr;
  bool uniform = false;
  const std::uint64_t* valid = nullptr;  ///< a bit for each row, or null if all are valid

  [[nodiscard]] auto at(std::size_t row) const noexcept -> T { return values[uniform ? 0 : row]; }
  [[nodiscard]] auto is_valid(std::size_t row) const noexcept -> bool {
    return valid == nullptr || test_bit(valid, row);
  }
};

/// The slots of one type. A register may point to values outside of the slot's own memory, such as a part of a column.
template <typename T>
class bank {
 public:
  bank(const slot_counts& counts, std::size_t width, braid::arena& memory);

  [[nodiscard]] auto at(value_slot slot) noexcept -> vector_slot<T>& {
    return slot.uniform ? cells_[slot.index] : registers_[slot.index];
  }
  /// Returns the slot's own memory, with room for the rows of a block. A cell has room for one value.
  [[nodiscard]] auto values(value_slot slot) noexcept -> T* {
    return slot.uniform ? &cell_values_[slot.index] : &register_values_[slot.index * width_];
  }
  [[nodiscard]] auto valid(value_slot slot) noexcept -> std::uint64_t* {
    return slot.uniform ? &cell_valid_[slot.index] : &register_valid_[slot.index * words_for(width_)];
  }
  void set_cell(std::uint32_t cell, std::optional<T> value) noexcept;

 private:
  std::size_t width_;
  std::span<vector_slot<T>> registers_;
  std::span<T> register_values_;
  std::span<std::uint64_t> register_valid_;
  std::span<vector_slot<T>> cells_;
  std::span<T> cell_values_;
  std::span<std::uint64_t> cell_valid_;
};

/// Runs the program of an evaluation over some of its blocks, one after another.
/// Threads: one at a time. Frames of the same evaluation may run in parallel, because they share only immutable data.
/// Lifetime: the evaluation and the arena outlive it.
class frame {
 public:
  /// Creates a frame. If `results` is given, it must have room for every position, and the register for the
  /// expression's result uses this memory. Even then, the result may be elsewhere, for example in a column of the
  /// batch.
  frame(const evaluation& shared, braid::arena& memory, double* results = nullptr);

  /// Computes the blocks from position `from` to `to` and calls `take(block)` after each block. Requires that `from` is
  /// a multiple of `block_rows`.
  template <typename Take>
  void for_each_block(std::size_t from, std::size_t to, Take&& take) {
    begin();
    for (std::size_t first = from; first < to; first += block_rows) {
      block_ = {.first = first, .rows = std::min(block_rows, to - first)};
      execute(code_.each);
      take(block_);
    }
  }

  /// Returns the slot with the result of an expression. `T` is the type of the program's values.
  template <typename T>
  [[nodiscard]] auto value() noexcept -> const vector_slot<T>&;
  [[nodiscard]] auto truth() const noexcept -> const std::uint64_t* { return truth_words(code_.truth); }
  [[nodiscard]] auto simd() const noexcept -> const kernel_table& { return *kernels_; }

 private:
  void begin();
  void bind_param(const param_cell& cell, const scalar& value);
  void execute(const std::vector<instruction>& code);

  template <typename T>
  void run(const load_key<T>& code);
  void run(const load_presence& code);
  void run(const compute& code);
  template <typename In, typename Out>
  void run(const remainder<In, Out>& code);
  template <typename Out>
  void run(const find_bucket<Out>& code);
  void run(const load_key<std::string_view>& code);
  void run(const join_texts& code);
  template <typename Out>
  void run(const measure_text<Out>& code);
  template <typename Out>
  void run(const find_text_bucket<Out>& code);
  template <typename T>
  void run(const choose<T>& code);
  void run(const multiply_vectors& code);
  void run(const choose<std::string_view>& code);
  template <typename T>
  void run(const select<T>& code);
  void run(const select<std::string_view>& code);
  template <typename T>
  void run(const compare_values<T, T>& code);
  void run(const compare_values<std::int64_t, double>& code);
  template <typename T>
  void run(const find_number<T>& code);
  void run(const test_null& code);
  void run(const match_text& code);
  void run(const match_param& code);
  void run(const relate_columns& code);
  void run(const relate_fixed& code);
  void run(const set_truth& code);
  void run(const combine_truths& code);
  void run(const invert_truth& code);

  template <typename T>
  [[nodiscard]] auto find_bank() noexcept -> bank<T>&;
  template <typename T>
  [[nodiscard]] auto own_values(value_slot slot) noexcept -> T*;
  template <typename T, typename Stored>
  void show(std::span<const Stored> source, bitmap validity, value_slot out);
  template <typename T, typename Stored>
  void convert(const Stored* source, T* own) const;
  template <typename T>
  void show_null(value_slot out);
  template <typename T>
  void show_result(value_slot out, const std::uint64_t* valid);
  template <typename T>
  void compare(comparison comparison, const vector_slot<T>& a, const vector_slot<T>& b, std::uint64_t* out) const;
  void calculate(const compute& code, double* out);
  [[nodiscard]] auto joint_validity(const compute& code) -> const std::uint64_t*;
  [[nodiscard]] auto finite_rows(const double* values, const std::uint64_t* valid, std::uint64_t* own) const
      -> const std::uint64_t*;
  template <typename T>
  [[nodiscard]] auto both_valid(const vector_slot<T>& a, const vector_slot<T>& b, std::uint64_t* own) const
      -> const std::uint64_t*;
  auto reserve_room(std::uint32_t buffer, std::size_t bytes) -> char*;
  [[nodiscard]] auto joint_lengths(const join_texts& code, std::uint64_t* fits, std::span<std::size_t> lengths)
      -> std::size_t;
  [[nodiscard]] auto text_of(const fixed_text& source) const -> const std::string*;
  [[nodiscard]] auto valid_in_order(bitmap validity, std::uint64_t* own) const -> const std::uint64_t*;
  void drop_null_rows(std::uint64_t* out, const std::uint64_t* valid) const;

  [[nodiscard]] auto words() const noexcept -> std::size_t { return words_for(block_.rows); }
  [[nodiscard]] auto truth_words(truth_slot slot) const noexcept -> std::uint64_t* {
    return &truths_[slot * words_for(width_)];
  }

  const evaluation& shared_;
  const program& code_;
  const row_set& rows_;
  const kernel_table* kernels_;
  std::size_t width_;  ///< rows of a register
  block block_;
  bank<double> floats_;
  bank<std::int64_t> exacts_;
  bank<std::string_view> strings_;
  braid::arena& memory_;  ///< for concatenated strings; a program that concatenates runs in one chunk
  /// The memory for each buffer of `program::buffers`. Each memory range is as large as the largest contents that any
  /// block has needed so far.
  std::span<std::span<char>> buffers_;
  std::span<std::uint64_t> truths_;
  std::span<std::uint32_t> codes_;  ///< codes of strings, in the order of the rows
  double* results_;
};

// The specializations for each type of values must precede their first use.
template <>
auto frame::find_bank<double>() noexcept -> bank<double>&;
template <>
auto frame::value<double>() noexcept -> const vector_slot<double>&;
template <>
auto frame::find_bank<std::int64_t>() noexcept -> bank<std::int64_t>&;
template <>
auto frame::value<std::int64_t>() noexcept -> const vector_slot<std::int64_t>&;
template <>
auto frame::find_bank<std::string_view>() noexcept -> bank<std::string_view>&;
template <>
auto frame::value<std::string_view>() noexcept -> const vector_slot<std::string_view>&;

}  // namespace rankd::detail
