// rankd/cli/commands/registry_command.cpp: rankd registry: prints the declarations of a project and their digests.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/workspace.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;
using align = text_table::align;

// The functions below write the output for programs: all fields of the files, in a fixed order.

auto to_json(const scalar& value) -> ordered {
  return std::visit(
      [](const auto& one) -> ordered {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::monostate>)
          return nullptr;
        else
          return one;
      },
      value);
}

auto to_json(const std::optional<std::uint32_t>& id) -> ordered { return id ? ordered(*id) : ordered(nullptr); }

template <typename Entry>
auto value_json(std::string_view id_field, std::uint32_t id, const Entry& entry) -> ordered {
  return {{std::string(id_field), id},
          {"name", entry.name},
          {"type", to_string(entry.type)},
          {"nullable", entry.nullable},
          {"default", to_json(entry.default_value)},
          {"status", to_string(entry.status)},
          {"allow_read", entry.allow_read},
          {"allow_write", entry.allow_write},
          {"replaced_by", to_json(entry.replaced_by)},
          {"doc", entry.doc}};
}

auto to_json(const key_entry& key) -> ordered { return value_json("key_id", key.key_id, key); }

auto to_json(const param_entry& param) -> ordered {
  ordered out = value_json("param_id", param.param_id, param);
  out["source"] = to_string(param.source);
  out["required"] = param.required;
  if (param.clock) out["clock"] = to_string(*param.clock);
  return out;
}

auto to_json(const capability_entry& capability) -> ordered {
  const bool any = capability.payload_schema.empty();
  return {{"id", capability.id},
          {"name", capability.name},
          {"status", to_string(capability.status)},
          {"payload_schema", any ? ordered(nullptr) : ordered::parse(capability.payload_schema)},
          {"doc", capability.doc}};
}

auto resolver_json(const endpoint_entry& endpoint) -> ordered {
  if (const auto* fixed = std::get_if<static_resolver>(&endpoint.resolver)) {
    ordered out = {{"type", "static"}, {"host", fixed->host}, {"port", fixed->port}};
    if (fixed->by_tls) out["tls"] = true;
    if (fixed->by_grpc) out["protocol"] = "grpc";
    return out;
  }
  if (const auto* cluster = std::get_if<cluster_resolver>(&endpoint.resolver)) {
    ordered nodes = ordered::array();
    for (const auto& each : cluster->nodes) nodes.push_back({{"host", each.host}, {"port", each.port}});
    return {{"type", "cluster"},
            {"nodes", std::move(nodes)},
            {"reads", cluster->from_replicas ? "replicas" : "masters"},
            {"tls", cluster->by_tls}};
  }
  if (const auto* file = std::get_if<file_resolver>(&endpoint.resolver))
    return {{"type", "file"}, {"path", file->path}};
  return {{"type", "embedded"}, {"path", std::get<embedded_resolver>(endpoint.resolver).path}};
}

auto to_json(const endpoint_entry& endpoint) -> ordered {
  const endpoint_policy& policy = endpoint.policy;
  return {{"endpoint_id", endpoint.endpoint_id},
          {"name", endpoint.name},
          {"kind", to_string(endpoint.kind)},
          {"resolver", resolver_json(endpoint)},
          {"policy",
           {{"max_inflight", policy.max_inflight},
            {"connect_timeout_ms", policy.connect_timeout.count()},
            {"request_timeout_ms", policy.request_timeout.count()},
            {"connections", policy.connections}}}};
}

template <typename Entry>
auto rows_json(std::span<const Entry> entries) -> ordered {
  ordered rows = ordered::array();
  for (const Entry& each : entries) rows.push_back(to_json(each));
  return rows;
}

// The functions below write the output for people: one table for each registry.

auto text_cell(std::string_view text) -> std::string { return std::string(text.empty() ? nothing : text); }
auto value_cell(const scalar& value) -> std::string { return is_null(value) ? text_cell("") : to_json(value).dump(); }
auto id_cell(const std::optional<std::uint32_t>& id) -> std::string { return id ? std::to_string(*id) : text_cell(""); }
template <typename Entry>
auto find_use(const Entry& entry) -> std::string {
  if (entry.allow_read && entry.allow_write) return "read, write";
  if (entry.allow_read) return "read";
  return entry.allow_write ? "write" : text_cell("");
}

