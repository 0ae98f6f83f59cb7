// rankd/expr/frame.cpp: executes the instructions of a program on one block of rows at a time.
#include <rankd/expr/detail/arithmetic.hpp>
#include <rankd/expr/detail/bits.hpp>
#include <rankd/expr/detail/frame.hpp>
#include <rankd/expr/detail/hash_functions.hpp>
#include <rankd/expr/detail/mixed.hpp>
#include <rankd/registry/vector_bytes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <type_traits>
#include <utility>

namespace rankd::detail {
namespace {

/// The values of a register that is null in every row.
template <typename T>
constexpr std::array<T, block_rows> zeros{};
constexpr std::array<std::uint64_t, words_for(block_rows)> no_bits{};

/// Converts the value of a param to a number for an expression. Returns nothing for strings.
template <typename T>
auto number_as(const scalar& value) -> std::optional<T> {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<T>(*whole);
  if (const auto* flag = std::get_if<bool>(&value)) return static_cast<T>(*flag ? 1 : 0);
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* fraction = std::get_if<double>(&value)) return *fraction;
  }
  return std::nullopt;
}

template <typename T>
auto holds(std::span<const T> sorted, T value) -> bool {
  const auto place = std::ranges::lower_bound(sorted, value);
  return place != sorted.end() && *place == value;
}

/// Returns which operand has one value for all rows. If both do, returns `each_each`: computing one row is then enough.
template <typename T>
auto choose_shape(const vector_slot<T>& a, const vector_slot<T>& b) -> std::size_t {
  if (a.uniform == b.uniform) return static_cast<std::size_t>(shape::each_each);
  return static_cast<std::size_t>(b.uniform ? shape::each_same : shape::same_each);
}

auto make_operand(const vector_slot<double>& slot) -> library_operand {
  return {.values = slot.values, .step = slot.uniform ? std::size_t{0} : std::size_t{1}};
}

/// Returns the remainder of a division as in C++. Returns zero if the remainder or the quotient is undefined.
auto find_remainder(std::int64_t a, std::int64_t b) noexcept -> std::int64_t { return b == 0 || b == -1 ? 0 : a % b; }
auto find_remainder(double a, double b) noexcept -> double { return std::fmod(a, b); }

/// Returns whether the division has a defined remainder.
auto is_number(std::int64_t divisor, std::int64_t /*remains*/) noexcept -> bool { return divisor != 0; }
auto is_number(double /*divisor*/, double remains) noexcept -> bool { return std::isfinite(remains); }

/// Counts the bytes that begin a UTF-8 code point: all except 10xxxxxx. Works for invalid UTF-8, too.
auto count_code_points(std::string_view text) noexcept -> std::size_t {
  std::size_t count = 0;
  for (const char each : text) count += static_cast<signed char>(each) >= -0x40 ? 1U : 0U;
  return count;
}

/// Returns a word with the same truth value for every row.
constexpr auto all_bits(bool truth) -> std::uint64_t { return truth ? ~std::uint64_t{0} : 0; }

}  // namespace

template <typename T>
bank<T>::bank(const slot_counts& counts, std::size_t width, braid::arena& memory) : width_(width) {
  if (counts.registers + counts.cells == 0) return;  // most programs have values of one type only
  registers_ = memory.filled(counts.registers, vector_slot<T>{});
  register_values_ = memory.uninitialized<T>(counts.registers * width);
  register_valid_ = memory.uninitialized<std::uint64_t>(counts.registers * words_for(width));
  cells_ = memory.filled(counts.cells, vector_slot<T>{});
  cell_values_ = memory.filled(counts.cells, T{});
  cell_valid_ = memory.filled(counts.cells, std::uint64_t{0});
  for (std::size_t cell = 0; cell < cells_.size(); ++cell)
    cells_[cell] = {.values = &cell_values_[cell], .uniform = true, .valid = nullptr};
}

template <typename T>
void bank<T>::set_cell(std::uint32_t cell, std::optional<T> value) noexcept {
  cell_values_[cell] = value.value_or(T{});
  cells_[cell].valid = value ? nullptr : no_bits.data();
}

