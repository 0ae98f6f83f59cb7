// src/base/build_match.cpp: defines symbols whose names encode the build options, so that a mismatched program does not
// link.
#include <braid/base/config.hpp>

namespace braid::detail {

const char BRAID_BUILD_CONTAINERS = 0;
const char BRAID_BUILD_ADDRESS = 0;
const char BRAID_BUILD_THREAD = 0;

}  // namespace braid::detail
