// rankd/engine/explain/explanation.cpp: writes explanations as JSON.
#include <rankd/engine/explain/explanation.hpp>

#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/registry/json_text.hpp>

#include <chrono>

namespace rankd {
namespace {

using detail::append_microseconds;

void append_times(std::string& out, const node_report& node) {
  if (!node.ready) return;
  append_microseconds(out, "ready_us", *node.ready);
  if (!node.started) return;
  append_microseconds(out, "queue_us", *node.started - *node.ready);
  if (!node.ended) return;
  append_microseconds(out, node.waits ? "io_us" : "run_us", *node.ended - *node.started);
}

void append_option(std::string& out, const option_report& option) {
  out += '{';
  append_json_member(out, "option", option.option);
  append_json_member(out, "param", option.param);
  out += ",\"value\":";
  if (const auto* whole = std::get_if<std::int64_t>(&option.value)) append_json_number(out, *whole);
  if (const auto* fraction = std::get_if<double>(&option.value)) append_json_number(out, *fraction);
  append_json_member(out, "from", to_string(option.from));
  out += '}';
}

void append_fragment(std::string& out, const fragment_report& each) {
  out += '{';
  append_json_member(out, "use", each.use);
  append_json_member(out, "fragment", each.fragment);
  append_json_member(out, "version", each.version);
  append_json_list(out, "nodes", each.nodes, append_json_string);
  out += '}';
}

void append_node(std::string& out, const node_report& node) {
  out += '{';
  append_json_member(out, "node", node.node_id);
  append_json_member(out, "op", node.op);
  append_json_member(out, "state", to_string(node.state));
  append_json_unless_empty(out, "fused_with", node.fused_with);
  append_times(out, node);
  append_json_count(out, "rows_in", node.rows_in);
  append_json_count(out, "rows_out", node.rows_out);
  append_json_list(out, "keys_added", node.keys_added, append_json_string);
  if (!node.options.empty()) append_json_list(out, "options", node.options, append_option);
  append_json_unless_empty(out, "chosen", node.chosen);
  if (node.retries != 0) append_json_count(out, "retries", static_cast<std::uint64_t>(node.retries));
  if (node.looked_at != 0) append_json_count(out, "looked_at", node.looked_at);
  if (node.cache) append_json_member(out, "cache", to_string(*node.cache));
  if (node.cache == cache_use::hit || node.cache == cache_use::stale) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(node.cached).count();
    append_json_count(out, "cached_ms", static_cast<std::uint64_t>(ms));
  }
  if (!node.failure.empty()) {
    out += ",\"fallback\":{";
    append_json_member(out, "code", node.failure);
    append_json_member(out, "used", node.used);
    out += '}';
  }
  out += '}';
}

void append_step(std::string& out, const path_step& step) {
  out += '{';
  append_json_member(out, "node", step.node_id);
  append_microseconds(out, "wait_us", step.wait);
  append_microseconds(out, step.waits ? "io_us" : "run_us", step.run);
  out += '}';
}

void append_fields(std::string& out, const id_drop& drop) {
  out += ",\"fields\":{";
  for (const key_entry* key : drop.fields) {
    const auto values = drop.input.table().find(key->key_id);
    if (!values || values->is_null(drop.row)) continue;
    append_json_name(out, key->name);
    detail::append_value(out, *values, drop.row);
  }
  out += '}';
}

void append_drop(std::string& out, const id_drop& drop) {
  out += '{';
  append_json_member(out, "node", drop.node_id);
  append_json_member(out, "op", drop.op);
  append_json_member(out, "reason", to_string(drop.reason));
  append_json_count(out, "rows", drop.rows);
  append_json_unless_empty(out, "from", drop.from);
  if (drop.position != 0) append_json_count(out, "position", drop.position);
  append_fields(out, drop);
  out += '}';
}

void append_merge(std::string& out, const id_merge& merge) {
  out += '{';
  append_json_member(out, "node", merge.node_id);
  append_json_member(out, "from", merge.from);
  append_json_count(out, "rows", merge.rows);
  out += '}';
}

void append_fate(std::string& out, const id_fate& fate) {
  out += "{\"id\":";
  append_json_id(out, fate.id);
  append_json_list(out, "positions", fate.positions,
                   [](std::string& to, std::size_t position) { to += std::to_string(position); });
  append_json_list(out, "produced_by", fate.produced_by, append_json_string);
  append_json_list(out, "dropped", fate.drops, append_drop);
  if (!fate.merges.empty()) append_json_list(out, "merged", fate.merges, append_merge);
  out += '}';
}

void append_generation(std::string& out, const generation_report& store) {
  out += '{';
  append_json_member(out, "endpoint", store.endpoint_id);
  append_json_count(out, "generation", store.generation);
  out += '}';
}

void append_arm(std::string& out, const arm_report& arm) {
  out += '{';
  append_json_member(out, "experiment", arm.experiment);
  append_json_member(out, "arm", arm.arm);
  append_json_member(out, "layer", arm.layer);
  append_json_member(out, "from", arm.bucket ? "bucket" : "request");
  if (arm.bucket) append_json_count(out, "bucket", *arm.bucket);
  if (arm.is_overridden) out += ",\"overridden\":true";
  out += '}';
}

}  // namespace

