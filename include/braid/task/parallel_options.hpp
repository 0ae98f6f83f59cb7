// braid/task/parallel_options.hpp: options of the parallel algorithms.
#pragma once

#include <cstddef>

namespace braid {

/// How a parallel algorithm divides its elements.
struct parallel_options {
  /// The grain: the number of elements that are processed in sequence before a check for idle workers; 0 chooses by
  /// their number, at most 512. Set it to 1 if elements take long and differ much.
  std::size_t grain = 0;
};

}  // namespace braid