frame::frame(const evaluation& shared, braid::arena& memory, double* results)
    : shared_(shared),
      code_(shared.code()),
      rows_(shared.rows()),
      kernels_(&kernels()),
      width_(std::min(block_rows, words_for(rows_.size()) * word_bits)),
      floats_(code_.floats, width_, memory),
      exacts_(code_.exacts, width_, memory),
      strings_(code_.strings, width_, memory),
      memory_(memory),
      buffers_(memory.filled(code_.buffers, std::span<char>())),
      truths_(memory.uninitialized<std::uint64_t>(code_.truths * words_for(width_))),
      codes_(memory.uninitialized<std::uint32_t>(code_.texts.empty() ? 0 : width_)),
      results_(code_.value.uniform ? nullptr : results) {}

/// Computes the values that are the same for all rows.
void frame::begin() {
  for (const auto& known : code_.floats_known) floats_.set_cell(known.cell, known.value);
  for (const auto& known : code_.exacts_known) exacts_.set_cell(known.cell, known.value);
  for (const auto& known : code_.strings_known)
    strings_.set_cell(known.cell, known.value ? std::optional<std::string_view>(*known.value) : std::nullopt);
  for (const param_cell& cell : code_.params) bind_param(cell, shared_.params()[cell.param]);
  block_ = {.first = 0, .rows = 1};
  execute(code_.once);
}

void frame::bind_param(const param_cell& cell, const scalar& value) {
  switch (cell.form) {
    case param_form::floating: return floats_.set_cell(cell.cell, number_as<double>(value));
    case param_form::exact: return exacts_.set_cell(cell.cell, number_as<std::int64_t>(value));
    case param_form::text: {
      const auto* text = std::get_if<std::string>(&value);
      return strings_.set_cell(cell.cell, text == nullptr ? std::nullopt : std::optional<std::string_view>(*text));
    }
    case param_form::presence: return floats_.set_cell(cell.cell, is_null(value) ? std::nullopt : std::optional(0.0));
  }
}

void frame::execute(const std::vector<instruction>& code) {
  for (const instruction& each : code) {
    std::visit([this](const auto& known) { run(known); }, each);
  }
}

template <>
auto frame::find_bank<double>() noexcept -> bank<double>& {
  return floats_;
}
template <>
auto frame::find_bank<std::int64_t>() noexcept -> bank<std::int64_t>& {
  return exacts_;
}

template <>
auto frame::find_bank<std::string_view>() noexcept -> bank<std::string_view>& {
  return strings_;
}

template <>
auto frame::value<double>() noexcept -> const vector_slot<double>& {
  return floats_.at(code_.value);
}
template <>
auto frame::value<std::int64_t>() noexcept -> const vector_slot<std::int64_t>& {
  return exacts_.at(code_.value);
}

template <>
auto frame::value<std::string_view>() noexcept -> const vector_slot<std::string_view>& {
  return strings_.at(code_.value);
}

/// Returns the memory into which the values of a slot are written for the current block.
template <typename T>
auto frame::own_values(value_slot slot) noexcept -> T* {
  if constexpr (std::is_same_v<T, double>) {
    if (results_ != nullptr && !slot.uniform && slot.index == code_.value.index) return results_ + block_.first;
  }
  return find_bank<T>().values(slot);
}

template <typename T>
void frame::run(const load_key<T>& code) {
  const std::optional<column>& source = shared_.find_column(code.key);
  if (!source) return show_null<T>(code.out);
  std::visit(
      [&](const auto& values) {
        using stored = std::remove_cvref_t<decltype(values)>;
        if constexpr (std::is_same_v<stored, string_values>)
          show_null<T>(code.out);
        else if constexpr (std::is_same_v<stored, std::span<const double>> && !std::is_same_v<T, double>)
          show_null<T>(code.out);
        else
          show<T>(values, source->validity, code.out);
      },
      source->values);
}

/// Makes a register point to a column's values in the current block. Copies them if rows are reordered or types differ.
template <typename T, typename Stored>
void frame::show(std::span<const Stored> source, bitmap validity, value_slot out) {
  vector_slot<T>& to = find_bank<T>().at(out);
  T* own = own_values<T>(out);
  to = {.values = own, .uniform = false, .valid = valid_in_order(validity, find_bank<T>().valid(out))};
  if (!rows_.is_prefix()) {
    const std::span<const std::uint32_t> order = rows_.order().subspan(block_.first, block_.rows);
    for (std::size_t i = 0; i < order.size(); ++i) own[i] = static_cast<T>(source[order[i]]);
  } else if constexpr (std::is_same_v<T, Stored>) {
    to.values = source.data() + block_.first;
  } else {
    convert(source.data() + block_.first, own);
  }
}

