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
  timed_out,  ///< it exceeded the time limit of nodes: the same
  stopped,    ///< because the run, or a node before it, had failed
  running,    ///< it continued after the answer, or waited for a thread
  skipped,    ///< it had not begun
  bypassed,   ///< the request does not run it: nodes that would take its rows take others
};

auto to_string(node_state state) noexcept -> std::string_view;

/// The origin of the rows of a node with a cache.
enum class cache_use : std::uint8_t {
  hit,     ///< the cache had them
  stale,   ///< the cache had old ones: new ones are made for later requests
  miss,    ///< they were made
  shared,  ///< they were being made for another request
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
  std::string fused_with;                  ///< the node that does the work of both, or produced it; or empty
  std::optional<braid::duration> ready;    ///< all of its sources had ended
  std::optional<braid::duration> started;  ///< it got a thread
  std::optional<braid::duration> ended;
  bool waits = false;  ///< its time is I/O rather than computing
  std::size_t rows_in = 0;
  std::size_t rows_out = 0;
  std::vector<std::string> keys_added;
  std::vector<option_report> options = {};  ///< options whose values params set
  std::string chosen = {};                  ///< the input whose rows a choice passes on, or empty
  std::string failure = {};                 ///< the code of a failure for which a fallback is used, or empty
  std::string used = {};                    ///< the fallback: the id of a node, `input` or `empty`
  std::int64_t retries = 0;                 ///< how often it was run again
  std::uint64_t looked_at = 0;              ///< vectors of a file, of which it returns the nearest
  std::optional<cache_use> cache = {};      ///< set if it read rows from a cache, or they were made for it
  braid::duration cached{};                 ///< the age of rows that the cache had
};

/// An arm of an experiment that the request belongs to.
struct arm_report {
  std::string experiment;
  std::string arm;
  std::string layer;
  std::optional<std::uint32_t> bucket;  ///< the bucket of its unit; nothing if the request names the arm
  bool is_overridden = false;           ///< the request overrides a param that the arm sets
};

/// One node of the critical path.
struct path_step {
  std::string node_id;
  bool waits = false;
  braid::duration wait{};  ///< from the end of the step before it, or the admission, to its start
  braid::duration run{};   ///< to its end, or to the moment at which the answer was known
};

/// The reason why a node does not pass on some of its input rows.
enum class drop_reason : std::uint8_t {
  predicate,  ///< it is false for them
  count,      ///< they come after the first ones
  duplicate,  ///< another row has the same value
  match,      ///< a join, because of the partners on the other side
  diversity,  ///< too many rows with the same value come before it, or it has no slot
  merged,     ///< the node takes other rows from its inputs
  replaced,   ///< the node replaces its input rows by its own
  not_done,   ///< the node had not ended
  other,
};

auto to_string(drop_reason reason) noexcept -> std::string_view;

/// The input rows of one id that a node does not pass on.
struct id_drop {
  std::string node_id;
  std::string op;
  drop_reason reason = drop_reason::other;
  std::size_t rows = 0;
  std::string from = {};     ///< for a node that merges rows: the node that produced them
  std::size_t position = 0;  ///< of the first such row among the input rows, from 1; 0 if it has no meaning
  row_set input;
  std::uint32_t row = 0;                 ///< of the first such row, in the input
  std::vector<const key_entry*> fields;  ///< columns of that row that plans may show
};

/// The rows of one id that a merging node takes from one of its inputs.
struct id_merge {
  std::string node_id;
  std::string from;  ///< the node that produced them
  std::size_t rows = 0;
};

/// The report on one id: the nodes that produced it and the nodes that dropped it.
struct id_fate {
  row_id id;
  std::vector<std::size_t> positions;    ///< among the candidates, from 1
  std::vector<std::string> produced_by;  ///< nodes that produced rows with it themselves
  std::vector<id_drop> drops;            ///< in the order in which nodes can run
  std::vector<id_merge> merges = {};     ///< the same
};

/// A use of a fragment in the plan, and the nodes of this use.
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
  braid::duration total{};      ///< from the admission, when the engine takes the request, to the answer being ready
  braid::duration answering{};  ///< from the end of the path to the answer being ready
  std::vector<path_step> critical_path;
  std::vector<node_report> nodes;     ///< in the order in which they can run
  std::vector<id_fate> ids;           ///< ids that the request asks about, in its order
  std::vector<arm_report> arms = {};  ///< of the experiments of its plan
  std::vector<fragment_report> fragments = {};
  std::optional<read_counts> reads = {};            ///< of its stores; nothing if these answer at once
  std::vector<generation_report> generations = {};  ///< of the embedded stores that the plan reads
};

/// Returns the explanation as one JSON object.
auto to_json(const explanation& explanation) -> std::string;

}  // namespace rankd
