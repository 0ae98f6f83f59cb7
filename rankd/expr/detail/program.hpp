// rankd/expr/detail/program.hpp: a compiled tree: instructions over the registers of one block of rows.
#pragma once

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/detail/text_matcher.hpp>
#include <rankd/expr/tree.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd::detail {

/// The location of a value: a register with one value for each row of the block, or a cell with one value for all rows.
/// Each type (double, int64, string) has its own registers and cells, and the instruction determines the type.
struct value_slot {
  std::uint32_t index = 0;
  bool uniform = false;
};

/// The maximum length of a concatenated string in bytes.
inline constexpr std::size_t max_joined = 65'536;

/// The number of a register for truth values, with one bit for each row of the block. A truth value is never null.
using truth_slot = std::uint32_t;

/// Reads a key, given by the key's index in `program::keys`. If the column has an incompatible type, the result is
/// null.
template <typename T>
struct load_key {
  std::uint32_t key;
  value_slot out;
};

/// Reads only whether a key is null, for keys of any type. The values of the result are zero.
struct load_presence {
  std::uint32_t key;
  value_slot out;
};

/// Computes an arithmetic operation. The result is null if an operand is null.
struct compute {
  arithmetic what;
  std::array<value_slot, 3> in;  ///< `count_operands` returns how many of these are used
  value_slot out;
};

/// Computes the remainder of `a` divided by `b`, with the sign of `a`. The result is null if an operand is null, if `b`
/// is zero or if the result is NaN.
template <typename In, typename Out>
struct remainder {
  value_slot a;
  value_slot b;
  value_slot out;
};

/// Computes the bucket of an integer. The bucket is a number from 0 to `count` - 1, and depends on the integer and the
/// seed.
template <typename Out>
struct find_bucket {
  value_slot x;
  std::uint64_t seed_hash;
  std::uint64_t count;
  value_slot out;
};

/// Concatenates strings. The result is null if a part is null, or if it would be longer than `max_joined`.
struct join_texts {
  std::vector<value_slot> parts;
  std::uint32_t buffer;  ///< the position in `program::buffers` of the memory for the results
  value_slot out;
};

/// Counts the code points of a string, by counting the bytes that do not continue a UTF-8 code point.
template <typename Out>
struct measure_text {
  value_slot x;
  value_slot out;
};

/// Computes the bucket of a string. This is the bucket of the string's FNV-1a hash, taken as an integer.
template <typename Out>
struct find_text_bucket {
  value_slot x;
  std::uint64_t seed_hash;
  std::uint64_t count;
  value_slot out;
};

enum class vector_product : std::uint8_t { dot, cosine };

/// Computes the product of two vectors, which are stored as bytes in string slots. The result is null if a vector is
/// null.
struct multiply_vectors {
  vector_product how;
  value_slot a;
  value_slot b;
  value_slot out;
};

/// Returns `a` if it is not null, and `b` otherwise.
template <typename T>
struct choose {
  value_slot a;
  value_slot b;
  value_slot out;
};

/// Returns `a` if the condition is true, and `b` otherwise.
template <typename T>
struct select {
  truth_slot pred;
  value_slot a;
  value_slot b;
  value_slot out;
};

/// Compares two values. The result is false if a value is null.
template <typename A, typename B>
struct compare_values {
  comparison how;
  value_slot a;
  value_slot b;
  truth_slot out;
};

/// Tests whether the list contains the value. The result is false if the value is null.
template <typename T>
struct find_number {
  std::vector<T> sorted;
  value_slot x;
  truth_slot out;
};

enum class null_test : std::uint8_t { is_null, not_null };

struct test_null {
  value_slot x;
  null_test wanted;
  truth_slot out;
};

/// Applies a string test, such as a list or a pattern, to the values of a key. The set of matching dictionary codes is
/// computed before the first block. The result is false if the value is null.
struct match_text {
  std::uint32_t test;  ///< a position in `program::texts`
  truth_slot out;
};

/// Applies a string test to the value of a param. The result is false if the string is null.
struct match_param {
  std::uint32_t param;  ///< the position among the values of params
  text_matcher test;
  truth_slot out;
};

