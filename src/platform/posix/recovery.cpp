// src/platform/posix/recovery.cpp: reads the ring file of a killed process, and encodes the records that are missing in
// its trace.
#include <braid/trace/detail/recovery.hpp>

#include "../../trace/encoder.hpp"
#include "../../trace/ring_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace braid::detail {
namespace {

constexpr std::uint64_t max_open = thread_ring::capacity;  // each open slice reserves a record for its end
constexpr std::uint32_t max_sequence = 0x6fff'ffff;        // higher numbers belong to `braid-doctor trace --tracks`

template <std::size_t Size>
auto text_of(const std::array<char, Size>& text) -> std::string {
  return {text.begin(), std::ranges::find(text, '\0')};
}

template <typename Names>
auto find_name(const Names& names, std::uint64_t key) -> std::string {
  for (const auto& each : names)
    // edge ring_file.name: observe, a name whose key is set is complete
    if (each.key.load(acquire) == key) return text_of(each.text);
  return {};
}

auto find_objects(const ring_file_head& head, left_rings::text_fn text) -> std::vector<symbol_table::loaded> {
  std::vector<symbol_table::loaded> all;
  for (const kept_object& each : head.objects)
    // edge ring_file.name: observe, an object whose end is set is complete
    if (const std::uint64_t end = each.end.load(acquire); end != 0)
      all.push_back({.path = text(text_of(each.path)), .base = each.base, .begin = each.begin, .end = end});
  return all;
}

/// Returns the conversion of ticks to nanoseconds, or nothing if the stored conversion is invalid. If the process has
/// not stored a conversion, measures the clock of this machine. That is the clock of the process, unless the file was
/// copied from another machine.
auto format_line(const ring_file_head& head) -> std::optional<tick_line> {
  constexpr double max_ns_per_tick = 100;  // a time of 56 bits stays below 2^63 nanoseconds
  double speed = head.ns_per_tick;
  if (speed == 0) {  // the process was killed in its first milliseconds
    const trace_clock clock;
    tick_line here(clock);
    here.measure(clock);
    speed = here.ns_per_tick();
  }
  if (!std::isfinite(speed) || speed <= 0 || speed > max_ns_per_tick) return {};
  return tick_line(head.first_ticks, head.first_ns, speed);
}

}  // namespace

/// A private copy of the ring file in memory. Later changes by other processes are not visible.
class left_rings::image {
 public:
  image(void* place, std::size_t size) noexcept : place_(static_cast<const std::byte*>(place)), size_(size) {}
  image(const image&) = delete;
  auto operator=(const image&) -> image& = delete;
  ~image() { ::munmap(const_cast<std::byte*>(place_), size_); }

  [[nodiscard]] auto head() const noexcept -> const ring_file_head& {
    return *reinterpret_cast<const ring_file_head*>(place_);
  }
  /// Returns the number of rings that the file contains completely.
  [[nodiscard]] auto rings() const noexcept -> std::size_t {
    return (size_ - ring_file_layout::head) / ring_file_layout::ring;
  }
  [[nodiscard]] auto ring(std::size_t number) const noexcept -> const thread_ring& {
    return *reinterpret_cast<const thread_ring*>(place_ + ring_file_layout::head + number * ring_file_layout::ring);
  }

 private:
  const std::byte* place_;
  std::size_t size_;
};

left_rings::left_rings(std::unique_ptr<const image> file) noexcept : image_(std::move(file)) {}
left_rings::left_rings(left_rings&& other) noexcept = default;
left_rings::~left_rings() = default;

auto left_rings::read(const std::string& path) -> std::expected<left_rings, std::string> {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return std::unexpected(path + " cannot be read: " + std::strerror(errno));
  struct stat status{};
  const bool is_file = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const place =
      is_file && size >= ring_file_layout::head ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  ::close(file);
  if (place == MAP_FAILED) return std::unexpected(path + " is not a ring file: it is too short");
  left_rings made(std::make_unique<const image>(place, size));
  const ring_file_head& head = made.image_->head();
  if (head.magic != ring_file_head::its_magic) return std::unexpected(path + " is not a ring file");
  if (head.version != ring_file_head::its_version || head.ring_bytes != sizeof(thread_ring))
    return std::unexpected(path + " was written by another version of braid: use the braid-doctor of that version");
  if (!format_line(head)) return std::unexpected(path + " is damaged: the speed of its clock is impossible");
  return made;
}