template <typename T, typename Stored>
void frame::convert(const Stored* source, T* own) const {
  if constexpr (std::is_same_v<Stored, std::int64_t>)
    kernels_->widen(own, source, block_.rows);
  else
    std::transform(source, source + block_.rows, own, [](Stored value) { return static_cast<T>(value); });
}

template <typename T>
void frame::show_null(value_slot out) {
  find_bank<T>().at(out) = {.values = zeros<T>.data(), .uniform = false, .valid = no_bits.data()};
}

/// Makes a slot point to the values in its own memory. A cell that is null counts as null for any number of rows.
template <typename T>
void frame::show_result(value_slot out, const std::uint64_t* valid) {
  if (out.uniform && valid != nullptr) valid = test_bit(valid, 0) ? nullptr : no_bits.data();
  find_bank<T>().at(out) = {.values = own_values<T>(out), .uniform = out.uniform, .valid = valid};
}

/// Returns the validity bits of the current rows. Copies the bits to `own` unless they can be read in place.
auto frame::valid_in_order(bitmap validity, std::uint64_t* own) const -> const std::uint64_t* {
  if (validity.all_set()) return nullptr;
  if (rows_.is_prefix()) return validity.words() + block_.first / word_bits;
  const std::uint32_t* order = rows_.order().data() + block_.first;
  write_bits(own, block_.rows, [&](std::size_t i) { return test_bit(validity.words(), order[i]); });
  return own;
}

void frame::run(const load_presence& code) {
  show_null<double>(code.out);
  if (const std::optional<column>& source = shared_.find_column(code.key))
    floats_.at(code.out).valid = valid_in_order(source->validity, floats_.valid(code.out));
}

void frame::run(const compute& code) {
  const std::uint64_t* valid = joint_validity(code);
  double* out = own_values<double>(code.out);
  calculate(code, out);
  if (wants_finite(code.what)) valid = finite_rows(out, valid, floats_.valid(code.out));
  show_result<double>(code.out, valid);
}

/// Computes an operation for all rows, even for rows in which an operand is null.
void frame::calculate(const compute& code, double* out) {
  const auto what = static_cast<std::size_t>(code.what);
  const vector_slot<double>& a = floats_.at(code.in[0]);
  if (count_operands(code.what) == 1) {
    if (is_of_library(code.what)) return library_rows(code.what, out, make_operand(a), {}, block_.rows);
    return kernels_->unaries[what - static_cast<std::size_t>(arithmetic::neg)](out, a.values, block_.rows);
  }
  const vector_slot<double>& b = floats_.at(code.in[1]);
  if (is_of_library(code.what)) return library_rows(code.what, out, make_operand(a), make_operand(b), block_.rows);
  if (count_operands(code.what) == 2)
    return kernels_->binaries[what][choose_shape(a, b)](out, a.values, b.values, block_.rows);
  const vector_slot<double>& c = floats_.at(code.in[2]);
  const std::size_t singles = (a.uniform ? 1U : 0U) | (b.uniform ? 2U : 0U) | (c.uniform ? 4U : 0U);
  kernels_->clamps[singles](out, a.values, b.values, c.values, block_.rows);
}

/// Returns a bitmap of the rows in which all operands are valid, or null if there are no nulls.
auto frame::joint_validity(const compute& code) -> const std::uint64_t* {
  std::uint64_t* joint = floats_.valid(code.out);
  bool has_nulls = false;
  for (std::uint32_t slot = 0; slot < count_operands(code.what); ++slot) {
    const std::uint64_t* valid = floats_.at(code.in[slot]).valid;
    if (valid == nullptr) continue;
    for (std::size_t word = 0; word < words(); ++word)
      joint[word] = has_nulls ? joint[word] & valid[word] : valid[word];
    has_nulls = true;
  }
  return has_nulls ? joint : nullptr;
}

