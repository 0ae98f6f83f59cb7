// rankd/expr/frame.cpp: the instructions, one block of rows at a time.
#include <rankd/expr/detail/frame.hpp>

#include <braid/base/assert.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace rankd::detail {
namespace {

/// What a register of nulls shows.
template <typename T>
constexpr std::array<T, block_rows> zeros{};
constexpr std::array<std::uint64_t, words_for(block_rows)> no_bits{};

/// A single number that stands for the value of a param in an expression; strings are null there.
template <typename T>
auto number_in(const scalar& value) -> std::optional<T> {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<T>(*whole);
  if (const auto* flag = std::get_if<bool>(&value)) return static_cast<T>(*flag ? 1 : 0);
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* fraction = std::get_if<double>(&value)) return *fraction;
  }
  return std::nullopt;
}

template <typename T>
auto holds(std::span<const T> sorted, T value) -> bool {
  constexpr std::size_t few = 16;
  if (sorted.size() <= few) {
    unsigned found = 0;
    for (const T each : sorted) found |= each == value ? 1U : 0U;
    return found != 0;
  }
  const auto place = std::ranges::lower_bound(sorted, value);
  return place != sorted.end() && *place == value;
}

/// Writes `a` where its bit is set, otherwise `b`.
template <typename T>
void blend(T* __restrict out, const lane<T>& a, const lane<T>& b, std::size_t rows) {
  with_shapes(a.numbers, b.numbers, [out, rows, valid = a.valid](auto left, auto right) {
    for (std::size_t first = 0; first < rows; first += word_bits) {
      const std::uint64_t bits = valid[first / word_bits];
      const std::size_t here = std::min(word_bits, rows - first);
      for (std::size_t i = 0; i < here; ++i) out[first + i] = select<T>(bits >> i, left[first + i], right[first + i]);
    }
  });
}

}  // namespace

template <typename T>
bank<T>::bank(const slot_counts& counts, std::size_t width, braid::arena& memory)
    : width_(width),
      registers_(memory.filled(counts.registers, lane<T>{})),
      register_values_(memory.uninitialized<T>(counts.registers * width)),
      register_valid_(memory.uninitialized<std::uint64_t>(counts.registers * words_for(width))),
      cells_(memory.filled(counts.cells, lane<T>{})),
      cell_values_(memory.filled(counts.cells, T{})),
      cell_valid_(memory.filled(counts.cells, std::uint64_t{0})) {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    cells_[cell].numbers = {.values = &cell_values_[cell], .uniform = true};
  }
}

template <typename T>
void bank<T>::set_cell(std::uint32_t cell, std::optional<T> value) noexcept {
  cell_values_[cell] = value.value_or(T{});
  cells_[cell].valid = value ? nullptr : no_bits.data();
}

frame::frame(const program& code, const row_set& rows, braid::arena& memory)
    : code_(code),
      rows_(rows),
      memory_(memory),
      width_(std::min(block_rows, words_for(rows.size()) * word_bits)),
      floats_(code.floats, width_, memory),
      exacts_(code.exacts, width_, memory),
      truths_(memory.uninitialized<std::uint64_t>(code.truths * words_for(width_))),
      columns_(memory.filled(code.keys.size(), std::optional<column>())),
      tests_(memory.filled(code.texts.size(), bound_test{})) {
  std::ranges::transform(code.keys, columns_.begin(), [&rows](std::uint32_t key) { return rows.table().find(key); });
}

auto frame::begin(std::span<const scalar> params) -> std::optional<evaluation_error> {
  BRAID_EXPECTS(params.size() >= code_.params_wanted, "an evaluation needs the values of all params");
  if (auto error = bind_texts(params)) return error;
  for (const auto& known : code_.floats_known) floats_.set_cell(known.cell, known.value);
  for (const auto& known : code_.exacts_known) exacts_.set_cell(known.cell, known.value);
  for (const param_cell& cell : code_.params) bind_param(cell, params[cell.param]);
  at_ = {.first = 0, .rows = 1};
  execute(code_.once);
  return std::nullopt;
}