auto left_rings::trace_bytes() const noexcept -> std::uint64_t {
  const ring_file_head& head = image_->head();
  // edge ring_file.commit: observe, the states of all rings match this number of bytes
  return head.file_bytes[head.commit.load(acquire) % 2];
}

auto left_rings::first_packet() const -> std::string {
  perfetto_writer out;
  out.process(image_->head().process, text_of(image_->head().process_name));
  return out.bytes();
}

namespace {

/// The ring of a thread, and the part of its records that the trace already contains.
struct left_thread {
  const thread_ring* ring = nullptr;
  ring_state known;
  std::vector<trace_record> records = {};
  std::uint64_t missing = 0;  // the number of overwritten records
  trace_encoder::thread out = {};
};

auto find_thread(const thread_ring& ring, std::size_t state) -> left_thread {
  left_thread made{.ring = &ring, .known = ring.states[state]};
  made.known.sequence = std::min(made.known.sequence, max_sequence);
  made.known.open = std::min(made.known.open, max_open);
  made.known.hidden = std::min(made.known.hidden, max_open);
  made.missing = ring.records.copy_from(made.known.read, made.records);
  const std::uint64_t lost = ring.records.lost();
  made.missing += lost - std::min(lost, made.known.lost);
  return made;
}

/// Returns the latest time of the records in the rings and in the trace.
auto last_time(const std::vector<left_thread>& threads, const tick_line& line) -> std::uint64_t {
  std::uint64_t last = 0;
  for (const left_thread& each : threads) last = std::max(last, each.known.last_ns);
  for (const left_thread& each : threads)
    if (!each.records.empty()) last = std::max(last, line.nanoseconds(each.records.back().when_kind >> 8U));
  return last;
}

void encode(trace_encoder& encoder, left_thread& thread, left_rings::text_fn text) {
  for (const trace_record& each : thread.records) {
    if (!thread.out.has_begun())
      encoder.begin(thread.out, thread.ring->thread, text(text_of(thread.ring->name)), each.when_kind >> 8U);
    encoder.add(thread.out, each);
  }
  encoder.lost(thread.out, thread.missing);
}

}  // namespace

auto left_rings::rest(const std::unordered_map<std::uint64_t, std::int64_t>& open_states, text_fn text) const
    -> recovered_part {
  recovered_part made;
  const ring_file_head& head = image_->head();
  const std::size_t state = head.commit.load(acquire) % 2;  // edge ring_file.commit: observe, as for the bytes
  const std::optional<tick_line> line = format_line(head);
  if (!line) return made;
  std::vector<left_thread> threads;
  for (std::size_t number = 0; number < image_->rings(); ++number)
    // edge ring_file.name: observe, a ring that is open is complete
    if (image_->ring(number).is_open.load(acquire) == 1) threads.push_back(find_thread(image_->ring(number), state));

  symbol_table symbols(find_objects(head, text));
  const auto text_at = [&](std::uint64_t address) {
    const std::string name = find_name(head.names, address);
    return text(!name.empty() ? name : symbols.literal(address));
  };
  trace_encoder out({.file = "what the rings have",
                     .max_bytes = ~std::uint64_t{0},
                     .write =
                         [&made](std::string_view bytes) {
                           made.bytes += bytes;
                           return true;
                         },
                     .take_name = [&head, text](std::uint64_t task) { return text(find_name(head.tasks, task)); },
                     .process_name = text(text_of(head.process_name)),
                     .of = left_process{.id = head.process, .text_at = text_at, .open_states = open_states}},
                    *line, symbols);
  const std::uint64_t end = last_time(threads, *line);
  for (left_thread& each : threads)
    if (each.known.sequence != 0) out.go_on(each.out, each.known);
  for (left_thread& each : threads) {
    encode(out, each, text);
    made.records += each.records.size();
    made.lost += each.missing;
    made.threads += each.records.empty() ? 0 : 1;
  }
  left_thread* any = nullptr;
  for (left_thread& each : threads) {
    if (!each.out.has_begun()) continue;
    out.end(each.out, std::max(end, each.out.sequence.last_ns));
    any = &each;
  }
  if (any != nullptr) out.end_tasks(any->out, std::max(end, any->out.sequence.last_ns));
  out.flush();
  return made;
}

}  // namespace braid::detail