/// Returns a bitmap of the rows with a valid and finite value. Writes the bitmap to `own` if some value is not finite.
auto frame::finite_rows(const double* values, const std::uint64_t* valid, std::uint64_t* own) const
    -> const std::uint64_t* {
  if (kernels_->all_finite(values, block_.rows)) return valid;
  std::array<std::uint64_t, words_for(block_rows)> finite;
  kernels_->finite_bits(finite.data(), values, block_.rows);
  for (std::size_t word = 0; word < words(); ++word)
    own[word] = finite[word] & (valid == nullptr ? ~std::uint64_t{0} : valid[word]);
  return own;
}

/// Returns `own`, set to a bitmap of the rows in which both operands are valid, or null if there are no nulls.
template <typename T>
auto frame::both_valid(const vector_slot<T>& a, const vector_slot<T>& b, std::uint64_t* own) const
    -> const std::uint64_t* {
  if (a.valid == nullptr && b.valid == nullptr) return nullptr;
  std::fill_n(own, words(), all_bits(true));
  drop_null_rows(own, a.valid);
  drop_null_rows(own, b.valid);
  return own;
}

template <typename In, typename Out>
void frame::run(const remainder<In, Out>& code) {
  const vector_slot<In>& a = find_bank<In>().at(code.a);
  const vector_slot<In>& b = find_bank<In>().at(code.b);
  Out* out = own_values<Out>(code.out);
  std::array<In, block_rows> remains;
  std::array<std::uint64_t, words_for(block_rows)> numbers;
  for (std::size_t row = 0; row < block_.rows; ++row) remains[row] = find_remainder(a.at(row), b.at(row));
  write_bits(numbers.data(), block_.rows, [&](std::size_t row) { return is_number(b.at(row), remains[row]); });
  std::transform(remains.begin(), remains.begin() + static_cast<std::ptrdiff_t>(block_.rows), out,
                 [](In each) { return static_cast<Out>(each); });
  std::uint64_t* own = find_bank<Out>().valid(code.out);
  const std::uint64_t* valid = both_valid(a, b, own);
  for (std::size_t word = 0; word < words(); ++word)
    own[word] = numbers[word] & (valid == nullptr ? all_bits(true) : valid[word]);
  show_result<Out>(code.out, own);
}

template <typename Out>
void frame::run(const find_bucket<Out>& code) {
  const vector_slot<std::int64_t>& x = exacts_.at(code.x);
  Out* out = own_values<Out>(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row)
    out[row] = static_cast<Out>(make_draw(code.seed_hash, x.at(row)) % code.count);
  show_result<Out>(code.out, both_valid(x, x, find_bank<Out>().valid(code.out)));
}

void frame::run(const load_key<std::string_view>& code) {
  const std::optional<column>& source = shared_.find_column(code.key);
  const string_values* text = source ? source->strings() : nullptr;
  if (text == nullptr || text->words->size() == 0) return show_null<std::string_view>(code.out);
  std::string_view* out = own_values<std::string_view>(code.out);
  for (std::size_t i = 0; i < block_.rows; ++i) out[i] = (*text)[rows_.row(block_.first + i)];
  show_result<std::string_view>(code.out, valid_in_order(source->validity, strings_.valid(code.out)));
}

void frame::run(const join_texts& code) {
  std::array<std::size_t, block_rows> lengths;
  std::uint64_t* valid = strings_.valid(code.out);
  char* next = reserve_room(code.buffer, joint_lengths(code, valid, std::span(lengths).first(block_.rows)));
  std::string_view* out = own_values<std::string_view>(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) {
    out[row] = {};
    if (!test_bit(valid, row)) continue;
    out[row] = {next, lengths[row]};
    for (const value_slot part : code.parts) next = std::ranges::copy(strings_.at(part).at(row), next).out;
  }
  show_result<std::string_view>(code.out, valid);
}

