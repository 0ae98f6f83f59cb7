// braid/io/descriptor.hpp: an owned file descriptor.
#pragma once

#include <braid/base/config.hpp>

#include <utility>

namespace braid {

/// Closes its descriptor when it is destroyed. Threads: one at a time.
class BRAID_API descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, none)) {}
  auto operator=(descriptor&& other) noexcept -> descriptor& {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, none);
    }
    return *this;
  }
  ~descriptor() { close(); }

  [[nodiscard]] explicit operator bool() const noexcept { return number_ != none; }
  [[nodiscard]] auto number() const noexcept -> int { return number_; }

  void close() noexcept;

 private:
  static constexpr int none = -1;
  int number_ = none;
};

}  // namespace braid
