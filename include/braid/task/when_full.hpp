// braid/task/when_full.hpp: what happens to one more job where there is no room.
#pragma once

#include <cstdint>

namespace braid {

/// What becomes of a job for which a `bounded_executor`, or the ring of a `job_slab`, has no room.
enum class when_full : std::uint8_t {
  refuse,      ///< it fails with errc::full
  run_inline,  ///< the caller runs it, at once
  wait,        ///< the caller blocks until there is room; not for job slabs
};

}  // namespace braid