/// Computes the length of each row's result, and marks the results that fit. Returns the sum of the marked lengths.
auto frame::joint_lengths(const join_texts& code, std::uint64_t* fits, std::span<std::size_t> lengths) -> std::size_t {
  std::fill_n(fits, words(), all_bits(true));
  std::ranges::fill(lengths, std::size_t{0});
  for (const value_slot slot : code.parts) {
    const vector_slot<std::string_view>& part = strings_.at(slot);
    drop_null_rows(fits, part.valid);
    for (std::size_t row = 0; row < lengths.size(); ++row) lengths[row] += part.at(row).size();
  }
  std::array<std::uint64_t, words_for(block_rows)> short_enough;
  write_bits(short_enough.data(), lengths.size(), [lengths](std::size_t row) { return lengths[row] <= max_joined; });
  drop_null_rows(fits, short_enough.data());
  std::size_t total = 0;
  for (std::size_t row = 0; row < lengths.size(); ++row) total += test_bit(fits, row) ? lengths[row] : 0;
  return total;
}

/// Returns a buffer of at least `bytes` bytes. The next block reuses it, so results that are needed longer are copied.
auto frame::reserve_room(std::uint32_t buffer, std::size_t bytes) -> char* {
  std::span<char>& room = buffers_[buffer];
  if (room.size() < bytes) room = memory_.uninitialized<char>(std::max(bytes, 2 * room.size()));
  return room.data();
}

template <typename Out>
void frame::run(const measure_text<Out>& code) {
  const vector_slot<std::string_view>& x = strings_.at(code.x);
  Out* out = own_values<Out>(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) out[row] = static_cast<Out>(count_code_points(x.at(row)));
  show_result<Out>(code.out, both_valid(x, x, find_bank<Out>().valid(code.out)));
}

template <typename Out>
void frame::run(const find_text_bucket<Out>& code) {
  const vector_slot<std::string_view>& x = strings_.at(code.x);
  Out* out = own_values<Out>(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) {
    const auto hash = static_cast<std::int64_t>(hash_of(x.at(row)));
    out[row] = static_cast<Out>(make_draw(code.seed_hash, hash) % code.count);
  }
  show_result<Out>(code.out, both_valid(x, x, find_bank<Out>().valid(code.out)));
}

void frame::run(const multiply_vectors& code) {
  const vector_slot<std::string_view>& a = strings_.at(code.a);
  const vector_slot<std::string_view>& b = strings_.at(code.b);
  const auto product = code.how == vector_product::dot ? dot_product : cosine_similarity;
  double* out = own_values<double>(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) out[row] = product(a.at(row), b.at(row));
  show_result<double>(code.out, both_valid(a, b, floats_.valid(code.out)));
}

void frame::run(const choose<std::string_view>& code) {
  const vector_slot<std::string_view>& a = strings_.at(code.a);
  const vector_slot<std::string_view>& b = strings_.at(code.b);
  std::string_view* out = own_values<std::string_view>(code.out);
  std::uint64_t* valid = strings_.valid(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) out[row] = a.is_valid(row) ? a.at(row) : b.at(row);
  write_bits(valid, block_.rows, [&](std::size_t row) { return a.is_valid(row) || b.is_valid(row); });
  show_result<std::string_view>(code.out, valid);
}

void frame::run(const select<std::string_view>& code) {
  const vector_slot<std::string_view>& a = strings_.at(code.a);
  const vector_slot<std::string_view>& b = strings_.at(code.b);
  const std::uint64_t* wanted = truth_words(code.pred);
  std::string_view* out = own_values<std::string_view>(code.out);
  std::uint64_t* valid = strings_.valid(code.out);
  for (std::size_t row = 0; row < block_.rows; ++row) out[row] = test_bit(wanted, row) ? a.at(row) : b.at(row);
  write_bits(valid, block_.rows,
             [&](std::size_t row) { return test_bit(wanted, row) ? a.is_valid(row) : b.is_valid(row); });
  show_result<std::string_view>(code.out, valid);
}

template <typename T>
void frame::run(const choose<T>& code) {
  const vector_slot<T>& a = find_bank<T>().at(code.a);
  const vector_slot<T>& b = find_bank<T>().at(code.b);
  T* out = own_values<T>(code.out);
  if (a.valid == nullptr) {
    if (a.uniform)
      std::fill_n(out, block_.rows, *a.values);
    else
      std::copy_n(a.values, block_.rows, out);
    return show_result<T>(code.out, nullptr);
  }
  kernels_->choose<T>()[choose_shape(a, b)](out, a.valid, a.values, b.values, block_.rows);
  if (b.valid == nullptr) return show_result<T>(code.out, nullptr);
  std::uint64_t* either = find_bank<T>().valid(code.out);
  for (std::size_t word = 0; word < words(); ++word) either[word] = a.valid[word] | b.valid[word];
  show_result<T>(code.out, either);
}

