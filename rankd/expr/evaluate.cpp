// rankd/expr/evaluate.cpp: drives a program over the blocks of a row set and collects its results.
#include <rankd/expr/detail/frame.hpp>
#include <rankd/expr/evaluate.hpp>

#include <algorithm>
#include <utility>

namespace rankd {
namespace {

using detail::block;
using detail::lane;

/// The column that an expression fills, a value for each row of the batch.
class float_column {
 public:
  float_column(const row_set& rows, braid::arena& memory)
      : rows_(rows),
        values_(memory.uninitialized<double>(rows.table().size())),
        words_(memory.filled(words_for(values_.size()), std::uint64_t{0})) {
    std::ranges::fill(values_.subspan(rows.is_prefix() ? rows.size() : 0), 0.0);
  }

  void take(const block& at, const lane<double>& result) {
    has_nulls_ = has_nulls_ || result.valid != nullptr;
    if (!rows_.is_prefix()) return take_ordered(at, result);
    take_validity(at, result.valid);
    if (result.valid == nullptr)
      take_all(at, result);
    else
      take_valid(at, result);
  }

  [[nodiscard]] auto finish() const -> column {
    const bool full = !has_nulls_ && rows_.size() == values_.size();
    return {.values = std::span<const double>(values_), .validity = full ? bitmap() : bitmap(words_.data())};
  }

 private:
  void take_validity(const block& at, const std::uint64_t* valid) {
    std::uint64_t* words = words_.data() + at.first / word_bits;
    for (std::size_t row = 0; row < at.rows; row += word_bits) {
      const std::uint64_t bits = valid == nullptr ? ~std::uint64_t{0} : valid[row / word_bits];
      words[row / word_bits] = bits & low_bits(at.rows - row);
    }
  }

  void take_all(const block& at, const lane<double>& result) {
    double* out = values_.data() + at.first;
    if (result.numbers.uniform)
      std::fill_n(out, at.rows, *result.numbers.values);
    else
      std::copy_n(result.numbers.values, at.rows, out);
  }

  void take_valid(const block& at, const lane<double>& result) {
    double* out = values_.data() + at.first;
    for (std::size_t i = 0; i < at.rows; ++i)
      out[i] = detail::select(result.valid[i / word_bits] >> (i % word_bits), result.at(i), 0.0);
  }

  void take_ordered(const block& at, const lane<double>& result) {
    const std::span<const std::uint32_t> order = rows_.order().subspan(at.first, at.rows);
    for (std::size_t i = 0; i < at.rows; ++i) {
      if (!result.is_valid(i)) continue;
      values_[order[i]] = result.at(i);
      set_bit(words_.data(), order[i]);
    }
  }

  const row_set& rows_;
  std::span<double> values_;
  std::span<std::uint64_t> words_;
  bool has_nulls_ = false;
};

}  // namespace

auto evaluate(const expr_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory)
    -> evaluated<column> {
  // Where every row is active their order does not matter, and columns can be read straight through.
  const row_set read = rows.size() == rows.table().size() ? row_set(rows.table()) : rows;
  detail::frame registers(code.code(), read, memory);
  if (auto error = registers.begin(params)) return std::unexpected(std::move(*error));
  float_column out(read, memory);
  registers.for_each_block([&](const block& at) { out.take(at, registers.value()); });
  return out.finish();
}

auto evaluate(const pred_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory)
    -> evaluated<bitmap> {
  detail::frame registers(code.code(), rows, memory);
  if (auto error = registers.begin(params)) return std::unexpected(std::move(*error));
  const std::span<std::uint64_t> words = memory.filled(words_for(rows.size()), std::uint64_t{0});
  registers.for_each_block([&](const block& at) {
    std::copy_n(registers.truth(), words_for(at.rows),
                words.begin() + static_cast<std::ptrdiff_t>(at.first / word_bits));
  });
  return words.empty() ? bitmap() : bitmap(words.data());
}

}  // namespace rankd
