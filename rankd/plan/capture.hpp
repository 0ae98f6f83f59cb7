// rankd/plan/capture.hpp: states which rows of a node are captured. A plan can set this by an option of the node, and a
// request can set it, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The capability that a plan requires if one of its nodes captures rows.
inline constexpr std::string_view capture_capability = "cap.rfc.0010.capture.v1";

inline constexpr std::size_t default_captured_rows = 500;
inline constexpr std::size_t max_captured_rows = 10'000;  ///< for one node, and for one request in total

/// The rows that are captured at a node.
enum class capture_side : std::uint8_t {
  out,   ///< the output rows of the node
  in,    ///< the input rows of the node, for each source
  both,  ///< the output rows, then the input rows
};
inline constexpr std::array<std::string_view, 3> capture_side_names{"out", "in", "both"};

/// The rows and columns to capture at a node.
struct row_capture {
  std::optional<std::vector<std::uint32_t>> key_ids;  ///< nothing: all columns that answers may show
  std::size_t max_rows = default_captured_rows;       ///< for each row set; further rows are counted and left out
  capture_side side = capture_side::out;
};

/// The option of a node that captures rows for a share of the requests.
struct node_capture {
  row_capture what;
  double sample = 1;
  std::string pointer;
};

}  // namespace rankd
