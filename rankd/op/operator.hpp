// rankd/op/operator.hpp: an operator of a loaded plan. Its params are checked and resolved once for all requests.
#pragma once

#include <rankd/expr/compile.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/op/candidates.hpp>
#include <rankd/op/usage.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/sync/stop_flag.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rankd {

class model;
class model_folder;
class vector_folder;

/// The reason why a node failed in a request.
struct op_error {
  std::string code;     ///< snake_case, stable
  std::string message;  ///< one sentence
};

template <typename T>
using op_result = std::expected<T, op_error>;

/// The origin of each row of a merged batch. The batch contains the rows of the first input, then the rows of the other
/// inputs, then the operator's own rows.
struct merged_rows {
  /// For each input, the number of its rows in the batch.
  std::span<const std::uint32_t> of_input;
  std::span<const std::uint32_t> origins;  ///< for each row that is from an input, its position in that input
};

/// The resources of a node while it runs for one request.
/// Lifetime: the context exists until the run of the node has ended; the memory exists as long as the request.
struct node_context {
  braid::arena& memory;             ///< for data that lives as long as the request; no other thread allocates from it
  std::span<const row_set> inputs;  ///< of the node's `sources`, in order
  std::span<const scalar> params;   ///< one for each of registries::params
  std::span<store* const> stores;   ///< one for each of registries::endpoints; null if it is not open
  const row_id* user = nullptr;     ///< the user of the request; null if it names no user
  const braid::stop_flag* stop = nullptr;  ///< polled by long computations
  std::uint64_t malformed_ids = 0;         ///< number of malformed ids that operators have skipped
  std::uint64_t malformed_values = 0;      ///< number of values of the wrong type that operators have skipped
  /// The number of rows that one parallel part should process. If a node has more rows than this, it may process parts
  /// in parallel on the workers of the pool.
  std::size_t rows_of_part = evaluate_options::one_part;
  usage* used = nullptr;       ///< the amounts of the request; null if its plan does not bound rows or bytes
  std::uint32_t position = 0;  ///< the position of the node in `used`
  const candidate_rows* candidates = nullptr;  ///< the candidates of the request; null if there are none
  bool wants_extras = true;      ///< whether anything uses columns that the operator adds although no option names them
  std::uint64_t page_begin = 0;  ///< the number of rows before the page that the request asks for
  /// The number of rows before the next page. core::paginate sets it if any rows are left.
  std::optional<std::uint64_t> next_page = {};
  std::uint64_t looked_at = 0;          ///< incremented by operators that examine more rows than they return
  const merged_rows* merged = nullptr;  ///< written by operators whose rows are `row_change::merged`

  /// Returns whether the budget allows this many rows and bytes. Operators call this function before they allocate, if
  /// they know the amount. If the result is false, the node ends with `over_budget`. Memory that was not passed to this
  /// function is counted when the node has ended.
  [[nodiscard]] auto may_make(std::uint64_t rows, std::uint64_t bytes) const noexcept -> bool {
    if (used == nullptr) return true;
    // An arena doubles the size of each new chunk, so the last chunk may have up to `taken` free bytes. An allocation
    // of at most `taken` bytes may fit into these free bytes, so it is not added to `taken`.
    const std::uint64_t taken = memory.reserved();
    return used->claim(position, {.rows = rows, .bytes = taken + (bytes > taken ? bytes : 0)});
  }
};

/// Returns the error of a node whose rows would exceed the budget. The caller that runs the node replaces the message.
inline auto over_budget() -> std::unexpected<op_error> {
  return std::unexpected(
      op_error{"budget_exceeded", "the budget of the plan does not allow the rows or bytes of this node"});
}

/// The kind of work that an operator spends its time on.
enum class op_work : std::uint8_t {
  computes,  ///< `run` is called, on the loop or on a worker
  waits,     ///< `start` is called
};

/// The operator of one node, with resolved params. Immutable, and shared by all requests.
/// Threads: any.
class bound_op {
 public:
  bound_op() = default;
  bound_op(const bound_op&) = delete;
  auto operator=(const bound_op&) -> bound_op& = delete;
  virtual ~bound_op();

  [[nodiscard]] virtual auto work() const noexcept -> op_work = 0;

  /// Estimates the time of `run` in nanoseconds. `rows` is the number of active input rows. `params` contains the
  /// request's value for each of registries::params.
  [[nodiscard]] virtual auto cost_ns(std::size_t rows, std::span<const scalar> params) const noexcept -> double = 0;

