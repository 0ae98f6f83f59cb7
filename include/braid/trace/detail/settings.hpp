// braid/trace/detail/settings.hpp: parses the variable BRAID_TRACE.
#pragma once

#include <braid/base/config.hpp>
#include <braid/trace/detail/hooks.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace braid::detail {

/// The settings of a trace: its destination, its maximum size in the file or in memory, and its content.
struct trace_settings {
  std::string file;
  std::uint64_t max_bytes = std::uint64_t{256} << 20U;
  std::uint8_t groups = 0xff;  ///< bits of trace_group
  std::uint64_t last_ns = 0;   ///< the time that is kept in memory until a request; 0: records are written at once
  bool at_signal = false;      ///< SIGUSR2 requests the file
  bool recovers = false;       ///< rings are stored in FILE.rings, from which a trace can be completed

  [[nodiscard]] auto wants(trace_group group) const noexcept -> bool {
    return (groups & static_cast<std::uint8_t>(group)) != 0;
  }
};

/// Parses FILE[,mb=N][,what=jobs+tasks+io+nodes][,recover | ,last=8s[,on=signal]]. Errors: returns a message.
[[nodiscard]] BRAID_API auto parse_trace_settings(std::string_view text) -> std::expected<trace_settings, std::string>;

}  // namespace braid::detail
