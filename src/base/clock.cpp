// src/base/clock.cpp: implements the default clock source, which reads the system's monotonic clock.
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
  static const clock_source& source = *new steady_source;  // never destroyed: loops may run until the exit
  return source;
}

namespace {

/// Constructs the clock when the library is loaded. If a thread constructed it during a fork, the guard of this static
/// object would stay locked in the child.
[[maybe_unused]] const clock_source& clock_made_early = steady_time();

}  // namespace

}  // namespace braid
