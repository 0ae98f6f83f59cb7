// rankd/server/traffic/traffic_file.cpp: encodes, writes and reads frames of recorded traffic.
#include <rankd/server/traffic/traffic_file.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/packed.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <braid/io/backend.hpp>

namespace rankd {
namespace {

constexpr std::size_t number_at = frame_head;
constexpr std::size_t plan_at = number_at + 8;
constexpr std::size_t after_plan = 12;  // bytes of the content of a request that `number_request` sets
constexpr std::size_t one_read = std::size_t{1} << 20U;

void set_number(std::span<char> bytes, std::size_t offset, std::uint64_t value, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; ++i) bytes[offset + i] = static_cast<char>(value >> (8 * i));
}

auto number_of(std::string_view bytes, std::size_t offset, std::size_t size) noexcept -> std::uint64_t {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < size; ++i) out |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  return out;
}

auto begun(frame_kind kind, std::size_t about) -> std::string {
  std::string out;
  out.reserve(frame_head + about);
  out.resize(frame_head);
  out.back() = static_cast<char>(kind);
  return out;
}

void put_texts(packed_writer out, const std::vector<recorded_text>& texts) {
  out.number(texts.size());
  for (const recorded_text& each : texts) {
    out.text(each.name);
    out.text(each.text);
  }
}

auto read_texts(packed_reader& reader) -> std::vector<recorded_text> {
  std::vector<recorded_text> out;
  for (std::size_t left = reader.count(); left > 0 && reader.is_sound(); --left) {
    std::string name(reader.text());
    out.push_back({std::move(name), std::string(reader.text())});
  }
  return out;
}

template <typename Number>
void put_optional(packed_writer out, const std::optional<Number>& value) {
  out.number(value ? 1 : 0);
  if (value) out.number(*value);
}

template <typename Number>
auto read_optional(packed_reader& reader) -> std::optional<Number> {
  if (reader.number() == 0) return std::nullopt;
  return static_cast<Number>(reader.number());
}

auto make_checksum(std::string_view frame) noexcept -> std::uint32_t {
  return crc32c(std::as_bytes(std::span(frame.substr(frame_head - 1))));
}

}  // namespace

auto encode_frame(const recorded_project& project) -> std::string {
  std::string out = begun(frame_kind::project, 0);
  packed_writer to(out);
  to.text(project.version);
  to.text(project.environment);
  put_texts(to, project.registry);
  put_texts(to, project.digests);
  to.integer(project.cursor_age.count());
  return out;
}

auto encode_frame(const recorded_plan& plan) -> std::string {
  std::string out = begun(frame_kind::plan, plan.artifact.size());
  packed_writer to(out);
  to.number(plan.number);
  to.text(plan.name);
  to.text(plan.digest);
  to.text(plan.artifact);
  put_texts(to, plan.models);
  put_optional(to, plan.max_rows);
  put_optional(to, plan.max_bytes);
  to.text(plan.experiments);
  to.integer(plan.experiments_at.count());
  put_optional(to, plan.substitute);
  return out;
}

auto encode_frame(const recorded_request& request) -> std::string {
  std::string out;
  write_frame(out, request);
  return out;
}

void write_frame(std::string& out, const recorded_request& request) {
  constexpr std::size_t small_parts = 128;
  out.reserve(frame_head + small_parts + request.text.size() + request.reads.size() + request.answer.size());
  out.assign(frame_head + after_plan, '\0');
  out[frame_head - 1] = static_cast<char>(frame_kind::request);
  packed_writer to(out);
  to.integer(request.time.count());
  to.text(request.head_id);
  to.text(request.request_id);
  to.text(request.text);
  to.text(request.code);
  to.number(request.is_timed ? 1 : 0);
  to.number(request.redacted.size());
  for (const std::string_view each : request.redacted) to.text(each);
  to.text(request.reads);
  to.text(request.answer);
  number_request(out, request.number, request.plan);
}

void number_request(std::span<char> frame, std::uint64_t number, std::uint32_t plan) noexcept {
  set_number(frame, number_at, number, 8);
  set_number(frame, plan_at, plan, 4);
}

void seal_frame(std::span<char> frame) noexcept {
  set_number(frame, 0, frame.size() - frame_head, 4);
  set_number(frame, 4, make_checksum({frame.data(), frame.size()}), 4);
}

