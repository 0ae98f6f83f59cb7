// rankd/server/events/event_rules.hpp: counters.toml: the types of events that a project accepts, and its counters.
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

inline constexpr std::string_view counters_file = "counters.toml";

/// A type of events, such as click, with its fields.
struct event_type {
  std::string name;
  /// The declared types of fields, by name. If there is no declaration, any fields are accepted.
  std::optional<std::map<std::string, value_type, std::less<>>> fields = {};
};

/// A counter of events of one type: a field of a hash. The key of the hash is made from values of the event.
struct event_counter {
  std::string name;              ///< the field of the hash
  std::string event;             ///< the type
  std::size_t endpoint = 0;      ///< a position in registries::endpoints
  key_template key;              ///< holes are `user_id`, `item_id`, and fields of the event
  std::string by;                ///< the field whose number is added; empty: adds one
  std::int64_t window_s = 0;     ///< the hash ends this long after the first event; 0: it stays
  std::int64_t idle_s = 0;       ///< the hash ends this long after the last event; 0: it stays
  std::int64_t half_life_s = 0;  ///< the value is halved after this time; 0: it does not decay

  /// Returns the name of the field that stores the time of a decaying counter's value, in milliseconds since 1970.
  [[nodiscard]] auto time_field() const -> std::string { return name + "_at"; }
};

/// A project's rules for events. Immutable. Threads: any.
class event_rules {
 public:
  /// Creates the default rules: impressions, clicks and purchases, and no counters.
  event_rules();

  /// Reads counters.toml of a folder; if there is no such file, returns the default rules.
  /// Blocks: on the disk. Errors: all diagnostics at once, with the file as the source: those of `read_toml_file`,
  /// `object_reader` and `key_template::parse`; duplicate_value, unknown_event, unknown_endpoint, wrong_endpoint_kind
  /// for a counter in an endpoint that is not a store, bad_hole, unknown_field, bad_value for two expiries of one hash.
  static auto load(const std::filesystem::path& folder, const registries& declared) -> braid::checked<event_rules>;

  [[nodiscard]] auto types() const noexcept -> const std::vector<event_type>& { return types_; }
  [[nodiscard]] auto counters() const noexcept -> const std::vector<event_counter>& { return counters_; }
  /// Returns the event type with this name; null if there is no such type.
  [[nodiscard]] auto find(std::string_view type) const noexcept -> const event_type*;

 private:
  std::vector<event_type> types_;
  std::vector<event_counter> counters_;
};

}  // namespace rankd
