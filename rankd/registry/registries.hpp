// rankd/registry/registries.hpp: the declarations of a project, read from TOML: keys, params, features, capabilities,
// endpoints.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/registry/payload_rules.hpp>
#include <rankd/registry/value.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd {

enum class lifecycle : std::uint8_t { active, deprecated, blocked };

auto to_string(lifecycle status) noexcept -> std::string_view;

/// A key: a column that plans may name. Key 1 is `id`, which every row has.
struct key_entry {
  std::uint32_t key_id = 0;
  std::string name;
  value_type type = value_type::integer;
  bool nullable = false;
  scalar default_value;  ///< null if the key has no default
  std::string doc;
  lifecycle status = lifecycle::active;
  bool allow_read = true;
  bool allow_write = true;
  std::optional<std::uint32_t> replaced_by;
  std::uint32_t dimensions = 0;  ///< the dimensions of a vector; 0 for any other type

  auto operator==(const key_entry&) const -> bool = default;
};

/// The maximum number of dimensions of a vector.
inline constexpr std::uint32_t max_dimensions = 4096;

/// The part of a request that sets the value of a param.
enum class param_source : std::uint8_t {
  overrides,  ///< `param_overrides`, in place of the default
  context,    ///< `context`: facts about the request, such as a device
};

auto to_string(param_source source) noexcept -> std::string_view;

/// The unit in which a param counts the time since 1970 (UTC).
enum class clock_unit : std::uint8_t { seconds, milliseconds };

auto to_string(clock_unit unit) noexcept -> std::string_view;

/// A param: a value that requests set or override.
struct param_entry {
  std::uint32_t param_id = 0;
  std::string name;
  value_type type = value_type::floating;
  bool nullable = false;
  scalar default_value;
  std::string doc;
  lifecycle status = lifecycle::active;
  bool allow_read = true;
  /// States whether `param_overrides` may set the param. The default for a context param is false.
  bool allow_write = true;
  std::optional<std::uint32_t> replaced_by;
  param_source source = param_source::overrides;
  bool required = false;  ///< whether a request must set it if its plan reads it; only for context params
  /// If this is set, the param's default value is the time of the request. A request may set another value. Only for
  /// context params.
  std::optional<clock_unit> clock = {};

  auto operator==(const param_entry&) const -> bool = default;
};

/// A resolver for a server at a fixed address.
struct static_resolver {
  std::string host;
  std::uint16_t port = 0;
  bool by_tls = false;
  bool by_grpc = false;  ///< whether a model server is called over gRPC instead of JSON over HTTP

  auto operator==(const static_resolver&) const -> bool = default;
};

/// A resolver for a cluster of servers that share the keys among themselves.
struct cluster_resolver {
  struct node {
    std::string host;
    std::uint16_t port = 0;

    auto operator==(const node&) const -> bool = default;
  };
  std::vector<node> nodes;     ///< some nodes of the cluster, which name the others
  bool from_replicas = false;  ///< whether replicas may answer reads, although they may be outdated
  bool by_tls = false;

  auto operator==(const cluster_resolver&) const -> bool = default;
};

/// A resolver for a store that is embedded in this process.
struct embedded_resolver {
  std::string path;  ///< folder of the store, relative to the project's root

  auto operator==(const embedded_resolver&) const -> bool = default;
};

/// A resolver for data in a local file.
struct file_resolver {
  std::string path;  ///< relative to the project's root

  auto operator==(const file_resolver&) const -> bool = default;
};

/// The measure of similarity between vectors.
enum class vector_metric : std::uint8_t { dot, cosine, l2 };

auto to_string(vector_metric metric) noexcept -> std::string_view;

/// A list of changed vectors in an embedded store: the ids are in a set, and the vectors in hashes. A server merges
/// these vectors into a file.
struct vector_changes_policy {
  std::string endpoint_id;        ///< the endpoint of the store
  std::string set;                ///< the key of the set of ids
  std::string key;                ///< the key of the hash with the vector of an id: a text that contains `{id}` once
  std::string field;              ///< the field of the vector in the hash: the name of a key of type vector
  std::uint32_t merge_at = 1000;  ///< the number of ids in the set from which on a server merges; 0: never

  auto operator==(const vector_changes_policy&) const -> bool = default;
};

/// The limits on the use of an endpoint.
struct endpoint_policy {
  std::uint32_t max_inflight = 64;
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds request_timeout{1000};
  std::uint32_t connections = 1;
  vector_metric metric = vector_metric::dot;  ///< only for the kind vectors
  /// The number of failures in a row after which calls to a server of kind http are paused. 0 means that calls are
  /// never paused.
  std::uint32_t breaker_failures = 5;
  std::chrono::milliseconds breaker_rest{1000};       ///< the length of that pause
  std::optional<vector_changes_policy> changes = {};  ///< only for the kind vectors; nothing: servers do not merge

  auto operator==(const endpoint_policy&) const -> bool = default;
};

/// An endpoint: a source of data. Its kind determines which commands operators may use. Its resolver names the server,
/// store or file that executes the commands.
struct endpoint_entry {
  enum class kind_type : std::uint8_t { redis, embedded, http, vectors };
  using static_resolver = rankd::static_resolver;
  using cluster_resolver = rankd::cluster_resolver;
  using embedded_resolver = rankd::embedded_resolver;
  using policy_type = endpoint_policy;

