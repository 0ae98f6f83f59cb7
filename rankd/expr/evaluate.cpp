// rankd/expr/evaluate.cpp: runs a program over the blocks of a row set, in parallel parts, and collects the results.
#include <rankd/expr/detail/evaluation.hpp>
#include <rankd/expr/detail/frame.hpp>
#include <rankd/expr/evaluate.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rankd {
namespace {

using detail::block;
using detail::block_rows;
using detail::frame;
using detail::vector_slot;

/// The division of rows into consecutive parts. All parts except the last consist of whole blocks.
struct parts {
  std::size_t rows;
  std::size_t of_each;

  static auto make(std::size_t rows, const evaluate_options& options) -> parts {
    const std::size_t wanted = std::clamp(options.rows_of_part, block_rows, std::max(rows, block_rows));
    return {rows, (wanted + block_rows - 1) / block_rows * block_rows};
  }
  [[nodiscard]] auto count() const -> std::size_t { return (rows + of_each - 1) / of_each; }
  [[nodiscard]] auto from(std::size_t part) const -> std::size_t { return part * of_each; }
  [[nodiscard]] auto to(std::size_t part) const -> std::size_t { return std::min(rows, from(part) + of_each); }
};

/// Calls `run(frame, from, to)` for each part. Each part has its own frame. The frames are allocated before the parts
/// start, because an arena may be used by only one thread.
template <typename Run>
void run_parts(const parts& all, const detail::evaluation& shared, double* results, braid::arena& memory, Run&& run) {
  if (all.count() <= 1) {
    frame registers(shared, memory, results);
    return run(registers, 0, all.rows);
  }
  const std::span<frame*> frames = memory.filled(all.count(), static_cast<frame*>(nullptr));
  for (frame*& each : frames) each = memory.make<frame>(shared, memory, results);
  braid::parallel_for(std::size_t{0}, all.count(),
                      [&](std::size_t part) { run(*frames[part], all.from(part), all.to(part)); }, {.grain = 1});
}

/// Returns the options of an evaluation. Programs that concatenate strings process all rows as one part, because such
/// programs allocate memory, and an arena may be used by only one thread.
auto find_parts(const detail::program& code, evaluate_options options) -> evaluate_options {
  if (code.buffers != 0) options.rows_of_part = evaluate_options::one_part;
  return options;
}

/// A column of type `T` that receives the values of an expression. The column has one value for each row of the batch.
template <typename T>
class result_column {
 public:
  result_column(const row_set& rows, braid::arena& memory)
      : rows_(rows),
        values_(memory.uninitialized<T>(rows.table().size())),
        words_(memory.filled(words_for(values_.size()), std::uint64_t{0})) {
    std::ranges::fill(values_.subspan(rows.is_prefix() ? rows.size() : 0), T{});
  }

  /// Returns the memory into which results can be computed directly. Returns null if the active rows are not in their
  /// natural order.
  [[nodiscard]] auto results() const -> double* {
    if constexpr (std::is_same_v<T, double>) return rows_.is_prefix() ? values_.data() : nullptr;
    return nullptr;
  }

  void take(const block& block, frame& from) {
    const vector_slot<T>& result = from.value<T>();
    if (result.valid != nullptr) has_nulls_.store(true, braid::relaxed);
    if (!rows_.is_prefix()) return take_ordered(block, result);
    take_validity(block, result.valid);
    take_values(block, result);
    if (result.valid != nullptr) drop_invalid(block, result.valid, from);
  }

  [[nodiscard]] auto finish() const -> column {
    const bool full = !has_nulls_.load(braid::relaxed) && rows_.size() == values_.size();
    return {.values = std::span<const T>(values_), .validity = full ? bitmap() : bitmap(words_.data())};
  }

 private:
  void drop_invalid(const block& block, const std::uint64_t* valid, frame& from) {
    if constexpr (std::is_same_v<T, double>) {
      from.simd().drop_invalid(values_.data() + block.first, valid, block.rows);
    } else {
      for (std::size_t i = 0; i < block.rows; ++i) values_[block.first + i] *= test_bit(valid, i) ? 1 : 0;
    }
  }

  void take_validity(const block& block, const std::uint64_t* valid) {
    std::uint64_t* words = words_.data() + block.first / word_bits;
    for (std::size_t row = 0; row < block.rows; row += word_bits) {
      const std::uint64_t bits = valid == nullptr ? ~std::uint64_t{0} : valid[row / word_bits];
      words[row / word_bits] = bits & low_bits(block.rows - row);
    }
  }

