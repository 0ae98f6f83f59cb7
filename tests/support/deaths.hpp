// tests/support/deaths.hpp: counts the ends of objects, and remembers the thread of the last one.
#pragma once

#include <thread>
#include <utility>

namespace braid::testing {

struct deaths {
  int count = 0;
  std::thread::id last_on;
};

/// Counted when it is destroyed; what it was moved from is not.
class mortal {
 public:
  explicit mortal(deaths& in) noexcept : in_(&in) {}
  mortal(mortal&& other) noexcept : in_(std::exchange(other.in_, nullptr)) {}
  auto operator=(mortal&&) -> mortal& = delete;
  ~mortal() {
    if (in_ == nullptr) return;
    ++in_->count;
    in_->last_on = std::this_thread::get_id();
  }

 private:
  deaths* in_;
};

}  // namespace braid::testing
