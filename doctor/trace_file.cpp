// doctor/trace_file.cpp: parses those of Perfetto's protobuf messages that the writer of traces uses.
#include <doctor/trace_file.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace braid::doctor {
namespace {

constexpr std::uint64_t first_task_track = 0x2'0000'0000;
constexpr std::uint64_t first_counter_track = 0x3'0000'0000;
constexpr std::uint64_t max_time = std::uint64_t{1} << 62U;  // times below this limit can be added without overflow
constexpr std::uint64_t first_activity_track = first_task_track + (std::uint64_t{1} << 40U);

/// A field of a protobuf message: a number, or bytes.
struct field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;
};

[[noreturn]] void refuse(const char* reason) { throw std::runtime_error(reason); }

/// A reader of the fields of a protobuf message, in their order.
class message_reader {
 public:
  explicit message_reader(std::string_view bytes) noexcept : rest_(bytes) {}

  /// Returns the next field, or nothing at the end.
  /// Errors: std::runtime_error if the bytes are not a valid message.
  auto next() -> std::optional<field> {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    field found{.number = static_cast<std::uint32_t>(key >> 3U), .value = 0, .bytes = {}};
    switch (key & 7U) {
      case 0: found.value = varint(); break;
      case 1: found.value = fixed(8); break;
      case 2: found.bytes = take(varint()); break;
      case 5: found.value = fixed(4); break;
      default: refuse("a field has an unknown protobuf type");
    }
    return found;
  }

  [[nodiscard]] auto rest() const noexcept -> std::size_t { return rest_.size(); }

 private:
  auto take(std::uint64_t size) -> std::string_view {
    if (size > rest_.size()) refuse("a field is longer than its message");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  auto varint() -> std::uint64_t {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    refuse("a number has more than 64 bits");
  }
  auto fixed(std::uint64_t size) -> std::uint64_t {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char each : take(size)) value |= std::uint64_t{static_cast<unsigned char>(each)} << (8 * shift++);
    return value;
  }

  std::string_view rest_;
};

/// Returns the last field of a message with this number, or an empty field.
auto find(std::string_view message, std::uint32_t number) -> field {
  field found;
  message_reader reader(message);
  while (const auto each = reader.next())
    if (each->number == number) found = *each;
  return found;
}

struct event {
  std::uint64_t when = 0;
  std::uint64_t type = 0;
  std::uint64_t name = 0;
  std::uint64_t track = 0;
  std::uint64_t flow = 0;
  std::uint64_t flow_end = 0;
  std::uint64_t lost = 0;
  std::uint64_t due = 0;
};

class trace_parser {
 public:
  auto parse(std::string_view bytes) -> trace_file {
    while (!bytes.empty()) {
      message_reader reader(bytes);
      std::optional<field> packet;
      try {
        packet = reader.next();
      } catch (const std::runtime_error&) {
        if (bytes.front() != '\x0a') refuse("the file is not a Perfetto trace");
        file_.is_cut = true;
        break;
      }
      if (packet->number != 1) refuse("the file is not a Perfetto trace");
      read_packet(packet->bytes);
      bytes.remove_prefix(bytes.size() - reader.rest());
    }
    finish();
    return std::move(file_);
  }

 private:
  struct sequence {
    std::uint64_t now = 0;
    std::uint64_t track = 0;
    std::optional<std::size_t> thread;
    std::unordered_map<std::uint64_t, std::uint32_t> names;
    std::vector<std::size_t> open;  // the open slices of the thread
  };

  void read_packet(std::string_view packet) {
    field parts[64];
    message_reader reader(packet);
    while (const auto each = reader.next())
      if (each->number < std::size(parts)) parts[each->number] = *each;
    sequence& of = sequences_[parts[10].value];
    if (parts[60].number != 0) describe(parts[60].bytes);
    if (parts[6].number != 0) set_clock(of, parts[6].bytes);
    if (parts[59].number != 0) of.track = find(find(parts[59].bytes, 11).bytes, 11).value;
    if (parts[12].number != 0) intern(of, parts[12].bytes);
    if (parts[11].number == 0) return;
    of.now += std::min(parts[8].value, max_time - of.now);
    read_event(of, parts[11].bytes);
  }