  /// Estimates the time of `run` for an operator without options that are bound to a param.
  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return cost_ns(rows, {}); }

  /// Runs the node for one request. Requires that `work` returns op_work::computes.
  [[nodiscard]] virtual auto run(node_context& context) const -> op_result<row_set> = 0;

  /// Returns a task that runs the node for one request. Requires that `work` returns op_work::waits. Lifetime: the
  /// context and the operator must outlive the task.
  [[nodiscard]] virtual auto start(node_context& context) const -> braid::task<op_result<row_set>> = 0;

  /// Returns false if this operator cannot fail while its request is running. Exceeding the budget does not count as a
  /// failure. If the result is false and another node fails, the engine reports that failure without waiting for this
  /// node.
  [[nodiscard]] virtual auto may_fail() const noexcept -> bool = 0;
};

/// The relation between an operator's output rows and its input rows. Checked builds verify this relation for every
/// result.
enum class row_change : std::uint8_t {
  dense_source,    ///< rows of its own, all active, in the order of the table
  preserves_view,  ///< all input rows in the same order
  stable_filter,   ///< some of the input rows, in the same order
  prefix,          ///< the first input rows
  permutation,     ///< all input rows in another order
  selection,       ///< some of the input rows, in any order
  diversified,     ///< some of the input rows, in an order that depends on neighbouring rows
  concatenation,   ///< all rows of the first source, then all rows of the second
  distinct,        ///< some of the input rows, in the same order: one of each group of equal rows
  matched,         ///< some rows of the first source, in the same order; the second source decides which
  merged,          ///< a batch of some rows of the sources and of new rows, all active, in any order
};

/// Returns whether an operator creates rows instead of returning only rows of its inputs.
constexpr auto makes_rows(row_change change) noexcept -> bool {
  return change == row_change::dense_source || change == row_change::concatenation || change == row_change::merged;
}

/// The context in which a node is bound. Diagnostics contain JSON pointers into the artifact. Lifetime: only `bind`
/// uses the objects that the context refers to.
struct bind_context {
  const registries& declared;
  std::span<const expr_program> exprs;  ///< of plan::expr_table
  std::span<const pred_program> preds;  ///< of plan::pred_table
  model_folder* models = nullptr;       ///< null if there are no models
  vector_folder* vectors = nullptr;     ///< the files of vectors; null if there are none
};

/// A part of the request that an operator requires.
enum class request_part : std::uint8_t { none, user, candidates, cursor };

/// The columns that an operator adds, and that the input rows must not have yet.
struct added_columns {
  /// The option that lists the keys. If it is empty, the operator may overwrite the columns that it writes.
  std::string_view option = {};
  std::string_view otherwise = {};  ///< the option that lists them if `option` is missing
  std::string_view hint = {};       ///< what to do if rows have such a column
};

/// The part of a record from which an operator reads its columns.
enum class record_part : std::uint8_t {
  none,    ///< something other than fields of hashes and strings
  fields,  ///< fields of hashes, named like the keys or in the option `fields`
  text,    ///< whole strings
};

/// The records of a store that an operator reads.
struct read_records {
  /// The forms of the keys, such as `follow:{id}`. Empty if an option of kind key_template sets the form.
  std::span<const std::string_view> keys = {};
  std::string_view prefix_option = {};  ///< its value replaces the beginning of `keys`, up to the colon
  record_part columns = record_part::none;
};

/// The description of one operator: a row of the catalogue. Only the operator's own file contains its name. Other code
/// distinguishes operators only by the fields of this row (docs/maintaining.md).
struct op_entry {
  using bind_fn = auto (*)(const plan_node& node, const bind_context& context)
      -> braid::checked<std::unique_ptr<const bound_op>>;
  using bind_both_fn = auto (*)(const plan_node& node, const plan_node& take, const bind_context& context)
      -> braid::checked<std::unique_ptr<const bound_op>>;

  op_shape shape;                                ///< the name, the inputs and the options with their limits
  row_change change = row_change::dense_source;  ///< the relation between output rows and input rows
  std::string_view doc;                          ///< one sentence for lists of operators
  bind_fn bind = nullptr;                        ///< checks the options of a node, and makes its operator
  /// The part of the request that the operator needs. It also determines whether the rows of a node can be cached.
  request_part reads = request_part::none;
  added_columns adds = {};             ///< columns that the operator adds and never overwrites
  read_records records = {};           ///< the records of a store that the operator reads
  std::string_view extra_column = {};  ///< the name of a key whose column the operator adds although no option names it
  std::string_view models = {};        ///< the option that lists files of models, which may read any column
  std::string_view finds_rows_by = {};    ///< the option for the column by which a source finds rows; empty: the id
  std::string_view also_has_column = {};  ///< the option that names a node whose rows need the same column
  /// Binds a node together with the take that follows it. Null if fusing the two nodes saves nothing.
  bind_both_fn bind_with_take = nullptr;
};

}  // namespace rankd