auto read_project(std::string_view content) -> std::optional<recorded_project> {
  packed_reader in(content);
  recorded_project out;
  out.version = in.text();
  out.environment = in.text();
  out.registry = read_texts(in);
  out.digests = read_texts(in);
  out.cursor_age = std::chrono::seconds(in.integer());
  return in.is_done() ? std::optional(std::move(out)) : std::nullopt;
}

auto read_plan(std::string_view content) -> std::optional<recorded_plan> {
  packed_reader in(content);
  recorded_plan out;
  out.number = static_cast<std::uint32_t>(in.number());
  out.name = in.text();
  out.digest = in.text();
  out.artifact = in.text();
  out.models = read_texts(in);
  out.max_rows = read_optional<std::uint64_t>(in);
  out.max_bytes = read_optional<std::uint64_t>(in);
  out.experiments = in.text();
  out.experiments_at = std::chrono::seconds(in.integer());
  out.substitute = read_optional<std::uint32_t>(in);
  return in.is_done() ? std::optional(std::move(out)) : std::nullopt;
}

auto read_request(std::string_view content) -> std::optional<recorded_request> {
  if (content.size() < after_plan) return std::nullopt;
  recorded_request out;
  out.number = number_of(content, 0, 8);
  out.plan = static_cast<std::uint32_t>(number_of(content, 8, 4));
  packed_reader in(content.substr(after_plan));
  out.time = std::chrono::milliseconds(in.integer());
  out.head_id = in.text();
  out.request_id = in.text();
  out.text = in.text();
  out.code = in.text();
  out.is_timed = in.number() != 0;
  for (std::size_t left = in.count(); left > 0 && in.is_sound(); --left) out.redacted.push_back(in.text());
  out.reads = in.text();
  out.answer = in.text();
  return in.is_done() ? std::optional(std::move(out)) : std::nullopt;
}

auto traffic_reader::open(const std::filesystem::path& file) -> braid::checked<traffic_reader> {
  const auto opened = std::make_shared<braid::descriptor>(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!*opened)
    return refused("unreadable_file", "cannot be read: " + std::generic_category().message(errno), {}, file);
  auto made = read([opened](std::span<char> buffer) -> std::size_t {
    for (;;) {
      const ::ssize_t got = ::read(opened->number(), buffer.data(), buffer.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return 0;
    }
  });
  if (!made) made.error().set_source(file.string());
  return made;
}

auto traffic_reader::read(source source) -> braid::checked<traffic_reader> {
  traffic_reader made(std::move(source));
  const bool is_long = made.fill(traffic_head.size());
  const std::string_view kind = traffic_head.substr(0, traffic_head.find('1'));
  if (!is_long || made.bytes_ != traffic_head)
    return refused("not_traffic",
                   made.bytes_.starts_with(kind) ? "was recorded in a version of the format that this rankd cannot read"
                                                 : "is not recorded traffic",
                   "use a file that `rankd serve --record` has written");
  made.position_ = traffic_head.size();
  return made;
}

/// Reads until the buffer contains `bytes` bytes. Returns false if the file ends before that. Reads in pieces, so that
/// a damaged length in a frame cannot cause an allocation that is larger than the file.
auto traffic_reader::fill(std::size_t bytes) -> bool {
  while (bytes_.size() < bytes) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + std::min(bytes - before, one_read));
    const std::size_t got = source_(std::span(bytes_).subspan(before));
    bytes_.resize(before + got);
    if (got == 0) return false;
  }
  return true;
}

auto traffic_reader::next() -> std::optional<frame> {
  if (end_ != end::whole) return std::nullopt;
  bytes_.clear();
  if (!fill(frame_head)) {
    if (!bytes_.empty()) end_ = end::torn;
    return std::nullopt;
  }
  const std::uint64_t size = number_of(bytes_, 0, 4);
  if (size > max_frame) {
    end_ = end::damaged;
    return std::nullopt;
  }
  if (!fill(frame_head + size)) {
    end_ = end::torn;
    return std::nullopt;
  }
  if (number_of(bytes_, 4, 4) != make_checksum(bytes_)) {
    end_ = end::damaged;
    return std::nullopt;
  }
  position_ += bytes_.size();
  return frame{static_cast<frame_kind>(bytes_[frame_head - 1]), std::string_view(bytes_).substr(frame_head)};
}

auto not_traffic(std::string message) -> std::unexpected<braid::diagnostics> {
  return refused("not_traffic", std::move(message), "use a file that `rankd serve --record` has written");
}

}  // namespace rankd
