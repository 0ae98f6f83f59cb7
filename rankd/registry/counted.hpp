// rankd/registry/counted.hpp: the library's `counted`, for messages of rankd.
#pragma once

#include <braid/base/detail/counted.hpp>

namespace rankd {

using braid::detail::counted;

}  // namespace rankd