  void describe(std::string_view descriptor) {
    const std::uint64_t track = find(descriptor, 1).value;
    const std::string name(find(descriptor, 2).bytes);
    if (const field thread = find(descriptor, 4); thread.number != 0) {
      threads_.emplace(track, file_.threads.size());
      file_.threads.emplace_back().name = find(thread.bytes, 5).bytes;
    } else if (track >= first_path_track) {
      file_.has_paths = true;
    } else if (has_states(track)) {
      file_.tracks[track].name = name;
    }
  }

  static auto has_states(std::uint64_t track) noexcept -> bool {
    return track >= first_activity_track || (track >= first_task_track && track < first_counter_track);
  }

  static void set_clock(sequence& current, std::string_view snapshot) {
    message_reader reader(snapshot);
    while (const auto each = reader.next())
      if (each->number == 1 && find(each->bytes, 1).value == 64)
        current.now = std::clamp(find(each->bytes, 2).value, current.now, max_time);
  }

  void intern(sequence& current, std::string_view interned) {
    message_reader reader(interned);
    while (const auto each = reader.next())
      if (each->number == 2) current.names[find(each->bytes, 1).value] = name_of(find(each->bytes, 2).bytes);
  }

  auto name_of(std::string_view text) -> std::uint32_t {
    const auto [found, is_new] = names_.try_emplace(std::string(text), static_cast<std::uint32_t>(file_.names.size()));
    if (is_new) file_.names.emplace_back(text);
    return found->second;
  }

  void read_event(sequence& current, std::string_view bytes) {
    event event_read{.when = current.now, .track = current.track};
    message_reader reader(bytes);
    while (const auto each = reader.next()) {
      switch (each->number) {
        case 4: annotate(event_read, each->bytes); break;
        case 9: event_read.type = each->value; break;
        case 10: event_read.name = each->value; break;
        case 11: event_read.track = each->value; break;
        case 47: event_read.flow = each->value; break;
        case 48: event_read.flow_end = each->value; break;
        default: break;
      }
    }
    if (event_read.track >= first_path_track) return;
    if (!current.thread) {
      const auto known = threads_.find(current.track);
      if (known == threads_.end()) refuse("an event belongs to a thread that the trace does not describe");
      current.thread = known->second;
      threads_.erase(known);  // the events of a thread are in one sequence, by time
    }
    file_.lost += event_read.lost;
    std::uint32_t name = no_name_;
    if (event_read.name != 0) {
      const auto known = current.names.find(event_read.name);
      if (known == current.names.end()) refuse("an event refers to a name that the trace does not contain");
      name = known->second;
    }
    event_read.track == current.track ? on_thread(current, event_read, name) : on_track(current, event_read);
  }

  static void annotate(event& event, std::string_view annotation) {
    const std::string_view name = find(annotation, 10).bytes;
    if (name == "records") event.lost = find(annotation, 3).value;
    if (name == "ns") event.due = find(annotation, 3).value;
  }

  void on_thread(sequence& current, const event& event, std::uint32_t name) {
    recorded_thread& thread = file_.threads[*current.thread];
    constexpr std::uint64_t begin = 1;
    constexpr std::uint64_t end = 2;
    constexpr std::uint64_t mark = 3;
    last_ = std::max(last_, event.when);
    if (event.type == begin) {
      const std::size_t parent = innermost(current);
      current.open.push_back(thread.slices.size());
      constexpr std::uint64_t open_end = std::numeric_limits<std::uint64_t>::max();
      thread.slices.push_back(
          {.begin = event.when, .end = open_end, .parent = parent, .name = name, .cause = event.flow_end});
    } else if (event.type == end) {
      if (current.open.empty()) return;  // the trace has lost the begin
      thread.slices[current.open.back()].end = event.when;
      current.open.pop_back();
    } else if (event.type == mark) {
      on_mark(current, event, name);
    }
  }