  void take_values(const block& block, const vector_slot<T>& result) {
    T* out = values_.data() + block.first;
    if (result.uniform)
      std::fill_n(out, block.rows, *result.values);
    else if (result.values != out)
      std::copy_n(result.values, block.rows, out);
  }

  void take_ordered(const block& block, const vector_slot<T>& result) {
    const std::span<const std::uint32_t> order = rows_.order().subspan(block.first, block.rows);
    for (std::size_t i = 0; i < block.rows; ++i) {
      if (!result.is_valid(i)) continue;
      values_[order[i]] = result.at(i);
      set_bit(words_.data(), order[i]);
    }
  }

  const row_set& rows_;
  std::span<T> values_;
  std::span<std::uint64_t> words_;
  braid::atomic<bool> has_nulls_{false};  // set by the parts, read when all have ended
};

template <typename T>
auto find_column(const detail::program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
                 evaluate_options options) -> evaluated<column> {
  // If every row is active, the order of rows does not matter, so the columns can be read sequentially.
  const row_set read = rows.size() == rows.table().size() ? row_set(rows.table()) : rows;
  detail::evaluation shared(code, read, memory);
  if (auto error = shared.begin(params)) return std::unexpected(std::move(*error));
  result_column<T> out(read, memory);
  // If the rows are not in their natural order, two parts could write to the same word of the validity bitmap, so all
  // rows are evaluated as one part.
  if (!read.is_prefix()) options.rows_of_part = evaluate_options::one_part;
  run_parts(parts::make(read.size(), find_parts(code, options)), shared, out.results(), memory,
            [&out](frame& registers, std::size_t from, std::size_t to) {
              registers.for_each_block(from, to, [&](const block& block) { out.take(block, registers); });
            });
  return out.finish();
}

}  // namespace

auto evaluate(const expr_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options) -> evaluated<column> {
  return find_column<double>(code.code(), rows, params, memory, options);
}

auto evaluate_integers(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                       braid::arena& memory, evaluate_options options) -> evaluated<column> {
  return find_column<std::int64_t>(code.code_of_integers(), rows, params, memory, options);
}

auto evaluate_strings(const expr_program& code, const row_set& rows, std::span<const scalar> params,
                      braid::arena& memory) -> evaluated<column> {
  detail::evaluation shared(code.code_of_strings(), rows, memory);
  if (auto error = shared.begin(params)) return std::unexpected(std::move(*error));
  const std::size_t size = rows.table().size();
  const std::span<std::uint32_t> codes = memory.filled(size, std::uint32_t{0});
  const std::span<std::uint64_t> valid = memory.filled(words_for(size), std::uint64_t{0});
  dictionary_builder words(memory);
  frame registers(shared, memory);
  registers.for_each_block(0, rows.size(), [&](const block& block) {
    const vector_slot<std::string_view>& result = registers.value<std::string_view>();
    for (std::size_t i = 0; i < block.rows; ++i) {
      if (!result.is_valid(i)) continue;
      const std::uint32_t row = rows.row(block.first + i);
      codes[row] = words.intern(result.at(i));
      set_bit(valid.data(), row);
    }
  });
  return column{.values = string_values{codes, words.finish()}, .validity = bitmap(valid.data())};
}

auto evaluate(const pred_program& code, const row_set& rows, std::span<const scalar> params, braid::arena& memory,
              evaluate_options options) -> evaluated<bitmap> {
  detail::evaluation shared(code.code(), rows, memory);
  if (auto error = shared.begin(params)) return std::unexpected(std::move(*error));
  const std::span<std::uint64_t> words = memory.filled(words_for(rows.size()), std::uint64_t{0});
  run_parts(parts::make(rows.size(), find_parts(code.code(), options)), shared, nullptr, memory,
            [words](frame& registers, std::size_t from, std::size_t to) {
              registers.for_each_block(from, to, [&](const block& block) {
                std::copy_n(registers.truth(), words_for(block.rows),
                            words.begin() + static_cast<std::ptrdiff_t>(block.first / word_bits));
              });
            });
  return words.empty() ? bitmap() : bitmap(words.data());
}

}  // namespace rankd
