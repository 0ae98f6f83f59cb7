// braid/trace/detail/recovery.hpp: what a killed process had noted and not written, from the file of its rings.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace braid::detail {

/// A part that completes a trace.
struct recovered_part {
  std::string bytes;          ///< packets that follow on those that the trace has
  std::uint64_t records = 0;  ///< that are in them
  std::uint64_t lost = 0;     ///< records that are in neither
  std::size_t threads = 0;    ///< that have noted something since
};

/// FILE.rings as a process has left it. Whatever its bytes are, they are refused or make a trace.
/// Threads: one. Protocol: docs/design/trace.md
class BRAID_API left_rings {
 public:
  /// Errors: a sentence.
  [[nodiscard]] static auto read(const std::string& path) -> std::expected<left_rings, std::string>;
  left_rings(left_rings&& other) noexcept;
  auto operator=(left_rings&&) -> left_rings& = delete;
  ~left_rings();

  /// Returns the number of bytes of the trace that are not in the rings any more. Everything after them is in the rings
  /// as well.
  [[nodiscard]] auto trace_bytes() const noexcept -> std::uint64_t;

  /// Returns the first packet of the trace.
  [[nodiscard]] auto first_packet() const -> std::string;

  /// Converts any bytes to UTF-8.
  using text_fn = std::string (*)(std::string_view bytes);

  /// Returns the rest of the trace. `open_states` names the states on the tracks of tasks in the trace that have no end
  /// yet. Open states end with the last record. Names become `text`.
  /// Errors: std::bad_alloc.
  [[nodiscard]] auto rest(const std::unordered_map<std::uint64_t, std::int64_t>& open_states, text_fn text) const
      -> recovered_part;

 private:
  class image;
  explicit left_rings(std::unique_ptr<const image> of) noexcept;

  std::unique_ptr<const image> image_;
};

}  // namespace braid::detail