auto frame::bind_texts(std::span<const scalar> params) -> std::optional<evaluation_error> {
  patterns_.reserve(code_.texts.size());  // tests point into it
  for (std::size_t i = 0; i < code_.texts.size(); ++i) {
    if (const auto* literal = std::get_if<text_matcher>(&code_.texts[i])) {
      tests_[i].matcher = literal;
      continue;
    }
    const auto& pattern = std::get<param_pattern>(code_.texts[i]);
    if (auto error = bind_pattern(pattern, params[pattern.param])) return error;
    tests_[i].matcher = &patterns_.back();
  }
  return std::nullopt;
}

auto frame::bind_pattern(const param_pattern& pattern, const scalar& value) -> std::optional<evaluation_error> {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr)
    return evaluation_error{"regex_pattern_null", pattern.pointer, "the param that holds the pattern is null"};
  auto matcher = text_matcher::regex(*text, pattern.letters);
  if (!matcher) return evaluation_error{"bad_regex", pattern.pointer, "RE2 refuses the pattern: " + matcher.error()};
  patterns_.push_back(std::move(*matcher));
  return std::nullopt;
}

void frame::bind_param(const param_cell& cell, const scalar& value) {
  switch (cell.form) {
    case param_form::floating: return floats_.set_cell(cell.cell, number_in<double>(value));
    case param_form::exact: return exacts_.set_cell(cell.cell, number_in<std::int64_t>(value));
    case param_form::presence: return floats_.set_cell(cell.cell, is_null(value) ? std::nullopt : std::optional(0.0));
  }
}

void frame::execute(const std::vector<instruction>& code) {
  for (const instruction& each : code) {
    std::visit([this](const auto& known) { run(known); }, each);
  }
}

template <>
auto frame::bank_of<double>() noexcept -> bank<double>& {
  return floats_;
}
template <>
auto frame::bank_of<std::int64_t>() noexcept -> bank<std::int64_t>& {
  return exacts_;
}

