// rankd/registry/experiments.hpp: the declarations in experiments.toml: layers of buckets, and experiments with their
// arms.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

inline constexpr std::string_view experiments_file = "experiments.toml";

/// The name that selects the user of a request as the unit of a layer.
inline constexpr std::string_view user_unit = "user_id";

/// A division of all units into buckets. Experiments of one layer exclude each other: a bucket belongs to at most one
/// arm.
struct experiment_layer {
  std::string name;
  std::string salt;                         ///< different for each layer, so that layers divide the units independently
  std::optional<std::uint32_t> unit_param;  ///< the param whose value is the unit; nothing: the user
  std::uint32_t buckets = 10'000;
  std::string doc;
};

/// An arm of an experiment: a range of buckets, and the values of params for the units in these buckets.
struct experiment_arm {
  struct setting {
    std::uint32_t param_id = 0;
    scalar value;
  };

  std::string name;
  std::uint32_t from = 0;
  std::uint32_t to = 0;  ///< the last bucket
  std::vector<setting> set;
};

/// A filter that limits an experiment to requests in which a param has one of these values.
struct experiment_filter {
  std::uint32_t param_id = 0;
  std::vector<scalar> in;
};

enum class experiment_status : std::uint8_t {
  draft,   ///< not running yet
  active,  ///< from its start to its end
  ended,   ///< not running any more; its buckets are free
};

auto to_string(experiment_status status) noexcept -> std::string_view;

struct experiment_entry {
  std::string id;  ///< exp_NNNN
  std::string name;
  std::size_t layer = 0;  ///< a position in experiment_set::layers
  experiment_status status = experiment_status::draft;
  std::vector<std::string> plans;
  std::vector<experiment_arm> arms;
  std::optional<experiment_filter> filter;
  std::optional<std::chrono::sys_seconds> start;
  std::optional<std::chrono::sys_seconds> end;  ///< the first moment at which the experiment does not run any more
  std::string doc;

  [[nodiscard]] auto runs_at(std::chrono::sys_seconds time) const noexcept -> bool;
  [[nodiscard]] auto belongs_to(std::string_view plan) const noexcept -> bool;
};

/// The experiments of a project, in the order of the file. Immutable. Threads: any.
class experiment_set {
 public:
  /// The maximum number of arms of all active experiments. It is limited because each arm is a metric label.
  static constexpr std::size_t max_arms = 64;

  experiment_set() = default;  ///< no experiments

  /// Reads experiments.toml from a folder of registries. If the file does not exist, there are no experiments. Blocks:
  /// on the disk. Errors: all diagnostics at once, with the file as the source: those of `read_toml_file` and
  /// `object_reader`; bad_name, bad_experiment_id, duplicate_id, duplicate_name, duplicate_salt, duplicate_value,
  /// empty_list, unknown_layer, unknown_param, blocked_param, wrong_source, bad_unit, bad_date, bad_value,
  /// overlapping_buckets, param_set_twice, too_many_arms.
  static auto load(const std::filesystem::path& folder, const registries& declared) -> braid::checked<experiment_set>;

  [[nodiscard]] auto layers() const noexcept -> std::span<const experiment_layer> { return layers_; }
  [[nodiscard]] auto experiments() const noexcept -> std::span<const experiment_entry> { return experiments_; }

  /// Returns the digest of the declarations, in the form of registry_digest::sha256. Returns an empty text if the
  /// project has no experiments.toml.
  [[nodiscard]] auto digest() const noexcept -> const std::string& { return digest_; }

  /// Returns a diagnostic (unknown_plan) for each plan that an experiment names but `plans` does not contain.
  [[nodiscard]] auto strangers(const std::vector<std::string>& plans) const -> braid::diagnostics;

 private:
  std::vector<experiment_layer> layers_;
  std::vector<experiment_entry> experiments_;
  std::string digest_;
  std::string source_;
};

/// Returns the bucket of a unit. The SHA-256 of the salt, a zero byte and the unit is computed first. The bucket is the
/// first eight bytes of this digest, read as a big-endian number, modulo `buckets`. Requires at least one bucket. Cost:
/// half a microsecond.
[[nodiscard]] auto hash_to_bucket(std::string_view salt, std::string_view unit, std::uint32_t buckets) -> std::uint32_t;

}  // namespace rankd
