// braid/trace/detail/recovery.hpp: reads the ring file of a killed process, to recover records that are missing in its
// trace.
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

/// A missing part of a trace.
struct recovered_part {
  std::string bytes;          ///< packets that continue the packets of the trace
  std::uint64_t records = 0;  ///< the number of records in these packets
  std::uint64_t lost = 0;     ///< the number of records that were lost
  std::size_t threads = 0;    ///< the number of threads to which these records belong
};

/// The content of FILE.rings as a process has left it. The bytes may be damaged: they are then either refused with a
/// message or converted to a trace.
/// Threads: one at a time. Protocol: docs/design/trace.md
class BRAID_API left_rings {
 public:
  /// Reads the file. Errors: returns a message.
  [[nodiscard]] static auto read(const std::string& path) -> std::expected<left_rings, std::string>;
  left_rings(left_rings&& other) noexcept;
  auto operator=(left_rings&&) -> left_rings& = delete;
  ~left_rings();

  /// Returns the length of the valid part at the start of the trace file. The rings contain all records that belong
  /// after this part.
  [[nodiscard]] auto trace_bytes() const noexcept -> std::uint64_t;

  /// Returns the first packet of the trace.
  [[nodiscard]] auto first_packet() const -> std::string;

  /// A function that converts any bytes to UTF-8.
  using text_fn = std::string (*)(std::string_view bytes);

  /// Returns the missing end of the trace. `open_states` contains the task states that have begun and not ended in the
  /// existing part of the trace. The returned part ends these states at the time of the last record. Names are
  /// converted by the function `text`.
  /// Errors: std::bad_alloc.
  [[nodiscard]] auto rest(const std::unordered_map<std::uint64_t, std::int64_t>& open_states, text_fn text) const
      -> recovered_part;

 private:
  class image;
  explicit left_rings(std::unique_ptr<const image> content) noexcept;

  std::unique_ptr<const image> image_;
};

}  // namespace braid::detail
