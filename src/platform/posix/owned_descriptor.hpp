// src/platform/posix/owned_descriptor.hpp: declares an owner of a file descriptor.
#pragma once

#include <utility>

#include <unistd.h>

namespace braid::detail {

/// A file descriptor. The destructor closes it. A negative number stands for a file that could not be opened.
class owned_descriptor {
 public:
  explicit owned_descriptor(int number) noexcept : number_(number) {}
  owned_descriptor(owned_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  auto operator=(owned_descriptor&&) -> owned_descriptor& = delete;
  ~owned_descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] auto number() const noexcept -> int { return number_; }
  [[nodiscard]] auto is_open() const noexcept -> bool { return number_ >= 0; }

 private:
  int number_;
};

}  // namespace braid::detail