auto value_table() -> text_table {
  return text_table({{"id", align::right},
                     {"name"},
                     {"type"},
                     {"nullable"},
                     {"default"},
                     {"status"},
                     {"use"},
                     {"replaced by", align::right},
                     {"doc"}});
}

auto format_default(const key_entry& key) -> std::string { return value_cell(key.default_value); }
auto format_default(const param_entry& param) -> std::string {
  if (param.clock) return "the time in " + std::string(to_string(*param.clock));
  return param.required ? "required" : value_cell(param.default_value);
}

/// Returns how a param may be used. For context params, adds that their value comes from the context.
auto list_uses(const key_entry& key) -> std::string { return find_use(key); }
auto list_uses(const param_entry& param) -> std::string {
  return param.source == param_source::context ? find_use(param) + ", context" : find_use(param);
}

template <typename Entry>
void add_value(text_table& table, std::uint32_t id, const Entry& entry) {
  table.add({std::to_string(id), entry.name, std::string(to_string(entry.type)), yes_or_no(entry.nullable),
             format_default(entry), std::string(to_string(entry.status)), list_uses(entry), id_cell(entry.replaced_by),
             text_cell(entry.doc)});
}

auto make_table(std::span<const key_entry> keys) -> text_table {
  text_table table = value_table();
  for (const key_entry& each : keys) add_value(table, each.key_id, each);
  return table;
}

auto make_table(std::span<const param_entry> params) -> text_table {
  text_table table = value_table();
  for (const param_entry& each : params) add_value(table, each.param_id, each);
  return table;
}

auto make_table(std::span<const capability_entry> capabilities) -> text_table {
  text_table table({{"id"}, {"name"}, {"status"}, {"payload schema"}, {"doc"}});
  for (const capability_entry& each : capabilities)
    table.add(
        {each.id, each.name, std::string(to_string(each.status)), text_cell(each.payload_schema), text_cell(each.doc)});
  return table;
}

auto find_address(const endpoint_entry& endpoint) -> std::string {
  if (const auto* fixed = std::get_if<static_resolver>(&endpoint.resolver))
    return fixed->host + ":" + std::to_string(fixed->port) + (fixed->by_grpc ? " by gRPC" : "") +
           (fixed->by_tls ? " by TLS" : "");
  if (const auto* cluster = std::get_if<cluster_resolver>(&endpoint.resolver)) {
    std::string all = "cluster";
    for (const auto& each : cluster->nodes) all += " " + each.host + ":" + std::to_string(each.port);
    return all + (cluster->by_tls ? " by TLS" : "");
  }
  if (const auto* file = std::get_if<file_resolver>(&endpoint.resolver)) return "file " + file->path;
  return "embedded in " + std::get<embedded_resolver>(endpoint.resolver).path;
}

auto make_table(std::span<const endpoint_entry> endpoints) -> text_table {
  text_table table({{"id"},
                    {"name"},
                    {"kind"},
                    {"resolver"},
                    {"max inflight", align::right},
                    {"connect ms", align::right},
                    {"request ms", align::right},
                    {"connections", align::right}});
  for (const endpoint_entry& each : endpoints)
    table.add({each.endpoint_id, each.name, std::string(to_string(each.kind)), find_address(each),
               std::to_string(each.policy.max_inflight), std::to_string(each.policy.connect_timeout.count()),
               std::to_string(each.policy.request_timeout.count()), std::to_string(each.policy.connections)});
  return table;
}

// The functions below write the output of experiments, which are declared separately, because plans do not depend on
// them.

auto experiments_json(const workspace& workspace) -> ordered {
  ordered rows = ordered::array();
  for (const experiment_entry& each : workspace.experiments.experiments()) {
    ordered arms = ordered::array();
    for (const experiment_arm& arm : each.arms) {
      ordered set = ordered::object();
      for (const experiment_arm::setting& one : arm.set)
        set[workspace.declared.find_param(one.param_id)->name] = to_json(one.value);
      arms.push_back({{"name", arm.name}, {"from", arm.from}, {"to", arm.to}, {"set", std::move(set)}});
    }
    rows.push_back({{"id", each.id},
                    {"name", each.name},
                    {"layer", workspace.experiments.layers()[each.layer].name},
                    {"status", to_string(each.status)},
                    {"plans", each.plans},
                    {"arms", std::move(arms)},
                    {"doc", each.doc}});
  }
  return rows;
}

