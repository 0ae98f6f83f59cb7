// rankd/op/detail/scoring.hpp: a model whose file was checked, and how it scores rows.
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

/// The function that turns the sums of a model into scores. A softmax is over all outputs of a row.
enum class score_link : std::uint8_t { identity, sigmoid, exponential, log1p_exp, signed_square, softmax };

/// How a score is computed from a sum: the link of sum / divisor; a sigmoid multiplies its operand by a factor.
struct score_rule {
  score_link link = score_link::identity;
  double steepness = 1;
  double divisor = 1;
};

namespace detail {

/// The options of `model::sums`: as evaluate_options::rows_of_part; `stop` is polled between blocks of rows.
struct scoring_options {
  std::size_t rows_of_part;
  const braid::stop_flag* stop = nullptr;
};

}  // namespace detail

/// The sums of a model for one of its outputs, before the link.
struct model_sums {
  column values;
  std::span<double> writable;  ///< the same values
};

class model {
 public:
  /// The number of rows in a block.
  static constexpr std::size_t block_rows = detail::rows_of_block;

  using parts = std::variant<detail::linear_model, detail::tree_model, detail::program_model>;
  /// One output for each intercept; a linear model has one.
  model(parts made, std::vector<double> intercepts, score_rule rule, braid::diagnostics warnings = {})
      : parts_(std::move(made)), intercepts_(std::move(intercepts)), rule_(rule), warnings_(std::move(warnings)) {}

  /// Returns warnings about its file: allowed, but most likely a mistake.
  [[nodiscard]] auto warnings() const noexcept -> const braid::diagnostics& { return warnings_; }

  /// Returns the number of scores for each row.
  [[nodiscard]] auto outputs() const noexcept -> std::size_t { return intercepts_.size(); }

  /// Returns the sums for each active row as columns over the whole batch, one for each output: intercept, then addends
  /// or leaves in the order of the file, regardless of blocks and parts. A sum is null on inactive rows, for nulls that
  /// a linear model has no value for, and if a program computes no number. Sums may be infinite or NaN. Returns nothing
  /// if the call was stopped.
  [[nodiscard]] auto sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& options) const
      -> std::optional<std::span<model_sums>>;

  /// Replaces the sums of all outputs by scores. Returns false if they are the same. Requires finite sums.
  [[nodiscard]] auto link(std::span<model_sums> sums) const noexcept -> bool;

  /// Returns the approximate cost of a row in nanoseconds.
  [[nodiscard]] auto row_ns() const noexcept -> double;

  /// Returns the bytes of working memory in addition to the result, however many rows and for each part.
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
inline constexpr std::size_t max_model_document = std::size_t{1} << 30U;  ///< bytes in memory of JSON while it is read
inline constexpr std::size_t max_outputs = 1'000;
inline constexpr std::uint32_t max_tree_levels = 64;
inline constexpr std::uint32_t max_trained_levels = 1'000;  ///< trainers that grow leaf by leaf make deep ones

/// Returns the model of a text. Errors: see model_folder::find.
auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>>;

}  // namespace detail
}  // namespace rankd
