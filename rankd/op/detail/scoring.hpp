// rankd/op/detail/scoring.hpp: a model whose file has been checked, and the computation of its scores.
#pragma once

#include <rankd/op/detail/model_program.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {

/// The function that converts the sums of a model to scores. A softmax combines all outputs of a row.
enum class score_link : std::uint8_t { identity, sigmoid, exponential, log1p_exp, signed_square, softmax };

/// The conversion of a sum to a score: `link` is applied to sum / `divisor`. A sigmoid multiplies its operand by
/// `steepness`.
struct score_rule {
  score_link link = score_link::identity;
  double steepness = 1;
  double divisor = 1;
};

namespace detail {

/// The options of `model::sums`. `rows_of_part` has the same meaning as in `evaluate_options`. `stop` is polled between
/// blocks of rows.
struct scoring_options {
  std::size_t rows_of_part;
  const braid::stop_flag* stop = nullptr;
};

}  // namespace detail

/// The sums for one output of a model, before `model::link` converts them to scores.
struct model_sums {
  column values;
  std::span<double> writable;  ///< the same values
};

class model {
 public:
  /// The number of rows that are scored in one block.
  static constexpr std::size_t block_rows = detail::rows_of_block;

  using parts = std::variant<detail::linear_model, detail::tree_model, detail::program_model>;
  /// Creates a model with one output for each intercept. A linear model has one output.
  model(parts made, std::vector<double> intercepts, score_rule rule, braid::diagnostics warnings = {})
      : parts_(std::move(made)), intercepts_(std::move(intercepts)), rule_(rule), warnings_(std::move(warnings)) {}

  /// Returns warnings about contents of the model's file that are allowed, but most likely a mistake.
  [[nodiscard]] auto warnings() const noexcept -> const braid::diagnostics& { return warnings_; }

  /// Returns the number of scores for each row.
  [[nodiscard]] auto outputs() const noexcept -> std::size_t { return intercepts_.size(); }

  /// Returns one column of sums for each output. The columns cover the whole batch. A sum is the intercept plus the
  /// terms or leaves in the order of the file, so it does not depend on blocks and parts. A sum is null if the row is
  /// inactive, if it has a null that a linear model cannot replace, or if a program does not produce a number. Sums may
  /// be infinite or NaN. Returns nothing if the call was stopped.
  [[nodiscard]] auto sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& options) const
      -> std::optional<std::span<model_sums>>;

  /// Replaces the sums of all outputs by scores. Returns false if the scores equal the sums. Requires finite sums.
  [[nodiscard]] auto link(std::span<model_sums> sums) const noexcept -> bool;

  /// Returns the approximate cost of a row in nanoseconds.
  [[nodiscard]] auto row_ns() const noexcept -> double;

  /// Returns the number of bytes of working memory for one part, in addition to the result. The number does not depend
  /// on the number of rows.
  [[nodiscard]] auto work_bytes() const noexcept -> std::size_t;

 private:
  parts parts_;
  std::vector<double> intercepts_;
  score_rule rule_;
  braid::diagnostics warnings_;
};

namespace detail {

inline constexpr std::size_t max_trees = 10'000;
inline constexpr std::size_t max_model_nodes = 1'000'000;
inline constexpr std::size_t max_model_keys = 10'000;
inline constexpr std::size_t max_model_bytes = std::size_t{256} << 20U;   ///< of a file: 256 for each node
inline constexpr std::size_t max_model_document = std::size_t{1} << 30U;  ///< bytes of memory for the parsed JSON
inline constexpr std::size_t max_outputs = 1'000;
inline constexpr std::uint32_t max_tree_levels = 64;
inline constexpr std::uint32_t max_trained_levels = 1'000;  ///< trainers that grow trees leaf by leaf make deep trees

/// Parses the text of a model file. Errors: see model_folder::find.
auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>>;

}  // namespace detail
}  // namespace rankd
