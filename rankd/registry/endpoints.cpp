// rankd/registry/endpoints.cpp: reads endpoints.ENV.toml.
#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>

namespace rankd {
namespace {

using kind_type = endpoint_entry::kind_type;

constexpr std::array<std::string_view, 4> kind_names{"redis", "embedded", "http", "vectors"};
constexpr std::array<std::string_view, 4> resolver_names{"static", "embedded", "cluster", "file"};
constexpr std::size_t static_choice = 0;
constexpr std::size_t embedded_choice = 1;
constexpr std::size_t cluster_choice = 2;
constexpr std::size_t file_choice = 3;
/// The names of the distance metrics, in the order of vector_metric.
constexpr std::array<std::string_view, 3> metric_names{"dot", "cosine", "l2"};
constexpr std::array<std::string_view, 2> read_names{"masters", "replicas"};
constexpr std::array<std::string_view, 2> protocol_names{"json", "grpc"};
constexpr std::size_t json_protocol = 0;

constexpr int_range port_range{.min = 1, .max = 65'535};
constexpr int_range inflight_range{.min = 1, .max = 1'000'000};
constexpr int_range timeout_range{.min = 1, .max = 3'600'000};
constexpr int_range connections_range{.min = 1, .max = 1024};
constexpr int_range failures_range{.min = 0, .max = 1000};
constexpr int_range merge_range{.min = 0, .max = 10'000'000};

auto read_endpoint_id(object_reader& row) -> std::string {
  const std::string* id = row.text("endpoint_id", presence::required);
  if (id == nullptr) return {};
  if (!is_endpoint_id(*id)) {
    row.report("endpoint_id", "bad_endpoint_id", quote_name(*id) + " must be `ep_` and four digits");
    return {};
  }
  return *id;
}

auto is_host(std::string_view text) -> bool {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c != '\x7f'; });
}

/// Reads `host` and `port` into an object of any type that has these members.
template <typename Place>
void read_address(object_reader& reader, Place& out) {
  if (const std::string* host = reader.text("host", presence::required)) {
    out.host = *host;
    if (!is_host(*host)) reader.report("host", "bad_value", quote_name(*host) + " is not a host name or address");
  }
  if (const auto port = reader.integer("port", presence::required, port_range))
    out.port = static_cast<std::uint16_t>(*port);
}

auto read_static(object_reader& reader, std::optional<kind_type> kind) -> endpoint_entry::static_resolver {
  endpoint_entry::static_resolver out;
  read_address(reader, out);
  out.by_tls = reader.boolean("tls", presence::optional).value_or(false);
  if (kind == kind_type::http)
    out.by_grpc =
        reader.choice("protocol", presence::optional, protocol_names).value_or(json_protocol) != json_protocol;
  return out;
}

auto read_cluster(object_reader& reader, braid::diagnostics& problems) -> endpoint_entry::cluster_resolver {
  endpoint_entry::cluster_resolver out;
  out.by_tls = reader.boolean("tls", presence::optional).value_or(false);
  out.from_replicas = reader.choice("reads", presence::optional, read_names).value_or(0) == 1;
  const nlohmann::json* const nodes = reader.array("nodes", presence::required);
  if (nodes == nullptr) return out;
  if (nodes->empty()) reader.report("nodes", "bad_value", "`nodes` must list at least one node of the cluster");
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    object_reader node((*nodes)[i], braid::json_pointer(reader.pointer_of("nodes"), i), problems);
    read_address(node, out.nodes.emplace_back());
    node.refuse_unknown_fields();
  }
  return out;
}

auto read_file(object_reader& reader) -> file_resolver {
  file_resolver out;
  if (const std::string* path = reader.text("path", presence::required)) {
    out.path = *path;
    if (path->empty()) reader.report("path", "bad_value", "the path of the file must not be empty");
  }
  return out;
}

auto read_embedded(object_reader& reader) -> endpoint_entry::embedded_resolver {
  endpoint_entry::embedded_resolver out;
  if (const std::string* path = reader.text("path", presence::required)) {
    out.path = *path;
    if (path->empty()) reader.report("path", "bad_value", "the path of the store must not be empty");
  }
  return out;
}

