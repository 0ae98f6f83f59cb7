// rankd/engine/explain/explanation.cpp: writes explanations as JSON.
#include <rankd/engine/explain/explanation.hpp>

#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/registry/json_text.hpp>

#include <chrono>

namespace rankd {
namespace {

using detail::append_count;
using detail::append_field;
using detail::append_list;
using detail::append_microseconds;

void append_times(std::string& out, const node_report& node) {
  if (!node.ready) return;
  out += ',';
  append_microseconds(out, "ready_us", *node.ready);
  if (!node.started) return;
  out += ',';
  append_microseconds(out, "queue_us", *node.started - *node.ready);
  if (!node.ended) return;
  out += ',';
  append_microseconds(out, node.waits ? "io_us" : "run_us", *node.ended - *node.started);
}

void append_option(std::string& out, const option_report& option) {
  out += '{';
  append_field(out, "option", option.option);
  out += ',';
  append_field(out, "param", option.param);
  out += ",\"value\":";
  if (const auto* whole = std::get_if<std::int64_t>(&option.value)) append_json_number(out, *whole);
  if (const auto* fraction = std::get_if<double>(&option.value)) append_json_number(out, *fraction);
  out += ',';
  append_field(out, "from", to_string(option.from));
  out += '}';
}

void append_fragment(std::string& out, const fragment_report& each) {
  out += '{';
  append_field(out, "use", each.use);
  out += ',';
  append_field(out, "fragment", each.fragment);
  out += ',';
  append_field(out, "version", each.version);
  out += ',';
  append_list(out, "nodes", each.nodes, append_json_string);
  out += '}';
}

void append_node(std::string& out, const node_report& node) {
  out += '{';
  append_field(out, "node", node.node_id);
  out += ',';
  append_field(out, "op", node.op);
  out += ',';
  append_field(out, "state", to_string(node.state));
  if (!node.fused_with.empty()) {
    out += ',';
    append_field(out, "fused_with", node.fused_with);
  }
  append_times(out, node);
  out += ',';
  append_count(out, "rows_in", node.rows_in);
  out += ',';
  append_count(out, "rows_out", node.rows_out);
  out += ',';
  append_list(out, "keys_added", node.keys_added, append_json_string);
  if (!node.options.empty()) {
    out += ',';
    append_list(out, "options", node.options, append_option);
  }
  if (!node.chosen.empty()) {
    out += ',';
    append_field(out, "chosen", node.chosen);
  }
  if (node.retries != 0) {
    out += ',';
    append_count(out, "retries", static_cast<std::uint64_t>(node.retries));
  }
  if (node.looked_at != 0) {
    out += ',';
    append_count(out, "looked_at", node.looked_at);
  }
  if (node.cache) {
    out += ',';
    append_field(out, "cache", to_string(*node.cache));
  }
  if (node.cache == cache_use::hit || node.cache == cache_use::stale) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(node.cached).count();
    out += ',';
    append_count(out, "cached_ms", static_cast<std::uint64_t>(ms));
  }
  if (!node.failure.empty()) {
    out += ",\"fallback\":{";
    append_field(out, "code", node.failure);
    out += ',';
    append_field(out, "used", node.used);
    out += '}';
  }
  out += '}';
}

void append_step(std::string& out, const path_step& step) {
  out += '{';
  append_field(out, "node", step.node_id);
  out += ',';
  append_microseconds(out, "wait_us", step.wait);
  out += ',';
  append_microseconds(out, step.waits ? "io_us" : "run_us", step.run);
  out += '}';
}

void append_fields(std::string& out, const id_drop& drop) {
  out += ",\"fields\":{";
  std::string_view separator;
  for (const key_entry* key : drop.fields) {
    const auto values = drop.input.table().find(key->key_id);
    if (!values || values->is_null(drop.row)) continue;
    out += separator;
    append_json_string(out, key->name);
    out += ':';
    detail::append_value(out, *values, drop.row);
    separator = ",";
  }
  out += '}';
}

void append_drop(std::string& out, const id_drop& drop) {
  out += '{';
  append_field(out, "node", drop.node_id);
  out += ',';
  append_field(out, "op", drop.op);
  out += ',';
  append_field(out, "reason", to_string(drop.reason));
  out += ',';
  append_count(out, "rows", drop.rows);
  if (!drop.from.empty()) {
    out += ',';
    append_field(out, "from", drop.from);
  }
  if (drop.position != 0) {
    out += ',';
    append_count(out, "position", drop.position);
  }
  append_fields(out, drop);
  out += '}';
}

void append_merge(std::string& out, const id_merge& merge) {
  out += '{';
  append_field(out, "node", merge.node_id);
  out += ',';
  append_field(out, "from", merge.from);
  out += ',';
  append_count(out, "rows", merge.rows);
  out += '}';
}

void append_fate(std::string& out, const id_fate& fate) {
  out += "{\"id\":";
  append_json_id(out, fate.id);
  out += ',';
  append_list(out, "positions", fate.positions,
              [](std::string& to, std::size_t position) { to += std::to_string(position); });
  out += ',';
  append_list(out, "produced_by", fate.produced_by, append_json_string);
  out += ',';
  append_list(out, "dropped", fate.drops, append_drop);
  if (!fate.merges.empty()) {
    out += ',';
    append_list(out, "merged", fate.merges, append_merge);
  }
  out += '}';
}

void append_generation(std::string& out, const generation_report& store) {
  out += '{';
  append_field(out, "endpoint", store.endpoint_id);
  out += ',';
  append_count(out, "generation", store.generation);
  out += '}';
}

void append_arm(std::string& out, const arm_report& arm) {
  out += '{';
  append_field(out, "experiment", arm.experiment);
  out += ',';
  append_field(out, "arm", arm.arm);
  out += ',';
  append_field(out, "layer", arm.layer);
  out += ',';
  append_field(out, "from", arm.bucket ? "bucket" : "request");
  if (arm.bucket) {
    out += ',';
    append_count(out, "bucket", *arm.bucket);
  }
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
  append_field(out, "plan_digest", explanation.plan_digest);
  out += ',';
  append_microseconds(out, "total_us", explanation.total);
  out += ',';
  append_list(out, "critical_path", explanation.critical_path, append_step);
  out += ',';
  append_microseconds(out, "answering_us", explanation.answering);
  out += ',';
  append_list(out, "nodes", explanation.nodes, append_node);
  if (explanation.reads) {
    out += ",\"reads\":{";
    append_count(out, "asked", explanation.reads->asked);
    out += ',';
    append_count(out, "shared", explanation.reads->shared);
    if (explanation.reads->hedged != 0) {
      out += ',';
      append_count(out, "hedged", explanation.reads->hedged);
    }
    if (explanation.reads->kept + explanation.reads->missed != 0) {
      out += ',';
      append_count(out, "cached_keys", explanation.reads->kept);
      out += ',';
      append_count(out, "read_keys", explanation.reads->missed);
      out += ',';
      append_count(
          out, "cached_ms",
          static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(explanation.reads->oldest).count()));
    }
    out += '}';
  }
  if (!explanation.generations.empty()) {
    out += ',';
    append_list(out, "stores", explanation.generations, append_generation);
  }
  if (!explanation.arms.empty()) {
    out += ',';
    append_list(out, "experiments", explanation.arms, append_arm);
  }
  if (!explanation.fragments.empty()) {
    out += ',';
    append_list(out, "fragments", explanation.fragments, append_fragment);
  }
  if (!explanation.ids.empty()) {
    out += ',';
    append_list(out, "ids", explanation.ids, append_fate);
  }
  return out + "}";
}

}  // namespace rankd
