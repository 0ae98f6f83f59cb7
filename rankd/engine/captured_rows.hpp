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

/// Nodes whose rows one request may ask for.
inline constexpr std::size_t max_captured_nodes = 8;

/// A node whose rows a request asks for.
struct asked_capture {
  std::string node;
  row_capture what;
  std::string pointer = {};  ///< into the request; empty where the command line names it
  bool is_object = false;    ///< the request says more than the name
};

/// Rows that a node gave, or took from one source.
/// Lifetime: they lie in the memory of the answer that this is part of.
struct captured_rows {
  std::string node;
  capture_side side = capture_side::out;  ///< never both
  std::string source = {};                ///< of a side `in`: the node whose rows they are
  node_state state = node_state::skipped;
  std::string failure = {};              ///< the code of a failure for which something stands in, or empty
  std::string used = {};                 ///< that: the id of a node, `input` or `empty`
  std::string fused_with = {};           ///< the node that does the work of both, so that no rows lie between, or empty
  std::optional<row_set> rows = {};      ///< nothing where the node has none to show
  std::vector<const key_entry*> keys{};  ///< the columns, ascending by key id, without `id`
  std::size_t cut = 0;                   ///< rows behind these, which are left out
};

/// `"node":…,"side":…,"state":…,"rows":{"id":[…],…},"cut":0`, as answers and files of captures have it.
void append_members(std::string& out, const captured_rows& what);

/// `"rows":{"id":[…],…}`: the columns of these keys, a null where a row has no value.
void append_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys);

/// Reads `NODE` or `NODE:key,key`, as a command line has it. Errors: bad_value, unknown_key, blocked_key,
/// unreadable_key, duplicate_value.
auto parse_capture(std::string_view text, const registries& declared) -> braid::checked<asked_capture>;

/// What a request wants captured that its plan does not have. Errors: unknown_node, unknown_column.
auto check_captures(const rank_request& request, const bound_plan& plan, const registries& declared)
    -> braid::diagnostics;

/// The same of what the nodes of a plan capture. Requires a plan whose nodes were bound without diagnostic.
/// Errors: unknown_key, blocked_key, unreadable_key, unknown_column.
auto check_captures(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Whether a request is among a share of all, by a hash of its id: SHA-256, of which the first 8 bytes are a number
/// below the share of 2^64. Replicas and replays agree, and a smaller share is part of a larger one.
[[nodiscard]] auto is_sampled(std::string_view request_id, double share) -> bool;

}  // namespace rankd
