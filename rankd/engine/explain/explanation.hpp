// rankd/engine/explain/explanation.hpp: where the time of a request went, and what became of single ids.
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

/// How far a node had come when the answer was known.
enum class node_state : std::uint8_t {
  done,
  failed,     ///< perhaps another node, or nothing, stands in
  timed_out,  ///< it did not end in the time that nodes have: the same
  stopped,    ///< because the run, or a node before it, had failed
  running,    ///< it went on behind the answer, or waited for a thread
  skipped,    ///< it had not begun
  bypassed,   ///< the request does not run it: what would take its rows has others
};

auto to_string(node_state state) noexcept -> std::string_view;

/// How a node with a cache came to its rows.
enum class cache_use : std::uint8_t {
  hit,     ///< they were there
  stale,   ///< they were there and old: new ones are made for later requests
  miss,    ///< they were made
  shared,  ///< they were being made for another request
};

auto to_string(cache_use use) noexcept -> std::string_view;

/// Source of the value of an option that is bound to a param.
enum class value_source : std::uint8_t {
  standard,    ///< the default of the param
  request,     ///< what the request gives in its place
  experiment,  ///< what an arm of an experiment gives in its place
};

/// override, experiment or default.
auto to_string(value_source from) noexcept -> std::string_view;

/// The value that a param gave an option of a node.
struct option_report {
  std::string option;
  std::string param;
  scalar value;
  value_source from = value_source::standard;
};

/// What one node of a plan did for one request. Times count from the admission of the request; what had not happened
/// has none.
struct node_report {
  std::string node_id;
  std::string op;
  node_state state = node_state::skipped;
  std::string fused_with;                  ///< the node that does the work of both together, or that gave it; or empty
  std::optional<braid::duration> ready;    ///< all of its sources had ended
  std::optional<braid::duration> started;  ///< it got a thread
  std::optional<braid::duration> ended;
  bool waits = false;  ///< its time is I/O rather than computing
  std::size_t rows_in = 0;
  std::size_t rows_out = 0;
  std::vector<std::string> keys_added;
  std::vector<option_report> options = {};  ///< those that params give
  std::string chosen = {};                  ///< the input whose rows a choice passes on, or empty
  std::string failure = {};                 ///< the code of a failure for which something stands in, or empty
  std::string used = {};                    ///< that: the id of a node, `input` or `empty`
  std::int64_t retries = 0;                 ///< how often it was run again
  std::uint64_t looked_at = 0;              ///< vectors of a file, of which it gives the nearest
  std::optional<cache_use> cache = {};      ///< where it took rows from a cache, or had them made for it
  braid::duration cached{};                 ///< of rows that were there: how old they are
};

/// An arm that the request is in.
struct arm_report {
  std::string experiment;
  std::string arm;
  std::string layer;
  std::optional<std::uint32_t> bucket;  ///< that of its unit; nothing where the request names the arm
  bool is_overridden = false;           ///< the request overrides a param that the arm sets
};

/// One node of the critical path.
struct path_step {
  std::string node_id;
  bool waits = false;
  braid::duration wait{};  ///< from the end of the step before it, or the admission, to its start
  braid::duration run{};   ///< to its end, or to the moment at which the answer was known
};

/// Why rows do not go on.
enum class drop_reason : std::uint8_t {
  predicate,  ///< it does not hold for them
  count,      ///< they stand behind the first ones
  duplicate,  ///< another row has the same value
  match,      ///< a join, because of the partners on the other side
  diversity,  ///< too many rows with the same value stand before it, or it has no slot
  merged,     ///< the node takes other rows of its inputs
  replaced,   ///< the node gives rows of its own for those that it takes
  not_done,   ///< the node had not ended
  other,
};

auto to_string(drop_reason reason) noexcept -> std::string_view;

/// Rows of one id that go into a node and do not come out.
struct id_drop {
  std::string node_id;
  std::string op;
  drop_reason reason = drop_reason::other;
  std::size_t rows = 0;
  std::string from = {};     ///< of a node that merges rows: the node that gave them
  std::size_t position = 0;  ///< of the first of them among the rows that came in, from 1; 0 where it says nothing
  row_set input;
  std::uint32_t row = 0;                 ///< of the first of them, in the input
  std::vector<const key_entry*> fields;  ///< what plans may show of it
};

/// Rows of one id that a node takes over from one of its inputs, where it merges them.
struct id_merge {
  std::string node_id;
  std::string from;  ///< the node that gave them
  std::size_t rows = 0;
};

/// What became of an id.
struct id_fate {
  row_id id;
  std::vector<std::size_t> positions;    ///< among the candidates, from 1
  std::vector<std::string> produced_by;  ///< nodes that gave rows with it of their own
  std::vector<id_drop> drops;            ///< in the order in which nodes can run
  std::vector<id_merge> merges = {};     ///< the same
};

/// A use of a fragment, and its nodes.
struct fragment_report {
  std::string use;
  std::string fragment;
  std::string version;
  std::vector<std::string> nodes;
};

/// The times of the path and `answering` add up to `total`, to the nanosecond.
/// Lifetime: the rows lie in the memory of the answer that this is part of.
struct explanation {
  std::string plan_digest;
  braid::duration total{};      ///< from the admission, when the engine takes the request, to the answer being ready
  braid::duration answering{};  ///< from the end of the path to the answer being ready
  std::vector<path_step> critical_path;
  std::vector<node_report> nodes;     ///< in the order in which they can run
  std::vector<id_fate> ids;           ///< of the ids that the request asks about, in its order
  std::vector<arm_report> arms = {};  ///< of the experiments of its plan
  std::vector<fragment_report> fragments = {};
  std::optional<read_counts> reads = {};  ///< of its stores; nothing where these answer at once
};

/// As one JSON object.
auto to_json(const explanation& what) -> std::string;

}  // namespace rankd
