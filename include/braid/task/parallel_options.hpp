// braid/task/parallel_options.hpp: options of the parallel algorithms.
#pragma once

#include <cstddef>

namespace braid {

/// How a parallel algorithm divides its elements.
struct parallel_options {
  /// Grain: so many elements are handled one after the other before a check for idle workers; 0: by their number, at
  /// most 512. Worth setting to 1 where elements take long and differ much.
  std::size_t grain = 0;
};

}  // namespace braid