/// Compares the strings of two keys. The result is false if a string is null.
struct relate_columns {
  text_relation how;
  std::uint32_t a;  ///< positions in `program::keys`
  std::uint32_t b;
  truth_slot out;
};

/// A string that is the same for every row: a literal of the plan, or a param. A param is given by its index among the
/// values of params.
using fixed_text = std::variant<std::string, std::uint32_t>;

/// Compares two strings that are the same for every row. The result is false if a string is null.
struct relate_fixed {
  text_relation how;
  fixed_text a;
  fixed_text b;
  truth_slot out;
};

struct set_truth {
  bool value;
  truth_slot out;
};

enum class connective : std::uint8_t { both, either };

struct combine_truths {
  connective how;
  truth_slot a;
  truth_slot b;
  truth_slot out;
};

struct invert_truth {
  truth_slot x;
  truth_slot out;
};

using instruction =
    std::variant<load_key<double>, load_key<std::int64_t>, load_presence, compute, remainder<double, double>,
                 remainder<std::int64_t, double>, remainder<std::int64_t, std::int64_t>, find_bucket<double>,
                 find_bucket<std::int64_t>, load_key<std::string_view>, join_texts, measure_text<double>,
                 measure_text<std::int64_t>, find_text_bucket<double>, find_text_bucket<std::int64_t>, choose<double>,
                 choose<std::int64_t>, choose<std::string_view>, select<double>, select<std::int64_t>,
                 select<std::string_view>, compare_values<double, double>, compare_values<std::int64_t, std::int64_t>,
                 compare_values<std::int64_t, double>, find_number<double>, find_number<std::int64_t>, test_null,
                 match_text, match_param, relate_columns, relate_fixed, set_truth, combine_truths, invert_truth,
                 multiply_vectors>;

/// A cell whose value is known when the tree is compiled. The cell is null if `value` is empty.
template <typename T>
struct constant_cell {
  std::uint32_t cell;
  std::optional<T> value;
};

enum class param_form : std::uint8_t { floating, exact, presence, text };

/// A cell that is filled from a param at the beginning of an evaluation.
struct param_cell {
  std::uint32_t param;  ///< the position among the values of params
  param_form form;
  /// The index of a cell among the cells of its type. The type depends on the form: int64 for `exact`, string for
  /// `text`, and double for every other form.
  std::uint32_t cell;
};

/// A regular expression that is read from a param at the beginning of an evaluation.
struct param_pattern {
  std::uint32_t param;
  letter_case letters;
  std::string pointer;  ///< pointer to the pattern, for diagnostics
};

/// A comparison of strings with the string of a param. No string matches if the param is null.
struct param_relation {
  std::uint32_t param;
  text_relation how;
  bool matched_is_left;
};

/// A string test of the values of a key. The key is identified by its index in `program::keys`.
struct text_test {
  std::uint32_t key;
  std::variant<text_matcher, param_pattern, param_relation> test;
};

/// The numbers of registers and of cells of one type that a program uses.
struct slot_counts {
  std::uint32_t registers = 0;
  std::uint32_t cells = 0;
};

/// A program: the output of `compile` and the input of `evaluate`. Immutable.
struct program {
  std::vector<std::uint32_t> keys;  ///< the keys that the program reads, each once
  std::vector<text_test> texts;
  std::vector<constant_cell<double>> floats_known;
  std::vector<constant_cell<std::int64_t>> exacts_known;
  std::vector<constant_cell<std::string>> strings_known;
  std::vector<param_cell> params;
  std::vector<instruction> once;  ///< instructions whose results are the same for all rows, and are stored in cells
  std::vector<instruction> each;  ///< instructions that run for each block
  slot_counts floats;
  slot_counts exacts;
  slot_counts strings;
  std::uint32_t buffers = 0;
  std::uint32_t truths = 0;
  std::size_t params_wanted = 0;  ///< the minimum number of values of params
  value_slot value;               ///< the result of an expression
  truth_slot truth = 0;           ///< the result of a predicate
};

}  // namespace rankd::detail