auto experiments_table(const experiment_set& experiments) -> text_table {
  text_table table({{"id"}, {"name"}, {"layer"}, {"status"}, {"plans"}, {"arms"}, {"doc"}});
  for (const experiment_entry& each : experiments.experiments()) {
    std::string plans;
    for (const std::string& plan : each.plans) plans += (plans.empty() ? "" : ", ") + plan;
    std::string arms;
    for (const experiment_arm& arm : each.arms) arms += (arms.empty() ? "" : ", ") + arm.name;
    table.add({each.id, each.name, experiments.layers()[each.layer].name, std::string(to_string(each.status)),
               std::move(plans), std::move(arms), text_cell(each.doc)});
  }
  return table;
}

/// Returns whether to show experiments: if the project has any, or if they are requested explicitly.
auto shows_experiments(const workspace& workspace, std::string_view wanted) -> bool {
  return wanted == "experiments" || (wanted.empty() && !workspace.experiments.digest().empty());
}

/// Returns the names and SHA-256 digests of the requested registries.
auto make_digests(const workspace& workspace, std::string_view wanted) -> std::vector<registry_digest> {
  std::vector<registry_digest> out;
  for (const registry_digest& each : workspace.declared.digests())
    if (wanted.empty() || wanted == each.name) out.push_back(each);
  if (shows_experiments(workspace, wanted) && !workspace.experiments.digest().empty())
    out.push_back({"experiments", workspace.experiments.digest()});
  return out;
}

/// Calls `use` with the name and the entries of each requested registry.
template <typename Use>
void for_each_registry(const registries& declared, std::string_view wanted, Use use) {
  const auto offer = [&](std::string_view name, auto entries) {
    if (wanted.empty() || wanted == name) use(name, entries);
  };
  offer("keys", declared.keys());
  offer("params", declared.params());
  offer("capabilities", declared.capabilities());
  offer("endpoints", declared.endpoints());
}

auto digests_json(const workspace& workspace, std::string_view wanted) -> ordered {
  ordered out = ordered::object();
  for (const registry_digest& each : make_digests(workspace, wanted)) out[each.name] = each.sha256;
  return out;
}

auto digests_text(const workspace& workspace, std::string_view wanted) -> std::string {
  text_table table({{"registry"}, {"sha256"}});
  for (const registry_digest& each : make_digests(workspace, wanted)) table.add({each.name, each.sha256});
  return table.to_text();
}

auto for_programs(const workspace& workspace, const registry_options& options) -> std::string {
  ordered out = {{"environment", workspace.where.environment}};
  if (options.show == registry_view::entries)
    for_each_registry(workspace.declared, options.registry,
                      [&out](std::string_view name, auto entries) { out[std::string(name)] = rows_json(entries); });
  if (options.show == registry_view::entries && shows_experiments(workspace, options.registry))
    out["experiments"] = experiments_json(workspace);
  out["digests"] = digests_json(workspace, options.registry);
  return out.dump() + "\n";
}

auto for_people(const workspace& workspace, const registry_options& options) -> std::string {
  if (options.show == registry_view::digests) return digests_text(workspace, options.registry);
  std::string out;
  for_each_registry(workspace.declared, options.registry, [&](std::string_view name, auto entries) {
    if (!out.empty()) out += '\n';
    if (options.registry.empty()) out += std::string(name) + (entries.empty() ? ": none\n" : ":\n");
    if (!entries.empty() || !options.registry.empty()) out += make_table(entries).to_text();
  });
  if (shows_experiments(workspace, options.registry)) {
    if (options.registry.empty()) out += "\nexperiments:\n";
    out += experiments_table(workspace.experiments).to_text();
  }
  return out;
}

}  // namespace

auto registry_command(const registry_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  print(options.form == output_form::programs ? for_programs(*in, options) : for_people(*in, options));
  return exit_status::fine;
}

}  // namespace rankd