/// Checks that an endpoint of this kind can have this resolver. In production, a redis endpoint must not be embedded,
/// because several processes must be able to reach its data.
void check_resolver(object_reader& reader, kind_type kind, std::size_t resolver, std::string_view environment) {
  const bool embedded = resolver == embedded_choice;
  const std::string what = "an endpoint of kind " + std::string(to_string(kind));
  if (kind == kind_type::embedded && !embedded)
    reader.report("type", "wrong_resolver", what + " needs the embedded resolver");
  if ((kind == kind_type::vectors) != (resolver == file_choice))
    return reader.report("type", "wrong_resolver",
                         what + (kind == kind_type::vectors ? " needs the file resolver" : " is not a vector file"));
  if (kind == kind_type::http && resolver != static_choice)
    reader.report("type", "wrong_resolver", what + " needs the static resolver");
  if (kind == kind_type::redis && embedded && environment == "prod")
    reader.report("type", "wrong_resolver", what + " may be embedded only in dev and test");
}

void read_resolver(object_reader& row, std::optional<kind_type> kind, std::string_view environment, endpoint_entry& out,
                   braid::diagnostics& problems) {
  const nlohmann::json* value = row.object("resolver", presence::required);
  if (value == nullptr) return;
  object_reader in(*value, row.pointer_of("resolver"), problems);
  const auto resolver = in.choice("type", presence::required, resolver_names);
  if (!resolver) return;  // which other fields there are depends on it
  if (kind) check_resolver(in, *kind, *resolver, environment);
  if (*resolver == static_choice)
    out.resolver = read_static(in, kind);
  else if (*resolver == cluster_choice)
    out.resolver = read_cluster(in, problems);
  else if (*resolver == file_choice)
    out.resolver = read_file(in);
  else
    out.resolver = read_embedded(in);
  in.refuse_unknown_fields();
}

/// Reads the list of changes to a file of vectors. `check_changes` checks the endpoint.
auto read_changes(const nlohmann::json& value, std::string pointer, braid::diagnostics& problems)
    -> vector_changes_policy {
  object_reader in(value, std::move(pointer), problems);
  vector_changes_policy out;
  const auto read = [&in](std::string_view field, std::string& into) {
    const std::string* text = in.text(field, presence::required);
    if (text == nullptr) return;
    into = *text;
    if (text->empty()) in.report(field, "bad_value", "`" + std::string(field) + "` must not be empty");
  };
  read("endpoint", out.endpoint_id);
  read("set", out.set);
  read("key", out.key);
  read("field", out.field);
  const std::size_t hole = out.key.find("{id}");
  const auto braces = std::ranges::count_if(out.key, [](char c) { return c == '{' || c == '}'; });
  if (!out.key.empty() && (hole == std::string::npos || braces != 2))
    in.report("key", "bad_value", quote_name(out.key) + " must contain `{id}` once, and no other braces",
              "write the key template of the plan that reads the vectors, such as `product:{id}`");
  if (const auto n = in.integer("merge_at", presence::optional, merge_range))
    out.merge_at = static_cast<std::uint32_t>(*n);
  in.refuse_unknown_fields();
  return out;
}

void read_policy(object_reader& row, kind_type kind, endpoint_entry::policy_type& out, braid::diagnostics& problems) {
  const nlohmann::json* value = row.object("policy", presence::optional);
  if (value == nullptr) return;
  object_reader in(*value, row.pointer_of("policy"), problems);
  if (kind == kind_type::vectors) {  // a file has no connections
    out.metric = static_cast<vector_metric>(in.choice("metric", presence::optional, metric_names).value_or(0));
    if (const nlohmann::json* changes = in.object("changes", presence::optional))
      out.changes = read_changes(*changes, in.pointer_of("changes"), problems);
    return in.refuse_unknown_fields();
  }
  if (const auto n = in.integer("max_inflight", presence::optional, inflight_range))
    out.max_inflight = static_cast<std::uint32_t>(*n);
  if (const auto n = in.integer("connect_timeout_ms", presence::optional, timeout_range))
    out.connect_timeout = std::chrono::milliseconds(*n);
  if (const auto n = in.integer("request_timeout_ms", presence::optional, timeout_range))
    out.request_timeout = std::chrono::milliseconds(*n);
  if (const auto n = in.integer("connections", presence::optional, connections_range))
    out.connections = static_cast<std::uint32_t>(*n);
  if (kind == kind_type::http) {
    if (const auto n = in.integer("breaker_failures", presence::optional, failures_range))
      out.breaker_failures = static_cast<std::uint32_t>(*n);
    if (const auto n = in.integer("breaker_ms", presence::optional, timeout_range))
      out.breaker_rest = std::chrono::milliseconds(*n);
  }
  in.refuse_unknown_fields();
}

