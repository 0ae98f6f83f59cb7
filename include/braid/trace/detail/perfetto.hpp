// braid/trace/detail/perfetto.hpp: encodes events in Perfetto's protobuf format, without Perfetto's library.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::detail {

/// A protobuf message in wire format: a string to which fields are appended.
class BRAID_API protobuf_message {
 public:
  void number(std::uint32_t field, std::uint64_t value);
  void fixed(std::uint32_t field, std::uint64_t value);
  void bytes(std::uint32_t field, std::string_view value);
  void message(std::uint32_t field, const protobuf_message& value) { bytes(field, value.bytes_); }

  [[nodiscard]] auto encoded() const noexcept -> const std::string& { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  void varint(std::uint64_t value);

  std::string bytes_;
};

/// An event on a track. Members that are zero are not written.
struct trace_event {
  enum class kind : std::uint8_t { begin = 1, end = 2, mark = 3, counter = 4 };

  kind what = kind::mark;
  std::uint32_t name = 0;      ///< a number that perfetto_writer::name has returned
  std::uint64_t track = 0;     ///< 0: the thread's
  std::uint64_t flow = 0;      ///< an arrow that begins here, or passes through
  std::uint64_t flow_end = 0;  ///< an arrow that ends here
  std::int64_t value = 0;      ///< the value of a counter
  std::uint64_t lost = 0;      ///< records of the thread that are not in the trace, up to here
  std::uint64_t due = 0;       ///< nanoseconds from here until a timer fires
};

/// Writes Perfetto's TracePackets. Each thread has a sequence, in which times are stored as differences and each name
/// is written once.
/// Threads: one at a time. Errors: std::bad_alloc.
/// Format: docs/design/trace.md
class BRAID_API perfetto_writer {
 public:
  /// The state of a sequence: the events of one thread, in the order of their times.
  struct sequence {
    std::uint32_t id = 0;  ///< 2 or more, different for each thread
    std::uint64_t last_ns = 0;
    std::vector<bool> known_names;
  };

  /// Begins a process. Tracks and threads that are added later belong to this process.
  void process(std::uint64_t pid, std::string_view name);
  void thread(sequence& target, std::uint64_t pid, std::uint64_t tid, std::string_view name, std::uint64_t begin_ns);
  /// Begins a sequence that does not belong to a thread. Its events are on the track with the number `track`, unless an
  /// event specifies another track.
  void begin(sequence& target, std::uint64_t track, std::uint64_t begin_ns);
  /// Adds a track with the number `number` to the process that was begun last.
  void track(std::uint64_t number, std::string_view name);
  void counter_track(std::uint64_t number, std::string_view name);

  /// Returns the number of a name. The name itself is written when a sequence uses it for the first time.
  [[nodiscard]] auto name(std::string text) -> std::uint32_t;

  void event(sequence& target, std::uint64_t when_ns, const trace_event& event);

  [[nodiscard]] auto bytes() const noexcept -> const std::string& { return trace_.encoded(); }
  void clear() noexcept { trace_.clear(); }

  static constexpr auto thread_track(std::uint32_t sequence) noexcept -> std::uint64_t {
    return 0x1'0000'0000 + sequence;
  }

 private:
  [[nodiscard]] auto process_track() const noexcept -> std::uint64_t;
  void packet();
  void annotate(std::string_view name, std::uint64_t value);
  void describe(std::uint64_t number, std::string_view name, protobuf_message* counter);

  std::uint64_t processes_ = 0;
  std::vector<std::string> names_;
  protobuf_message trace_;
  protobuf_message packet_;
  protobuf_message event_;
  protobuf_message part_;
};

}  // namespace braid::detail