template <typename T>
void frame::run(const select<T>& code) {
  const vector_slot<T>& a = find_bank<T>().at(code.a);
  const vector_slot<T>& b = find_bank<T>().at(code.b);
  const std::uint64_t* wanted = truth_words(code.pred);
  const auto of = a.uniform && b.uniform ? static_cast<std::size_t>(shape::same_same) : choose_shape(a, b);
  kernels_->choose<T>()[of](own_values<T>(code.out), wanted, a.values, b.values, block_.rows);
  if (a.valid == nullptr && b.valid == nullptr) return show_result<T>(code.out, nullptr);
  std::uint64_t* chosen = find_bank<T>().valid(code.out);
  for (std::size_t word = 0; word < words(); ++word) {
    const std::uint64_t of_a = a.valid == nullptr ? ~std::uint64_t{0} : a.valid[word];
    const std::uint64_t of_b = b.valid == nullptr ? ~std::uint64_t{0} : b.valid[word];
    chosen[word] = (wanted[word] & of_a) | (~wanted[word] & of_b);
  }
  show_result<T>(code.out, chosen);
}

void frame::drop_null_rows(std::uint64_t* out, const std::uint64_t* valid) const {
  if (valid == nullptr) return;
  for (std::size_t word = 0; word < words(); ++word) out[word] &= valid[word];
}

template <typename T>
void frame::compare(comparison operation, const vector_slot<T>& a, const vector_slot<T>& b, std::uint64_t* out) const {
  const auto& all = kernels_->compare<T>();
  const auto kernel = [&all](comparison wanted, shape operands) {
    return all[static_cast<std::size_t>(wanted)][static_cast<std::size_t>(operands)];
  };
  if (a.uniform && b.uniform) {
    std::uint64_t same = 0;
    kernel(operation, shape::each_each)(&same, a.values, b.values, 1);
    std::fill_n(out, words(), all_bits(same != 0));
  } else if (a.uniform) {
    kernel(mirrored(operation), shape::each_same)(out, b.values, a.values, block_.rows);
  } else {
    kernel(operation, b.uniform ? shape::each_same : shape::each_each)(out, a.values, b.values, block_.rows);
  }
}

template <typename T>
void frame::run(const compare_values<T, T>& code) {
  const vector_slot<T>& a = find_bank<T>().at(code.a);
  const vector_slot<T>& b = find_bank<T>().at(code.b);
  std::uint64_t* out = truth_words(code.out);
  compare(code.how, a, b, out);
  drop_null_rows(out, a.valid);
  drop_null_rows(out, b.valid);
}

/// Compares int64 with double. A single number is first converted to the type of the other operand.
void frame::run(const compare_values<std::int64_t, double>& code) {
  const vector_slot<std::int64_t>& a = exacts_.at(code.a);
  const vector_slot<double>& b = floats_.at(code.b);
  std::uint64_t* out = truth_words(code.out);
  if (b.uniform) {
    const auto test = bound_for_exacts(code.how, *b.values);
    compare<std::int64_t>(test.how, a, {.values = &test.bound, .uniform = true, .valid = nullptr}, out);
  } else if (a.uniform) {
    const auto test = bound_for_floats(mirrored(code.how), *a.values);
    compare<double>(test.how, b, {.values = &test.bound, .uniform = true, .valid = nullptr}, out);
  } else {
    compare_mixed(code.how, out, a.values, b.values, block_.rows);
  }
  drop_null_rows(out, a.valid);
  drop_null_rows(out, b.valid);
}

