// rankd/engine/captured_rows.hpp: the rows of a node in one request, kept as data: what each stage saw and dropped.
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

/// The maximum number of nodes whose rows one request may ask for.
inline constexpr std::size_t max_captured_nodes = 8;

/// A node whose rows a request asks for.
struct asked_capture {
  std::string node;
  row_capture what;
  std::string pointer = {};  ///< into the request; empty if the command line names it
  bool is_object = false;    ///< the request says more than the name
};

/// Rows that a node produced, or read from one source.
/// Lifetime: they are in the memory of the answer that this is part of.
struct captured_rows {
  std::string node;
  capture_side side = capture_side::out;  ///< never both
  std::string source = {};                ///< for a side `in`: the node that produced the rows
  node_state state = node_state::skipped;
  std::string failure = {};  ///< the code of a failure that a fallback replaced, or empty
  std::string used = {};     ///< the fallback: the id of a node, `input` or `empty`
  /// the node that does the work of both, so that there are no rows between them, or empty
  std::string fused_with = {};
  std::optional<row_set> rows = {};      ///< nothing if the node has no rows to show
  std::vector<const key_entry*> keys{};  ///< the columns, ascending by key id, without `id`
  std::size_t cut = 0;                   ///< the number of further rows, which are left out
};

/// Appends `"node":…,"side":…,"state":…,"rows":{"id":[…],…},"cut":0`, as in answers and files of captures.
void append_members(std::string& out, const captured_rows& rows);

/// Appends `"rows":{"id":[…],…}`: the columns of these keys, with null if a row has no value.
void append_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys);

/// Parses `NODE` or `NODE:key,key`, as on a command line. Errors: bad_value, unknown_key, blocked_key, unreadable_key,
/// duplicate_value.
auto parse_capture(std::string_view text, const registries& declared) -> braid::checked<asked_capture>;

/// Reports captures of a request that its plan does not have. Errors: unknown_node, unknown_column.
auto check_captures(const rank_request& request, const bound_plan& plan, const registries& declared)
    -> braid::diagnostics;

/// Does the same for the captures in the nodes of a plan. Requires a plan whose nodes were bound without diagnostic.
/// Errors: unknown_key, blocked_key, unreadable_key, unknown_column.
auto check_captures(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Returns whether a request is in this share of all requests, by a hash of its id: the first 8 bytes of its SHA-256
/// are a number below the share of 2^64. Replicas and replays agree, and a smaller share is part of a larger one.
[[nodiscard]] auto is_sampled(std::string_view request_id, double share) -> bool;

}  // namespace rankd
