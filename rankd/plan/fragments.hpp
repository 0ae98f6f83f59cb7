// rankd/plan/fragments.hpp: states which nodes of a plan come from fragments. A fragment is a reusable part of plans
// with a version and arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The capability that a plan must require to declare which of its nodes come from fragments.
inline constexpr std::string_view fragment_capability = "cap.rfc.0002.fragments.v1";

inline constexpr std::size_t max_fragment_nesting = 8;

/// A use of a fragment in a plan. Its nodes are normal nodes of the plan with names of the form ID__NAME.
struct fragment_use {
  std::string id;
  std::string fragment;
  std::string version;               ///< such as "2.1.0"
  std::string sha256;                ///< digest of the sources of the fragment
  std::vector<std::uint32_t> nodes;  ///< positions in `plan::nodes`, including the nodes of uses inside this one
  std::uint32_t result = 0;          ///< the node whose rows are the result of the use
};

/// Returns the name and the version of the fragment, such as "recall 2.1.0".
[[nodiscard]] auto make_title(const fragment_use& use) -> std::string;

}  // namespace rankd