template <typename T>
void frame::run(const find_number<T>& code) {
  constexpr std::size_t few = 32;  // from then on, halving the list takes fewer steps than going through it
  const vector_slot<T>& x = find_bank<T>().at(code.x);
  std::uint64_t* out = truth_words(code.out);
  const std::span<const T> list(code.sorted);
  if (x.uniform)
    std::fill_n(out, words(), all_bits(holds(list, *x.values)));
  else if (list.size() <= few)
    kernels_->find<T>()(out, x.values, list.data(), list.size(), block_.rows);
  else
    write_bits(out, block_.rows, [&x, list](std::size_t row) { return holds(list, x.values[row]); });
  drop_null_rows(out, x.valid);
}

void frame::run(const test_null& code) {
  const std::uint64_t* valid = floats_.at(code.x).valid;
  std::uint64_t* out = truth_words(code.out);
  const std::uint64_t flip = all_bits(code.wanted == null_test::is_null);
  for (std::size_t word = 0; word < words(); ++word)
    out[word] = (valid == nullptr ? ~std::uint64_t{0} : valid[word]) ^ flip;
}

void frame::run(const match_text& code) {
  const std::span<const std::uint32_t> set = shared_.matching_codes(code.test);
  if (set.empty()) return run(set_truth{false, code.out});
  const column& source = *shared_.find_column(code_.texts[code.test].key);
  const std::span<const std::uint32_t> stored = source.strings()->codes;
  const std::uint32_t* codes = stored.data() + block_.first;
  if (!rows_.is_prefix()) {
    std::ranges::transform(rows_.order().subspan(block_.first, block_.rows), codes_.begin(),
                           [stored](std::uint32_t row) { return stored[row]; });
    codes = codes_.data();
  }
  std::uint64_t* out = truth_words(code.out);
  kernels_->match_codes(out, codes, set.data(), set.size(), block_.rows);
  std::array<std::uint64_t, words_for(block_rows)> valid;
  drop_null_rows(out, valid_in_order(source.validity, valid.data()));
}

void frame::run(const match_param& code) {
  const auto* text = std::get_if<std::string>(&shared_.params()[code.param]);
  run(set_truth{text != nullptr && code.test.matches(*text), code.out});
}

/// Compares the strings of two columns. If they share a dictionary, comparing codes for equality is enough.
void frame::run(const relate_columns& code) {
  const std::optional<column>& left = shared_.find_column(code.a);
  const std::optional<column>& right = shared_.find_column(code.b);
  const string_values* a = left ? left->strings() : nullptr;
  const string_values* b = right ? right->strings() : nullptr;
  if (a == nullptr || b == nullptr) return run(set_truth{false, code.out});
  const bool by_code = a->words == b->words && code.how <= text_relation::not_equal;
  const auto holds_in = [&](std::size_t row) {
    if (!left->validity[row] || !right->validity[row]) return false;
    if (by_code) return (a->codes[row] == b->codes[row]) == (code.how == text_relation::equal);
    return related(code.how, (*a->words)[a->codes[row]], (*b->words)[b->codes[row]]);
  };
  write_bits(truth_words(code.out), block_.rows, [&](std::size_t i) { return holds_in(rows_.row(block_.first + i)); });
}

/// Returns a string that is the same for all rows, or null if it is a param whose value is not a string.
auto frame::text_of(const fixed_text& source) const -> const std::string* {
  if (const auto* literal = std::get_if<std::string>(&source)) return literal;
  return std::get_if<std::string>(&shared_.params()[std::get<std::uint32_t>(source)]);
}

void frame::run(const relate_fixed& code) {
  const std::string* a = text_of(code.a);
  const std::string* b = text_of(code.b);
  run(set_truth{a != nullptr && b != nullptr && related(code.how, *a, *b), code.out});
}

void frame::run(const set_truth& code) { std::fill_n(truth_words(code.out), words(), all_bits(code.value)); }

void frame::run(const combine_truths& code) {
  const std::uint64_t* a = truth_words(code.a);
  const std::uint64_t* b = truth_words(code.b);
  std::uint64_t* out = truth_words(code.out);
  for (std::size_t word = 0; word < words(); ++word)
    out[word] = code.how == connective::both ? a[word] & b[word] : a[word] | b[word];
}

void frame::run(const invert_truth& code) {
  const std::uint64_t* x = truth_words(code.x);
  std::uint64_t* out = truth_words(code.out);
  for (std::size_t word = 0; word < words(); ++word) out[word] = ~x[word];
}

}  // namespace rankd::detail
