// braid/task/parallel_options.hpp: what the parallel algorithms may be told.
#pragma once

#include <cstddef>

namespace braid {

struct parallel_options {
  /// So many elements are dealt with one after the other without a look at who else could; 0: by their number, at most
  /// 512. Worth setting to 1 where elements take long and differ much.
  std::size_t grain = 0;
};

}  // namespace braid
