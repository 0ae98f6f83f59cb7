// rankd/server/events/event.hpp: events about users' actions, such as impressions and clicks, parsed from a call and
// written as lines.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/registry/value.hpp>
#include <rankd/server/events/event_rules.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

inline constexpr std::size_t max_event_id = 128;      ///< in bytes
inline constexpr std::size_t max_event_fields = 32;   ///< of one event
inline constexpr std::size_t max_event_text = 1'024;  ///< bytes of a text in a field

/// An event: an impression, a click, a purchase, or an event of a type that the project declares.
struct event {
  std::string event_id;  ///< the client creates this id; two events with the same id are the same event
  std::string type;
  std::chrono::milliseconds time{
      0};  ///< when the event happened, since 1970; when it arrived if the client does not know
  std::optional<row_id> user_id = {};
  std::optional<row_id> item_id = {};
  std::string request_id = {};                              ///< the request whose answer showed the item; or empty
  std::vector<std::pair<std::string, scalar>> fields = {};  ///< the fields of the event, ordered by name
};

/// Parses `{"events": [{"event_id": "e1", "type": "click", …}, …]}`. An event without a time gets `now`.
/// Errors: all diagnostics at once, up to a limit: those of `parse_json` and `object_reader`; events_too_large for more
/// than `max_events`, bad_event_id, unknown_event, bad_user_id, bad_id, too_many_fields, unknown_field, wrong_type,
/// text_too_long.
auto parse_events(std::string_view text, const event_rules& rules, const registries& declared, std::size_t max_events,
                  std::chrono::milliseconds now) -> braid::checked<std::vector<event>>;

/// An event with the time at which it was received.
struct logged_event {
  event what;
  std::chrono::milliseconds received{0};
};

/// Parses a line that `event_line` has returned. Parts that the rules no longer accept are left out. Returns nothing
/// for a line without id, type or time of receipt.
[[nodiscard]] auto parse_event_line(std::string_view line, const event_rules& rules, const registries& declared)
    -> std::optional<logged_event>;

/// Returns the line of an event:
/// `{"event_id":…,"type":…,"time_ms":…,"received_ms":…,"user_id":…,"item_id":…,"request_id":…,"fields":{…}}`.
[[nodiscard]] auto event_line(const event& event, std::chrono::milliseconds received) -> std::string;

/// One change of a value in a store.
struct rule_step {
  std::size_t rule = 0;  ///< a position in event_rules::all
  std::string key;
  scalar by = {};                         ///< for a counter: the amount, as int64 or double
  std::string text = {};                  ///< for other rules: the value, element or member
  double score = 0;                       ///< for a sorted set: the score of the member
  std::chrono::milliseconds at{0};        ///< when the event happened, but not after it was received
  std::chrono::milliseconds received{0};  ///< the time at which the value's time to live begins
};

/// Returns the changes that an event causes. A rule causes no change if the event lacks its key or its value, or if a
/// number is required and the event's value is not a number. If the time of an event is later than its receipt, the
/// time of receipt is used instead. Otherwise, the event would reduce the weight of all events until that time.
[[nodiscard]] auto list_steps(const event& event, const event_rules& rules, std::chrono::milliseconds received)
    -> std::vector<rule_step>;

}  // namespace rankd
