// src/trace/perfetto.cpp: writes the parts of Perfetto's TracePacket messages that a trace needs. Fields are identified
// by their numbers.
#include <braid/trace/detail/perfetto.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace braid::detail {
namespace {

constexpr std::uint32_t trace_packet = 1;

namespace packet_field {
constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11, interned = 12;
constexpr std::uint32_t sequence_flags = 13, defaults = 59, descriptor = 60;
}  // namespace packet_field

namespace event_field {
constexpr std::uint32_t annotation = 4, type = 9, name = 10, track = 11, counter = 30, flow = 47, flow_end = 48;
}

namespace descriptor_field {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
}

constexpr std::uint64_t state_cleared = 1, needs_state = 2;  // values of sequence_flags
constexpr std::uint64_t first_process_track = 0x1'0000'0000;
constexpr std::uint64_t boot_time = 6, own_clock = 64;  // clocks; the second one is the sequence's own
constexpr std::uint64_t descriptor_sequence = 1;

}  // namespace

void protobuf_message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  bytes_.push_back(static_cast<char>(value));
}

void protobuf_message::number(std::uint32_t field, std::uint64_t value) {
  varint(std::uint64_t{field} << 3U);
  varint(value);
}

void protobuf_message::fixed(std::uint32_t field, std::uint64_t value) {
  varint((std::uint64_t{field} << 3U) | 1U);
  for (int byte = 0; byte < 8; ++byte) bytes_.push_back(static_cast<char>((value >> (8U * byte)) & 0xffU));
}

void protobuf_message::bytes(std::uint32_t field, std::string_view value) {
  varint((std::uint64_t{field} << 3U) | 2U);
  varint(value.size());
  bytes_.append(value);
}

void perfetto_writer::packet() {
  trace_.message(trace_packet, packet_);
  packet_.clear();
}

/// Returns the number of the track of the process that was begun last. The numbers for different processes are far
/// apart, so that none of them is also the number of another track.
auto perfetto_writer::process_track() const noexcept -> std::uint64_t {
  return first_process_track + (processes_ > 1 ? (processes_ - 1) << 48U : 0);
}

void perfetto_writer::process(std::uint64_t pid, std::string_view name) {
  ++processes_;
  protobuf_message process;
  process.number(1, pid);
  process.bytes(6, name);
  protobuf_message descriptor;
  descriptor.number(descriptor_field::uuid, process_track());
  descriptor.message(descriptor_field::process, process);
  packet_.number(packet_field::sequence, descriptor_sequence);
  packet_.message(packet_field::descriptor, descriptor);
  packet();
}

void perfetto_writer::thread(sequence& target, std::uint64_t pid, std::uint64_t tid, std::string_view name,
                             std::uint64_t begin_ns) {
  protobuf_message thread;
  thread.number(1, pid);
  thread.number(2, tid);
  thread.bytes(5, name);
  protobuf_message descriptor;
  descriptor.number(descriptor_field::uuid, thread_track(target.id));
  descriptor.number(descriptor_field::parent, process_track());
  descriptor.message(descriptor_field::thread, thread);
  packet_.number(packet_field::sequence, descriptor_sequence);
  packet_.message(packet_field::descriptor, descriptor);
  packet();
  begin(target, thread_track(target.id), begin_ns);
}

/// Begins a sequence of packets. Its clock starts at `begin_ns`. The time of each packet is stored as the difference
/// from the time of the previous packet.
void perfetto_writer::begin(sequence& target, std::uint64_t number, std::uint64_t begin_ns) {
  protobuf_message boot;
  boot.number(1, boot_time);
  boot.number(2, begin_ns);
  protobuf_message own;
  own.number(1, own_clock);
  own.number(2, begin_ns);
  own.number(3, 1);  // is_incremental
  protobuf_message clocks;
  clocks.message(1, boot);
  clocks.message(1, own);
  protobuf_message track;
  track.number(event_field::track, number);
  protobuf_message defaults;
  defaults.number(58, own_clock);
  defaults.message(packet_field::track_event, track);
  packet_.number(packet_field::sequence, target.id);
  packet_.message(packet_field::clock_snapshot, clocks);
  packet_.message(packet_field::defaults, defaults);
  packet_.number(packet_field::sequence_flags, state_cleared);
  packet();
  target.last_ns = begin_ns;
}

void perfetto_writer::describe(std::uint64_t number, std::string_view name, protobuf_message* counter) {
  protobuf_message descriptor;
  descriptor.number(descriptor_field::uuid, number);
  descriptor.number(descriptor_field::parent, process_track());
  descriptor.bytes(descriptor_field::name, name);
  if (counter != nullptr) descriptor.message(descriptor_field::counter, *counter);
  packet_.number(packet_field::sequence, descriptor_sequence);
  packet_.message(packet_field::descriptor, descriptor);
  packet();
}

void perfetto_writer::track(std::uint64_t number, std::string_view name) { describe(number, name, nullptr); }

void perfetto_writer::counter_track(std::uint64_t number, std::string_view name) {
  protobuf_message counter;
  describe(number, name, &counter);
}

auto perfetto_writer::name(std::string text) -> std::uint32_t {
  names_.push_back(std::move(text));
  return static_cast<std::uint32_t>(names_.size());
}

void perfetto_writer::annotate(std::string_view name, std::uint64_t value) {
  part_.clear();
  part_.bytes(10, name);
  part_.number(3, value);
  event_.message(event_field::annotation, part_);
}

void perfetto_writer::event(sequence& target, std::uint64_t when_ns, const trace_event& event) {
  event_.clear();
  event_.number(event_field::type, static_cast<std::uint64_t>(event.what));
  if (event.name != 0) event_.number(event_field::name, event.name);
  if (event.track != 0) event_.number(event_field::track, event.track);
  if (event.what == trace_event::kind::counter)
    event_.number(event_field::counter, static_cast<std::uint64_t>(event.value));
  if (event.flow != 0) event_.fixed(event_field::flow, event.flow);
  if (event.flow_end != 0) event_.fixed(event_field::flow_end, event.flow_end);
  if (event.lost != 0) annotate("records", event.lost);
  if (event.due != 0) annotate("ns", event.due);

  const std::uint64_t now = std::max(when_ns, target.last_ns);
  packet_.number(packet_field::timestamp, now - std::exchange(target.last_ns, now));
  packet_.number(packet_field::sequence, target.id);
  if (event.name != 0) {
    if (target.known_names.size() <= event.name) target.known_names.resize(std::size_t{event.name} + 1);
    if (!target.known_names[event.name]) {
      target.known_names[event.name] = true;
      part_.clear();
      part_.number(1, event.name);
      part_.bytes(2, names_[event.name - 1]);
      protobuf_message interned;
      interned.message(2, part_);  // event_names
      packet_.message(packet_field::interned, interned);
    }
  }
  packet_.message(packet_field::track_event, event_);
  packet_.number(packet_field::sequence_flags, needs_state);
  packet();
}

}  // namespace braid::detail