  static auto innermost(const sequence& current) noexcept -> std::size_t {
    return current.open.empty() ? no_slice : current.open.back();
  }

  void on_mark(const sequence& current, const event& event, std::uint32_t name) {
    const trace_place here{.thread = *current.thread, .when = event.when, .slice = innermost(current)};
    const std::string& text = file_.names[name];
    if (event.flow_end != 0 && text == "woken") file_.threads[*current.thread].woken[event.when] = event.flow_end;
    if (event.flow == 0) return;
    if (event.flow % 2 == 0) {
      if (text == "post") file_.posts[event.flow].push_back(here);
      if (text == "wake") file_.wakes[event.flow].push_back(here);
    } else if (text == "ready") {
      file_.readies[event.flow].push_back(here);
    } else if (text == "due") {
      dues_.push_back({event.flow, here, event.due});
    } else {
      file_.waits[event.flow].push_back({.at = here, .name = name, .due = 0});
    }
  }

  void on_track(const sequence& current, const event& event) {
    if (!has_states(event.track)) return;
    recorded_track& track = file_.tracks[event.track];
    track.is_activity = event.track >= first_activity_track;
    const trace_place here{.thread = *current.thread, .when = event.when, .slice = innermost(current)};
    const bool is_begin = event.type == 1;
    track.open += is_begin ? 1 : -1;
    if (is_begin && (track.first.when == 0 || here.when < track.first.when)) track.first = here;
    if (!is_begin && here.when >= track.last.when) track.last = here;
  }

  void finish() {
    const auto by_time = [](const trace_place& a, const trace_place& b) { return a.when < b.when; };
    for (auto* each : {&file_.posts, &file_.readies, &file_.wakes})
      for (auto& [number, places] : *each) std::ranges::sort(places, by_time);
    for (auto& [number, waits] : file_.waits)
      std::ranges::sort(waits, [&](const auto& a, const auto& b) { return by_time(a.at, b.at); });
    for (const auto& [number, at, ns] : dues_) {
      auto& waits = file_.waits[number];
      const auto after = std::ranges::upper_bound(waits, at.when, {}, [](const auto& wait) { return wait.at.when; });
      if (after != waits.begin()) std::prev(after)->due = ns;
    }
    for (recorded_thread& thread : file_.threads)
      for (recorded_slice& slice : thread.slices) slice.end = std::min(slice.end, std::max(last_, slice.begin));
  }

  struct due_mark {
    std::uint64_t number;
    trace_place at;
    std::uint64_t ns;
  };

  trace_file file_;
  std::unordered_map<std::uint64_t, sequence> sequences_;
  std::unordered_map<std::uint64_t, std::size_t> threads_;  // indexes by track
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<due_mark> dues_;
  std::uint64_t last_ = 0;
  std::uint32_t no_name_ = name_of("");
};

}  // namespace

auto recorded_thread::innermost(std::uint64_t time) const noexcept -> std::size_t {
  const auto after = std::ranges::upper_bound(slices, time, {}, &recorded_slice::begin);
  if (after == slices.begin()) return no_slice;
  auto at = static_cast<std::size_t>(std::prev(after) - slices.begin());
  while (at != no_slice && slices[at].end <= time) at = slices[at].parent;
  return at;
}

auto read_trace(const std::string& file) -> std::string {
  const std::ifstream in(file, std::ios::binary);
  if (!in) throw std::system_error(errno, std::generic_category(), file);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (bytes.bad()) throw std::system_error(errno, std::generic_category(), file);
  return std::move(bytes).str();
}

auto parse_trace(std::string_view bytes) -> trace_file { return trace_parser().parse(bytes); }

}  // namespace braid::doctor