auto to_string(node_state state) noexcept -> std::string_view {
  switch (state) {
    case node_state::done: return "done";
    case node_state::failed: return "failed";
    case node_state::timed_out: return "timed_out";
    case node_state::stopped: return "stopped";
    case node_state::running: return "running";
    case node_state::bypassed: return "bypassed";
    case node_state::skipped: break;
  }
  return "skipped";
}

auto to_string(cache_use use) noexcept -> std::string_view {
  switch (use) {
    case cache_use::hit: return "hit";
    case cache_use::stale: return "stale";
    case cache_use::shared: return "shared";
    case cache_use::miss: break;
  }
  return "miss";
}

auto to_string(value_source source) noexcept -> std::string_view {
  if (source == value_source::experiment) return "experiment";
  return source == value_source::request ? "override" : "default";
}

auto to_string(drop_reason reason) noexcept -> std::string_view {
  switch (reason) {
    case drop_reason::predicate: return "predicate";
    case drop_reason::count: return "count";
    case drop_reason::duplicate: return "duplicate";
    case drop_reason::match: return "match";
    case drop_reason::diversity: return "diversity";
    case drop_reason::merged: return "merged";
    case drop_reason::replaced: return "replaced";
    case drop_reason::not_done: return "not_done";
    case drop_reason::other: break;
  }
  return "other";
}

auto to_json(const explanation& explanation) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan_digest", explanation.plan_digest);
  append_microseconds(out, "total_us", explanation.total);
  append_json_list(out, "critical_path", explanation.critical_path, append_step);
  append_microseconds(out, "answering_us", explanation.answering);
  append_json_list(out, "nodes", explanation.nodes, append_node);
  if (explanation.reads) {
    out += ",\"reads\":{";
    append_json_count(out, "asked", explanation.reads->asked);
    append_json_count(out, "shared", explanation.reads->shared);
    if (explanation.reads->hedged != 0) append_json_count(out, "hedged", explanation.reads->hedged);
    if (explanation.reads->kept + explanation.reads->missed != 0) {
      append_json_count(out, "cached_keys", explanation.reads->kept);
      append_json_count(out, "read_keys", explanation.reads->missed);
      append_json_count(
          out, "cached_ms",
          static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(explanation.reads->oldest).count()));
    }
    out += '}';
  }
  if (!explanation.generations.empty()) append_json_list(out, "stores", explanation.generations, append_generation);
  if (!explanation.arms.empty()) append_json_list(out, "experiments", explanation.arms, append_arm);
  if (!explanation.fragments.empty()) append_json_list(out, "fragments", explanation.fragments, append_fragment);
  if (!explanation.ids.empty()) append_json_list(out, "ids", explanation.ids, append_fate);
  return out + "}";
}

}  // namespace rankd
