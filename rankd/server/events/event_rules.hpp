// rankd/server/events/event_rules.hpp: events.toml: the types of events that a project accepts, and the rules by which
// they change stores.
#pragma once

#include <rankd/plan/key_template.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

inline constexpr std::string_view events_file = "events.toml";
/// The name that the file of rules had in earlier versions of rankd, in which rules could only count. A file with this
/// name is read if there is no events.toml.
inline constexpr std::string_view counters_file = "counters.toml";

/// Returns the file of rules in a folder of registries, or nothing if there is no such file. Blocks: on the disk.
[[nodiscard]] auto find_event_rules(const std::filesystem::path& folder) -> std::optional<std::filesystem::path>;

/// A type of events.
struct event_type {
  std::string name;
  /// The declared types of fields, by name. If there is no declaration, any fields are accepted.
  std::optional<std::map<std::string, value_type, std::less<>>> fields = {};
};

/// The kinds of rules. The table in step_kinds.cpp has a row for each kind.
enum class rule_kind : std::uint8_t { counter, field, list, set, sorted_set };

enum class rule_action : std::uint8_t { add, remove };

/// A rule: how events of a type change the value under a key. The key is made from fields of the event.
struct event_rule {
  rule_kind kind = rule_kind::counter;
  std::string name = {};         ///< for a counter or field: the field of the hash
  std::string event;             ///< the type of the events
  std::size_t endpoint = 0;      ///< a position in registries::endpoints
  key_template key;              ///< its holes are `user_id`, `item_id`, and fields of the event
  std::int64_t window_s = 0;     ///< the value expires this long after the first event; 0: never
  std::int64_t idle_s = 0;       ///< the value expires this long after the last event; 0: never
  std::string by = {};           ///< for a counter: the field whose number is added; empty: 1 is added
  std::int64_t half_life_s = 0;  ///< for a counter: the value is halved after this time; 0: it does not decay
  std::string value = {};        ///< the value to write: `item_id`, `user_id`, `time_ms`, or a field of the event
  std::string score = {};        ///< for a sorted set: a field of the event; empty: the time of the event
  rule_action action = rule_action::add;  ///< for a set or sorted set
  std::size_t max_items = 0;              ///< for a list, set or sorted set
  std::int64_t max_age_s = 0;             ///< for a sorted set by time: older members are removed; 0: never

  /// Returns the name of the field that stores the time of a decaying counter's value, in milliseconds since 1970.
  [[nodiscard]] auto time_field() const -> std::string { return name + "_at"; }
};

/// A project's rules for events. Immutable. Threads: any.
class event_rules {
 public:
  /// Accepts impressions, clicks and purchases, but contains no rules.
  event_rules();

  /// Reads the file of rules in a folder. The file need not exist.
  /// Blocks: on the disk. Errors: every diagnostic at once, with the file as the source: those of `read_toml_file`,
  /// `object_reader` and `key_template::parse`; two_files, duplicate_value, unknown_event, unknown_endpoint,
  /// wrong_endpoint_kind for a rule of an endpoint that is not a store, bad_hole, unknown_field, wrong_type, bad_value
  /// for rules that contradict each other.
  static auto load(const std::filesystem::path& folder, const registries& declared) -> braid::checked<event_rules>;

  [[nodiscard]] auto types() const noexcept -> const std::vector<event_type>& { return types_; }
  /// Returns the rules, grouped by kind, in the order of the kinds.
  [[nodiscard]] auto all() const noexcept -> const std::vector<event_rule>& { return rules_; }
  /// Returns the type with this name, or null if there is no such type.
  [[nodiscard]] auto find(std::string_view type) const noexcept -> const event_type*;

 private:
  std::vector<event_type> types_;
  std::vector<event_rule> rules_;
};

}  // namespace rankd
