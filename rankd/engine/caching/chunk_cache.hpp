// rankd/engine/caching/chunk_cache.hpp: caches the memory of finished requests for later requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <mutex>

namespace rankd {

/// Caches the chunks that arenas release, so that a typical request needs no allocation from the heap. Sizes are
/// rounded up by at most a quarter, so that a chunk can serve requests of similar sizes. A released chunk is freed if
/// free chunks and chunks in use would together exceed `max_bytes`, or twice the recent peak of the bytes in use. So
/// memory that was needed only during a burst is freed after the burst.
/// Threads: any. Cost: a lock that is held for a short time. Lifetime: must outlive the chunks that it has returned.
class chunk_cache final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t usual_max_bytes = std::size_t{64} << 20U;
  /// The length of a period, as a number of released chunks. The recent peak is the maximum of the current and the
  /// previous period.
  static constexpr std::uint32_t period = 1024;
  /// Chunks larger than this are allocated from the heap and freed at once.
  static constexpr std::size_t largest_chunk = std::size_t{64} << 20U;

  explicit chunk_cache(std::size_t max_bytes = usual_max_bytes) noexcept : max_bytes_(max_bytes) {}
  chunk_cache(const chunk_cache&) = delete;
  auto operator=(const chunk_cache&) -> chunk_cache& = delete;
  ~chunk_cache() override;

  /// Returns the number of bytes in free chunks.
  [[nodiscard]] auto kept() const -> std::size_t;

 private:
  struct free_chunk {
    free_chunk* next;
  };
  static constexpr std::size_t classes = 65;  // 1 KiB, and four sizes for each doubling up to the largest

  auto do_allocate(std::size_t size, std::size_t alignment) -> void* override;
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override;
  [[nodiscard]] auto do_is_equal(const memory_resource& other) const noexcept -> bool override {
    return this == &other;
  }

  void note_in_use() noexcept;
  auto trimmed() noexcept -> free_chunk*;

  mutable std::mutex mutex_;
  std::array<free_chunk*, classes> free_{};  // this member and all members below are guarded by the mutex
  std::size_t kept_ = 0;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;       // the maximum of the bytes in use in this period
  std::size_t last_peak_ = 0;  // the same in the previous period
  std::uint32_t returns_ = 0;  // chunks that were returned in this period
  std::size_t max_bytes_;
};

}  // namespace rankd
