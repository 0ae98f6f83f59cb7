// tests/rankd/store/aligned_bytes.hpp: bytes that begin where a file that is mapped would.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace rankd::testing {

/// A copy of bytes, aligned to 64.
class aligned_bytes {
 public:
  explicit aligned_bytes(std::string_view from)
      : size_(from.size()), bytes_(static_cast<std::byte*>(::operator new(from.size() + 1, alignment))) {
    if (!from.empty()) std::memcpy(bytes_.get(), from.data(), from.size());
  }
  [[nodiscard]] auto view() const -> std::span<const std::byte> { return {bytes_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct release {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, alignment); }
  };

  std::size_t size_;
  std::unique_ptr<std::byte, release> bytes_;
};

}  // namespace rankd::testing
