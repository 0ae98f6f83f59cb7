// src/base/build_match.cpp: the names of the build that the library is.
#include <braid/base/config.hpp>

namespace braid::detail {

const char BRAID_BUILD_CONTAINERS = 0;
const char BRAID_BUILD_ADDRESS = 0;
const char BRAID_BUILD_THREAD = 0;

}  // namespace braid::detail
