// rankd/engine/captured_rows.hpp: captured rows: the input or output rows of a node in one request, for debugging.
#pragma once

#include <rankd/engine/explain/explanation.hpp>
#include <rankd/plan/capture.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

struct bound_plan;
struct rank_request;

/// The maximum number of nodes whose rows one request may capture.
inline constexpr std::size_t max_captured_nodes = 8;

/// A node whose rows a request asks to capture.
struct asked_capture {
  std::string node;
  row_capture what;
  std::string pointer = {};  ///< pointer into the request; empty if the command line names the node
  bool is_object = false;    ///< whether the request contains an object, and not only the name of the node
};

/// Rows that a node produced, or that it read from one of its inputs.
/// Lifetime: the rows are in the memory of the answer that contains this object.
struct captured_rows {
  std::string node;
  capture_side side = capture_side::out;  ///< never both
  std::string source = {};                ///< for a side `in`: the node that produced the rows
  node_state state = node_state::skipped;
  std::string failure = {};  ///< the code of a failure that a fallback replaced, or empty
  std::string used = {};     ///< the fallback: the id of a node, `input` or `empty`
  /// The id of the node that this node is fused with, or empty. Fused nodes run as one, so there are no rows between
  /// them.
  std::string fused_with = {};
  std::optional<row_set> rows = {};      ///< nothing if the node has no rows to show
  std::vector<const key_entry*> keys{};  ///< the columns, ascending by key id, without `id`
  std::size_t cut = 0;                   ///< the number of further rows, which are left out
};

/// Appends captured rows as the members `"node":…,"side":…,"state":…,"rows":{"id":[…],…},"cut":0`, in the same form as
/// in answers and in capture files.
void append_members(std::string& out, const captured_rows& rows);

/// Appends the member `"rows":{"id":[…],…}` with the columns of these keys, after a comma if another member precedes
/// it. A missing value is written as null.
void append_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys);

/// Appends `"rows":{"id":[…],…}`, and then `"shared":{…}`. If there are at least two rows, `shared` contains each
/// column that has the same value in all rows, so that this value is written only once. If there is no such column,
/// there is no member `shared`.
void append_compact_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys);

/// Parses a capture from a command line, `NODE` or `NODE:key,key`. Errors: bad_value, unknown_key, blocked_key,
/// unreadable_key, duplicate_value.
auto parse_capture(std::string_view text, const registries& declared) -> braid::checked<asked_capture>;

/// Checks the captures of a request: the plan must contain the captured nodes and columns. Errors: unknown_node,
/// unknown_column.
auto check_captures(const rank_request& request, const bound_plan& plan, const registries& declared)
    -> braid::diagnostics;

/// Checks the keys and columns of the captures that a plan declares. Requires a plan whose nodes were bound without
/// diagnostics.
/// Errors: unknown_key, blocked_key, unreadable_key, unknown_column.
auto check_captures(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Returns whether a request belongs to a sample. `share` is the share of all requests that the sample contains. The
/// decision depends only on a hash of the request's id: the first 8 bytes of its SHA-256 must be below share * 2^64. So
/// replicas and replays choose the same requests, and a larger sample contains the smaller ones.
[[nodiscard]] auto is_sampled(std::string_view request_id, double share) -> bool;

}  // namespace rankd