/// Reports lists of changes that are not in an embedded store, because a server can change only embedded stores.
void check_changes(const std::vector<endpoint_entry>& all, braid::diagnostics& problems) {
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (!all[at].policy.changes) continue;
    const std::string& id = all[at].policy.changes->endpoint_id;
    const auto found = std::ranges::find(all, id, &endpoint_entry::endpoint_id);
    if (id.empty() || (found != all.end() && std::holds_alternative<embedded_resolver>(found->resolver))) continue;
    const bool is_unknown = found == all.end();
    problems.add({.code = is_unknown ? "unknown_endpoint" : "wrong_resolver",
                  .pointer = braid::json_pointer("/endpoint", at) + "/policy/changes/endpoint",
                  .message = is_unknown
                                 ? "no endpoint has the id " + quote_name(id)
                                 : "the endpoint " + quote_name(id) + " (" + found->name +
                                       ") is not an embedded store; servers merge changes from such a store only",
                  .hint = is_unknown ? "name the endpoint of the store that has the set"
                                     : "remove `changes`, and merge with `rankd vectors merge`",
                  .node = {},
                  .source = {}});
  }
}

}  // namespace

auto to_string(kind_type kind) noexcept -> std::string_view { return kind_names[static_cast<std::size_t>(kind)]; }

auto to_string(vector_metric metric) noexcept -> std::string_view {
  return metric_names[static_cast<std::size_t>(metric)];
}

namespace detail {

auto read_endpoints(section& section, std::string_view environment) -> std::vector<endpoint_entry> {
  std::vector<endpoint_entry> out;
  used_once<std::string> ids("duplicate_id");
  used_once<std::string> names("duplicate_name");
  for_each_row(section, "endpoint", [&](object_reader& row) {
    endpoint_entry entry;
    entry.endpoint_id = read_endpoint_id(row);
    if (!entry.endpoint_id.empty()) ids.claim(row, "endpoint_id", entry.endpoint_id);
    entry.name = read_name(row);
    if (!entry.name.empty()) names.claim(row, "name", entry.name);
    std::optional<kind_type> kind;
    if (const auto chosen = row.choice("kind", presence::required, kind_names)) kind = static_cast<kind_type>(*chosen);
    entry.kind = kind.value_or(kind_type::redis);
    read_resolver(row, kind, environment, entry, section.problems);
    read_policy(row, entry.kind, entry.policy, section.problems);
    out.push_back(std::move(entry));
  });
  check_changes(out, section.problems);
  return out;
}

void check_change_fields(const std::vector<endpoint_entry>& endpoints, const std::vector<key_entry>& keys,
                         section& section) {
  for (std::size_t at = 0; at < endpoints.size(); ++at) {
    const auto& changes = endpoints[at].policy.changes;
    if (!changes || changes->field.empty()) continue;
    const auto found = std::ranges::find(keys, changes->field, &key_entry::name);
    if (found != keys.end() && found->dimensions > 0) continue;
    section.problems.add({.code = found == keys.end() ? "unknown_key" : "wrong_key_type",
                          .pointer = braid::json_pointer("/endpoint", at) + "/policy/changes/field",
                          .message = found == keys.end()
                                         ? "no key is called " + quote_name(changes->field)
                                         : "the key " + quote_name(changes->field) + " is not of type vector",
                          .hint = "name the key of type vector under which plans read the field",
                          .node = {},
                          .source = {}});
  }
}

void compare_endpoints(const std::vector<endpoint_entry>& ours, const std::vector<endpoint_entry>& theirs,
                       section& other) {
  const auto report = [&other](std::string pointer, std::string message) {
    other.problems.add({.code = "environments_differ",
                        .pointer = std::move(pointer),
                        .message = std::move(message),
                        .hint = "ids, names and kinds must be the same in every environment",
                        .node = {},
                        .source = {}});
  };
  for (const endpoint_entry& mine : ours)
    if (std::ranges::find(theirs, mine.endpoint_id, &endpoint_entry::endpoint_id) == theirs.end())
      report("/endpoint", "the endpoint " + quote_name(mine.endpoint_id) + " is missing here");
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const std::string pointer = braid::json_pointer("/endpoint", i);
    const std::string name = quote_name(theirs[i].endpoint_id);
    const auto mine = std::ranges::find(ours, theirs[i].endpoint_id, &endpoint_entry::endpoint_id);
    if (mine == ours.end())
      report(pointer, "the endpoint " + name + " is declared only in this environment");
    else if (mine->name != theirs[i].name)
      report(pointer + "/name", name + " has another name in this environment");
    else if (mine->kind != theirs[i].kind)
      report(pointer + "/kind", name + " has another kind in this environment");
  }
}

}  // namespace detail
}  // namespace rankd
