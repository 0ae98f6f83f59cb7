// braid/base/arena.hpp: an arena: a memory resource whose allocations are all freed at once.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

namespace braid {

/// A bump allocator. An allocation moves a pointer, and no memory is freed before the arena is reset or destroyed.
/// Destructors of objects in the arena are never called. The arena is also a std::pmr::memory_resource, so that
/// standard containers can use it.
/// Threads: one at a time. Errors: std::bad_alloc.
/// Cost: about 2 ns for an allocation. Occasionally an allocation gets a new chunk from operator new or from the
/// upstream resource.
class BRAID_API arena final : public std::pmr::memory_resource {
 public:
  /// Constructs an arena. `first_chunk` is the size of the first chunk in bytes; later chunks double up to 1 MiB.
  /// Chunks are allocated from the memory resource `chunks_from`, or by operator new if `chunks_from` is null, and are
  /// freed in the same way. `chunks_from` must outlive the arena.
  explicit arena(std::size_t first_chunk = 4096, std::pmr::memory_resource* chunks_from = nullptr) noexcept
      : next_chunk_(first_chunk), chunks_from_(chunks_from) {}
  arena(arena&& other) noexcept;
  auto operator=(arena&&) -> arena& = delete;
  ~arena() override { reset(); }

  /// Returns uninitialized bytes, aligned to `alignment`.
  [[nodiscard]] auto bytes(std::size_t size, std::size_t alignment) -> void* {
    void* place = cursor_;
    std::size_t space = static_cast<std::size_t>(limit_ - cursor_);
    if (std::align(alignment, size, place, space) == nullptr) return grow(size, alignment);
    cursor_ = static_cast<std::byte*>(place) + size;
    return place;
  }

  /// Returns memory for `count` uninitialized elements.
  template <typename T>
    requires std::is_trivially_destructible_v<T>
  [[nodiscard]] auto uninitialized(std::size_t count) -> std::span<T> {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return {static_cast<T*>(bytes(count * sizeof(T), alignof(T))), count};
  }

  /// Returns `count` copies of `value`.
  template <typename T>
    requires std::is_trivially_destructible_v<T>
  [[nodiscard]] auto filled(std::size_t count, const T& value) -> std::span<T> {
    const std::span<T> out = uninitialized<T>(count);
    std::uninitialized_fill_n(out.data(), count, value);
    return out;
  }

  /// Returns a copy of `source`.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  [[nodiscard]] auto copied(std::span<const T> source) -> std::span<T> {
    const std::span<T> out = uninitialized<T>(source.size());
    std::uninitialized_copy_n(source.data(), source.size(), out.data());
    return out;
  }

  /// Returns a copy of `text`.
  [[nodiscard]] auto copied(std::string_view text) -> std::string_view {
    const std::span<char> out = copied(std::span<const char>(text.data(), text.size()));
    return {out.data(), out.size()};
  }

  /// Constructs an object in the arena from `args`.
  template <typename T, typename... Args>
    requires std::is_trivially_destructible_v<T>
  [[nodiscard]] auto make(Args&&... args) -> T* {
    return std::construct_at(static_cast<T*>(bytes(sizeof(T), alignof(T))), static_cast<Args&&>(args)...);
  }

  /// Frees all memory of the arena at once.
  void reset() noexcept;

  /// Returns the number of bytes in all chunks.
  [[nodiscard]] auto reserved() const noexcept -> std::size_t { return reserved_; }

  /// Returns the number of bytes that were allocated or wasted at the ends of chunks. A first chunk of this size would
  /// have been sufficient.
  [[nodiscard]] auto used() const noexcept -> std::size_t {
    return reserved_ - static_cast<std::size_t>(limit_ - cursor_);
  }

 private:
  struct chunk {
    chunk* next;
    std::size_t size;
  };

  auto grow(std::size_t size, std::size_t alignment) -> void*;

  auto do_allocate(std::size_t size, std::size_t alignment) -> void* override { return bytes(size, alignment); }
  void do_deallocate(void* /*place*/, std::size_t /*size*/, std::size_t /*alignment*/) override {}
  [[nodiscard]] auto do_is_equal(const memory_resource& other) const noexcept -> bool override {
    return this == &other;
  }

  std::byte* cursor_ = nullptr;
  std::byte* limit_ = nullptr;
  chunk* chunks_ = nullptr;
  std::size_t next_chunk_;
  std::size_t reserved_ = 0;
  std::pmr::memory_resource* chunks_from_;  ///< null: operator new
};

}  // namespace braid