  std::string endpoint_id;  ///< ep_NNNN
  std::string name;
  kind_type kind = kind_type::redis;
  std::variant<static_resolver, embedded_resolver, cluster_resolver, file_resolver> resolver;
  policy_type policy;

  auto operator==(const endpoint_entry&) const -> bool = default;
};

auto to_string(endpoint_entry::kind_type kind) noexcept -> std::string_view;

/// Returns whether the endpoint is a key-value store.
[[nodiscard]] inline auto is_store(const endpoint_entry& endpoint) noexcept -> bool {
  return endpoint.kind == endpoint_entry::kind_type::redis || endpoint.kind == endpoint_entry::kind_type::embedded;
}

struct capability_entry {
  std::string id;  ///< cap.rfc.NNNN.slug.vK
  std::string name;
  lifecycle status = lifecycle::active;
  std::string doc;
  std::string payload_schema;            ///< JSON schema of the extension's payload as canonical JSON, or empty
  std::optional<payload_rules> payload;  ///< the rules of the payload; nothing if any payload is allowed
};

/// A digest of one registry entry, as 64 hexadecimal digits. It covers the fields that affect plans. The digest does
/// not cover the doc. `status`, `allow_read`, `allow_write` and `replaced_by` are not covered either, because they are
/// checked whenever a plan is loaded.
struct entry_digest {
  std::string id;    ///< as in artifacts: a number in decimal digits, or the id of a capability or an endpoint
  std::string name;  ///< empty for a capability
  std::string sha256;
};

/// A digest of the declarations of one registry, as 64 hexadecimal digits. If two digests are equal, the declarations
/// are equal, whatever their layout in the file.
struct registry_digest {
  std::string name;  ///< keys, params, capabilities, endpoints
  std::string sha256;
  std::vector<entry_digest> entries = {};  ///< one for each entry, in the order of the ids as texts
};

/// All registries of one project in one environment. Immutable once loaded.
/// Threads: any, once loaded.
class registries {
 public:
  static constexpr std::uint32_t id_key = 1;

  /// Returns the type of all ids of the project: integer, or string if keys.toml declares the key `id` as a string.
  [[nodiscard]] auto id_type() const noexcept -> value_type {
    return keys_.empty() ? value_type::integer : keys_.front().type;
  }

  /// Reads keys.toml, params.toml, capabilities.toml and endpoints.ENV.toml from `folder`. capabilities.toml may be
  /// absent. Endpoint files of other environments, if present, must obey the same rules and declare the same ids, names
  /// and kinds. Blocks: on the disk. Errors: every diagnostic about every file, with `source` naming the file.
  static auto load(const std::filesystem::path& folder, std::string_view environment) -> braid::checked<registries>;

  /// Replaces the resolver and the policy of each endpoint by those in `other`. Requires that both registries have
  /// endpoints with the same ids.
  void keep_places(const registries& other);

  /// These functions return the entries of a registry in ascending order of their ids.
  [[nodiscard]] auto keys() const noexcept -> std::span<const key_entry> { return keys_; }
  [[nodiscard]] auto params() const noexcept -> std::span<const param_entry> { return params_; }
  [[nodiscard]] auto capabilities() const noexcept -> std::span<const capability_entry> { return capabilities_; }
  [[nodiscard]] auto endpoints() const noexcept -> std::span<const endpoint_entry> { return endpoints_; }

  /// Returns the digest of each registry, in the order keys, params, capabilities, endpoints. The digest of the
  /// endpoints covers ids, names and kinds, so it is the same in every environment.
  [[nodiscard]] auto digests() const noexcept -> std::span<const registry_digest> { return digests_; }

  /// These functions find an entry by id or name. They return null if there is no such entry.
  [[nodiscard]] auto find_key(std::uint32_t key_id) const -> const key_entry*;
  [[nodiscard]] auto find_key(std::string_view name) const -> const key_entry*;
  [[nodiscard]] auto find_param(std::uint32_t param_id) const -> const param_entry*;
  [[nodiscard]] auto find_param(std::string_view name) const -> const param_entry*;
  /// Finds an endpoint by its id, `ep_NNNN`.
  [[nodiscard]] auto find_endpoint(std::string_view endpoint_id) const -> const endpoint_entry*;
  [[nodiscard]] auto find_capability(std::string_view id) const -> const capability_entry*;

  /// Returns a hint such as "use key 7 (score) instead" if the entry names its successor. Otherwise, returns an empty
  /// text.
  [[nodiscard]] auto successor_hint(const key_entry& key) const -> std::string;
  [[nodiscard]] auto successor_hint(const param_entry& param) const -> std::string;

  /// These functions return all names, so that a message can suggest a similar name.
  [[nodiscard]] auto key_names() const -> std::vector<std::string_view>;
  [[nodiscard]] auto param_names() const -> std::vector<std::string_view>;

  /// Returns the index of an entry in `params()`. The values of params in a request have the same order.
  [[nodiscard]] auto index_of(const param_entry& entry) const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(&entry - params_.data());
  }

 private:
  std::vector<key_entry> keys_;
  std::vector<param_entry> params_;
  std::vector<capability_entry> capabilities_;
  std::vector<endpoint_entry> endpoints_;
  std::vector<registry_digest> digests_;
  std::vector<std::uint32_t> keys_by_name_;    ///< positions in keys_, in the order of the names
  std::vector<std::uint32_t> params_by_name_;  ///< positions in params_, in the order of the names
};

}  // namespace rankd