template <typename T>
void frame::run(const load_key<T>& code) {
  const std::optional<column>& source = columns_[code.key];
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

/// Lets a register show the current part of a column: in place where rows lie as they are wanted, otherwise copied.
template <typename T, typename Stored>
void frame::show(std::span<const Stored> source, bitmap validity, value_slot out) {
  lane<T>& to = bank_of<T>().at(out);
  T* own = bank_of<T>().values(out);
  to.valid = valid_in_order(validity, bank_of<T>().valid(out));
  to.numbers = {.values = own, .uniform = false};
  if (!rows_.is_prefix()) {
    const std::span<const std::uint32_t> order = rows_.order().subspan(at_.first, at_.rows);
    for (std::size_t i = 0; i < order.size(); ++i) own[i] = static_cast<T>(source[order[i]]);
  } else if constexpr (std::is_same_v<T, Stored>) {
    to.numbers.values = source.data() + at_.first;
  } else {
    std::ranges::transform(source.subspan(at_.first, at_.rows), own,
                           [](Stored value) { return static_cast<T>(value); });
  }
}

template <typename T>
void frame::show_null(value_slot out) {
  bank_of<T>().at(out) = {.numbers = {.values = zeros<T>.data(), .uniform = false}, .valid = no_bits.data()};
}

/// Lets a slot show what was computed into its own memory. A cell that is null has to be so for any number of rows.
template <typename T>
void frame::show_result(value_slot out, const std::uint64_t* valid) {
  if (out.uniform && valid != nullptr) valid = test_bit(valid, 0) ? nullptr : no_bits.data();
  bank_of<T>().at(out) = {.numbers = {.values = bank_of<T>().values(out), .uniform = out.uniform}, .valid = valid};
}

/// The validity of the current rows, in `own` unless it can be read where it lies.
auto frame::valid_in_order(bitmap validity, std::uint64_t* own) const -> const std::uint64_t* {
  if (validity.all_set()) return nullptr;
  if (rows_.is_prefix()) return validity.words() + at_.first / word_bits;
  const std::uint32_t* order = rows_.order().data() + at_.first;
  write_bits(own, at_.rows, [&](std::size_t i) { return test_bit(validity.words(), order[i]); });
  return own;
}

void frame::run(const load_presence& code) {
  show_null<double>(code.out);
  if (const std::optional<column>& source = columns_[code.key])
    floats_.at(code.out).valid = valid_in_order(source->validity, floats_.valid(code.out));
}

void frame::run(const apply_kernel& code) {
  std::array<operand<double>, 3> operands;
  std::uint64_t* valid = floats_.valid(code.out);
  bool has_nulls = false;
  for (std::uint32_t i = 0; i < code.operands; ++i) {
    const lane<double>& in = floats_.at(code.in[i]);
    operands[i] = in.numbers;
    if (in.valid == nullptr) continue;
    if (has_nulls)
      drop_null_rows(valid, in.valid);
    else
      std::copy_n(in.valid, words(), valid);
    has_nulls = true;
  }
  double* values = floats_.values(code.out);
  code.kernel(values, operands.data(), at_.rows);
  show_result<double>(code.out, has_nulls ? valid : nullptr);
}

template <typename T>
void frame::run(const choose<T>& code) {
  bank<T>& numbers = bank_of<T>();
  const lane<T>& a = numbers.at(code.a);
  const lane<T>& b = numbers.at(code.b);
  T* out = numbers.values(code.out);
  std::uint64_t* valid = numbers.valid(code.out);
  const bool full = a.valid == nullptr || b.valid == nullptr;
  if (a.valid == nullptr) {
    for (std::size_t i = 0; i < at_.rows; ++i) out[i] = a.at(i);
  } else {
    blend(out, a, b, at_.rows);
    if (!full) std::ranges::transform(std::span(a.valid, words()), std::span(b.valid, words()), valid, std::bit_or{});
  }
  show_result<T>(code.out, full ? nullptr : valid);
}

void frame::drop_null_rows(std::uint64_t* out, const std::uint64_t* valid) const {
  if (valid == nullptr) return;
  for (std::size_t word = 0; word < words(); ++word) out[word] &= valid[word];
}

template <typename A, typename B>
void frame::run(const compare_values<A, B>& code) {
  const lane<A>& a = bank_of<A>().at(code.a);
  const lane<B>& b = bank_of<B>().at(code.b);
  std::uint64_t* out = truth_words(code.out);
  if (a.numbers.uniform && b.numbers.uniform) {
    std::uint64_t same = 0;
    code.kernel(&same, a.numbers, b.numbers, 1);
    std::fill_n(out, words(), same != 0 ? ~std::uint64_t{0} : 0);
  } else {
    code.kernel(out, a.numbers, b.numbers, at_.rows);
  }
  drop_null_rows(out, a.valid);
  drop_null_rows(out, b.valid);
}

template <typename T>
void frame::run(const find_number<T>& code) {
  const lane<T>& x = bank_of<T>().at(code.x);
  std::uint64_t* out = truth_words(code.out);
  const std::span<const T> list(code.sorted);
  write_bits(out, at_.rows, [&x, list](std::size_t row) { return holds(list, x.at(row)); });
  drop_null_rows(out, x.valid);
}

void frame::run(const test_null& code) {
  const std::uint64_t* valid = floats_.at(code.x).valid;
  std::uint64_t* out = truth_words(code.out);
  const std::uint64_t flip = code.wanted == null_test::is_null ? ~std::uint64_t{0} : 0;
  for (std::size_t word = 0; word < words(); ++word)
    out[word] = (valid == nullptr ? ~std::uint64_t{0} : valid[word]) ^ flip;
}

void frame::run(const match_text& code) {
  const std::optional<column>& source = columns_[code.key];
  const string_values* text = source ? source->strings() : nullptr;
  if (text == nullptr) return run(set_truth{false, code.out});
  bound_test& test = tests_[code.test];
  if (test.answers.empty()) test.answers = memory_.filled(text->words->size(), answer::unknown);
  write_bits(truth_words(code.out), at_.rows, [&](std::size_t i) {
    const std::uint32_t row = rows_.row(at_.first + i);
    if (source->is_null(row)) return false;
    answer& known = test.answers[text->codes[row]];
    if (known == answer::unknown) known = test.matcher->matches((*text)[row]) ? answer::yes : answer::no;
    return known == answer::yes;
  });
}

void frame::run(const set_truth& code) {
  std::fill_n(truth_words(code.out), words(), code.value ? ~std::uint64_t{0} : 0);
}

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
