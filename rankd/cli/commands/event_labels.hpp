// rankd/cli/commands/event_labels.hpp: labels of training data: which events count for a shown row, and how they become
// values.
#pragma once

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rankd {

/// The way in which the events of a row become the value of a label.
enum class label_value : std::uint8_t {
  count,  ///< the number of events
  any,    ///< 1 if there is an event, otherwise 0
  sum,    ///< the sum of a field of the events
};

/// A label: a column of training data, computed from the events of each row.
struct event_label {
  std::string name;
  std::vector<std::string> events;      ///< types of the events that count
  std::chrono::milliseconds window{0};  ///< an event counts only if it happened at most this long after the exposure
  std::chrono::milliseconds delay{
      0};  ///< an event counts only if it was received at most this long after the end of the window
  label_value value = label_value::count;
  std::string by = {};  ///< for a sum: the field whose number is added
};

/// An event that names the request and the item of a row.
struct row_event {
  std::size_t type = 0;                   ///< the number of the type
  std::chrono::milliseconds happened{0};  ///< since 1970
  std::chrono::milliseconds received{0};  ///< since 1970; not before it happened
  std::vector<double> amounts = {};       ///< for each label: the number in the field `by`, otherwise 0; may be shorter
};

/// Reads a file of labels. Blocks: on the disk. Errors: all diagnostics at once, with the file as the source: those of
/// `read_toml_file` and `object_reader`; no_labels, duplicate_value, bad_value.
auto load_labels(const std::filesystem::path& file) -> braid::checked<std::vector<event_label>>;

/// Returns whether the time of an event is within the window of a label, for a row that was shown at `shown`. Does not
/// check the type of the event.
[[nodiscard]] auto is_within(const event_label& label, const row_event& event, std::chrono::milliseconds shown) -> bool;

/// Returns how long after an exposure its labels can still change.
[[nodiscard]] auto time_until_final(std::span<const event_label> labels) -> std::chrono::milliseconds;

}  // namespace rankd
