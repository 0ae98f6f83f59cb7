// braid/task/parallel_options.hpp: options of the parallel algorithms.
#pragma once

#include <cstddef>

namespace braid {

/// Options that determine how a parallel algorithm divides its elements.
struct parallel_options {
  /// The number of elements that are processed in sequence before a check for idle workers. 0 means a default that
  /// depends on the number of elements, at most 512. Set it to 1 if each element takes a long time and these times
  /// differ widely.
  std::size_t grain = 0;
};

}  // namespace braid
