// rankd/server/traffic/traffic_file.hpp: the format of recorded traffic: a file header, followed by frames, each with a
// checksum.
#pragma once

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

// The file format. A file begins with `traffic_head`, which contains the version of the format. The other bytes of the
// file are frames. A frame begins with the length of its content and the CRC-32C of its kind and content. Both have 4
// bytes, the lowest byte first. The next byte is the kind of the frame. The rest is the content, written by
// packed_writer. If a crash has cut off the last frame, that frame is ignored.

inline constexpr std::string_view traffic_head = "rankd traffic 1\n";
inline constexpr std::size_t frame_head = 9;
inline constexpr std::size_t max_frame = std::size_t{64} << 20U;

/// The kinds of frames. The numbers are part of the file format, so they must not change. Readers skip unknown kinds.
enum class frame_kind : std::uint8_t { project = 1, plan = 2, request = 3 };

/// A named text: a file of a project, or a model.
struct recorded_text {
  std::string name;
  std::string text;
};

/// The project to which all recorded plans were bound.
struct recorded_project {
  std::string version;  ///< the version of the program that recorded the traffic
  std::string environment;
  std::vector<recorded_text> registry;  ///< the files in the folder of registries
  std::vector<recorded_text> digests;   ///< the digests of the registries, by the names of the registries
  std::chrono::seconds cursor_age{0};   ///< the maximum age of page cursors; 0: plans have no pages
};

/// One version of a plan, with all files from which it was made.
struct recorded_plan {
  std::uint32_t number = 0;  ///< the number in the file, from 1
  std::string name;
  std::string digest;
  std::string artifact;
  std::vector<recorded_text> models;
  std::optional<std::uint64_t> max_rows;         ///< the limit in the plan's budget
  std::optional<std::uint64_t> max_bytes;        ///< the limit in the plan's budget
  std::string experiments;                       ///< experiments.toml; empty: no experiment runs for the plan
  std::chrono::seconds experiments_at{0};        ///< the time for which the experiments were looked up, since 1970
  std::optional<std::uint32_t> substitute = {};  ///< the number of the plan's fallback plan
};

/// One request that was ranked. Lifetime: the bytes to which its texts refer outlive it.
struct recorded_request {
  std::uint64_t number = 0;  ///< from 0, including lost requests
  std::uint32_t plan = 0;    ///< the number of the `recorded_plan`
  std::chrono::milliseconds time{0};
  /// The X-Request-Id, followed by the position if the request is from a batch. Empty if the request had no such field.
  std::string_view head_id;
  std::string_view request_id;
  std::string_view text;  ///< the bytes of the request, or the part that may be shown if it is redacted
  std::string_view code;  ///< `ok`, or the code of the error
  bool is_timed = false;  ///< whether the answer says that time ran out
  std::vector<std::string_view> redacted = {};  ///< redacted names; if there are any, `reads` and `answer` are empty
  std::string_view reads;                       ///< in the format that `read_recorder` returns
  std::string_view answer;                      ///< one line of JSON, without an explanation
};

/// The functions `encode_frame` return a frame without its checksum, which `seal_frame` adds. `number_request` sets the
/// numbers of a request and its plan.
[[nodiscard]] auto encode_frame(const recorded_project& project) -> std::string;
[[nodiscard]] auto encode_frame(const recorded_plan& plan) -> std::string;
[[nodiscard]] auto encode_frame(const recorded_request& request) -> std::string;
/// Writes the frame of a request, without its checksum, to `out`. Replaces the previous contents of `out`.
void write_frame(std::string& out, const recorded_request& request);
void number_request(std::span<char> frame, std::uint64_t number, std::uint32_t plan) noexcept;
void seal_frame(std::span<char> frame) noexcept;

/// These functions parse the content of a frame. They return nothing if the bytes are not the content of a frame of
/// this kind.
[[nodiscard]] auto read_project(std::string_view content) -> std::optional<recorded_project>;
[[nodiscard]] auto read_plan(std::string_view content) -> std::optional<recorded_plan>;
[[nodiscard]] auto read_request(std::string_view content) -> std::optional<recorded_request>;

/// Reads the frames of a file in order, up to its end or to the first damaged or partial frame.
class traffic_reader {
 public:
  struct frame {
    frame_kind kind{};
    std::string_view content;  ///< valid until the next frame is read
  };
  /// The way in which a file ends.
  enum class end : std::uint8_t {
    whole,    ///< the file ends after a frame
    torn,     ///< the file ends within a frame: the program was killed, or is still writing
    damaged,  ///< the file ends at a frame with a wrong checksum
  };
  /// A function that fills the beginning of a buffer and returns the number of filled bytes. It returns 0 at the end.
  using source = std::function<std::size_t(std::span<char> buffer)>;

  /// Opens a file. Errors: unreadable_file; not_traffic for a file that is not recorded traffic, or has another version
  /// of the format.
  static auto open(const std::filesystem::path& file) -> braid::checked<traffic_reader>;
  /// Reads recorded traffic from any source of bytes. Errors: not_traffic.
  static auto read(source source) -> braid::checked<traffic_reader>;

  /// Returns the next frame, or nothing at the end. Blocks: on the disk.
  auto next() -> std::optional<frame>;

  /// Returns how the file ends. Requires that `next` has returned nothing.
  [[nodiscard]] auto how_it_ends() const noexcept -> end { return end_; }
  /// Returns the number of bytes that were read: those of the file header and of all frames so far.
  [[nodiscard]] auto position() const noexcept -> std::uint64_t { return position_; }

 private:
  explicit traffic_reader(source source) : source_(std::move(source)) {}
  auto fill(std::size_t bytes) -> bool;

  source source_;
  std::string bytes_;  // the bytes of the current frame
  std::uint64_t position_ = 0;
  end end_ = end::whole;
};

/// Returns the error for a file that is not recorded traffic, or is damaged.
auto not_traffic(std::string message) -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
