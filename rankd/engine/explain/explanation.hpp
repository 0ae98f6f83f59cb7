// rankd/engine/explain/explanation.hpp: reports how the time of a request was spent, and what happened to single ids.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/rows/row_set.hpp>
#include <rankd/store/shared_reads.hpp>

#include <braid/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The state of a node at the moment of the answer.
enum class node_state : std::uint8_t {
  done,
  failed,     ///< another node, or no rows, may be the fallback
  timed_out,  ///< the node exceeded its time limit; a fallback is possible, too
  stopped,    ///< the node was stopped, because the run, or a node before it, had failed
  running,    ///< the node continued after the answer, or waited for a thread
  skipped,    ///< the node had not begun
  bypassed,   ///< the request does not run the node, because no node that runs needs its rows
};

auto to_string(node_state state) noexcept -> std::string_view;

/// The origin of the rows of a node with a cache.
enum class cache_use : std::uint8_t {
  hit,     ///< the cache had the rows
  stale,   ///< the cache had old rows, and new rows are computed for later requests
  miss,    ///< the rows were computed
  shared,  ///< the rows were being computed for another request
};

auto to_string(cache_use use) noexcept -> std::string_view;

/// The source of the value of an option that is bound to a param.
enum class value_source : std::uint8_t {
  standard,    ///< the default of the param
  request,     ///< the request sets another value
  experiment,  ///< an arm of an experiment sets another value
};

/// Returns the name of a source in JSON: override, experiment or default.
auto to_string(value_source source) noexcept -> std::string_view;

/// The value that a param has set for an option of a node.
struct option_report {
  std::string option;
  std::string param;
  scalar value;
  value_source from = value_source::standard;
};

/// A report on one node of a plan in one request. Times are relative to the admission of the request. If an event has
/// not happened, its time is empty.
struct node_report {
  std::string node_id;
  std::string op;
  node_state state = node_state::skipped;
  std::string fused_with;                  ///< the node that this node is fused with; or empty
  std::optional<braid::duration> ready;    ///< when all sources of the node had ended
  std::optional<braid::duration> started;  ///< when the node got a thread
  std::optional<braid::duration> ended;
  bool waits = false;  ///< whether its time is I/O rather than computing
  std::size_t rows_in = 0;
  std::size_t rows_out = 0;
  std::vector<std::string> keys_added;
  std::vector<option_report> options = {};  ///< options whose values params set
  std::string chosen = {};                  ///< the input whose rows a choice passes on, or empty
  std::string failure = {};                 ///< the code of a failure for which a fallback is used, or empty
  std::string used = {};                    ///< the fallback: the id of a node, `input` or `empty`
  std::int64_t retries = 0;                 ///< how often the node was retried
  std::uint64_t looked_at = 0;              ///< the number of vectors of a file that the node has compared
  std::optional<cache_use> cache = {};      ///< set if the node reads its rows from a cache
  braid::duration cached{};                 ///< the age of the rows that were in the cache
};

/// An arm that the request is in, with its experiment.
struct arm_report {
  std::string experiment;
  std::string arm;
  std::string layer;
  std::optional<std::uint32_t> bucket;  ///< the bucket of the unit; nothing if the request names the arm
  bool is_overridden = false;           ///< whether the request overrides a param that the arm sets
};

/// One node of the critical path.
struct path_step {
  std::string node_id;
  bool waits = false;
  braid::duration wait{};  ///< from the end of the step before it, or the admission, to the start of the node
  braid::duration run{};   ///< from the start of the node to its end, or to the moment at which the answer was known
};

/// The reason why a node does not pass on some of its input rows.
enum class drop_reason : std::uint8_t {
  predicate,  ///< the predicate is false for the rows
  count,      ///< the rows come after the first ones, which the node keeps
  duplicate,  ///< another row has the same value
  match,      ///< a join drops the rows, because of their partners on the other side
  diversity,  ///< too many rows with the same value come before the row, or there is no slot for it
  merged,     ///< the node takes other rows from its inputs
  replaced,   ///< the node replaces its input rows by its own
  not_done,   ///< the node had not ended
  other,
};

auto to_string(drop_reason reason) noexcept -> std::string_view;

/// The input rows with a certain id that a node does not pass on.
struct id_drop {
  std::string node_id;
  std::string op;
  drop_reason reason = drop_reason::other;
  std::size_t rows = 0;
  std::string from = {};  ///< for a node that merges rows: the node that produced the rows
  /// The position of the first of these rows among the input rows, counted from 1. It is 0 if positions have no
  /// meaning, as in unsorted rows.
  std::size_t position = 0;
  row_set input;
  std::uint32_t row = 0;                 ///< the first such row, in the input
  std::vector<const key_entry*> fields;  ///< columns of this row that plans may show
};

/// The rows with a certain id that a merging node takes from one of its inputs.
struct id_merge {
  std::string node_id;
  std::string from;  ///< the node that produced the rows
  std::size_t rows = 0;
};

/// The report on one id: the nodes that produced it and the nodes that dropped it.
struct id_fate {
  row_id id;
  std::vector<std::size_t> positions;    ///< among the candidates, from 1
  std::vector<std::string> produced_by;  ///< nodes that produced rows with this id, instead of passing them on
  std::vector<id_drop> drops;            ///< in the order in which nodes can run
  std::vector<id_merge> merges = {};     ///< the same
};

/// A use of a fragment (a reusable part of plans) in the plan, and the nodes of this use.
struct fragment_report {
  std::string use;
  std::string fragment;
  std::string version;
  std::vector<std::string> nodes;
};

/// The generation of a store from which a request was answered.
struct generation_report {
  std::string endpoint_id;
  std::uint64_t generation = 0;
};

/// The explanation of an answer. The times of the critical path and `answering` add up exactly to `total`.
/// Lifetime: the rows are in the memory of the answer that contains this object.
struct explanation {
  std::string plan_digest;
  braid::duration total{};      ///< from the admission, when the engine accepts the request, until the answer is ready
  braid::duration answering{};  ///< from the end of the path until the answer is ready
  std::vector<path_step> critical_path;
  std::vector<node_report> nodes;     ///< in the order in which they can run
  std::vector<id_fate> ids;           ///< ids that the request asks to explain, in the order of the request
  std::vector<arm_report> arms = {};  ///< arms of the experiments of the plan
  std::vector<fragment_report> fragments = {};
  std::optional<read_counts> reads = {};            ///< the reads of the stores; nothing if the stores answer at once
  std::vector<generation_report> generations = {};  ///< of the embedded stores that the plan reads
};

/// Returns the explanation as one JSON object.
auto to_json(const explanation& explanation) -> std::string;

}  // namespace rankd
