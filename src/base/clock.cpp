// src/base/clock.cpp: the system's monotonic clock.
#include <braid/base/clock.hpp>

namespace braid {
namespace {

class steady_source final : public clock_source {
 public:
  [[nodiscard]] auto now() const noexcept -> time_point override {
    return std::chrono::time_point_cast<duration>(std::chrono::steady_clock::now());
  }
};

}  // namespace

clock_source::~clock_source() = default;

auto steady_time() noexcept -> const clock_source& {
  static const steady_source source;
  return source;
}

namespace {

/// When the library is loaded: the child of a fork waits for nobody who makes it.
[[maybe_unused]] const clock_source& made_early = steady_time();

}  // namespace

}  // namespace braid
