// rankd/registry/counted.hpp: makes braid's function `counted` ("1 row", "2 rows") available for messages of rankd.
#pragma once

#include <braid/base/detail/counted.hpp>

namespace rankd {

using braid::detail::counted;

}  // namespace rankd
