// rankd/engine/caching/chunk_cache.cpp: keeps a free list of chunks for each size class.
#include <rankd/engine/caching/chunk_cache.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace rankd {
namespace {

constexpr std::size_t smallest_chunk = 1024;

struct size_class {
  std::size_t number;
  std::size_t bytes;
};

/// Returns the size class for a chunk of at least `size` bytes. All sizes of a class have the same three highest bits.
constexpr auto class_of(std::size_t size) noexcept -> size_class {
  if (size <= smallest_chunk) return {0, smallest_chunk};
  const std::size_t last = size - 1;
  const auto width = static_cast<std::size_t>(std::bit_width(last));
  const std::size_t high = last >> (width - 3);  // 4 to 7
  constexpr std::size_t first_width = 11;        // of 1024
  return {(width - first_width) * 4 + (high - 4) + 1, (high + 1) << (width - 3)};
}
static_assert(class_of(1024).number == 0 && class_of(1025).number == 1 && class_of(1025).bytes == 1280);
static_assert(class_of(2048).number == 4 && class_of(2048).bytes == 2048 && class_of(2049).bytes == 2560);
static_assert(class_of(chunk_cache::largest_chunk).number == 64);

/// Returns the size of the chunks of a class in bytes.
constexpr auto bytes_of(std::size_t number) noexcept -> std::size_t {
  if (number == 0) return smallest_chunk;
  return ((5 + (number - 1) % 4) * (smallest_chunk / 4)) << ((number - 1) / 4);
}
static_assert(bytes_of(1) == 1280 && bytes_of(4) == 2048 && bytes_of(5) == 2560 &&
              bytes_of(64) == chunk_cache::largest_chunk);

constexpr auto is_kept(std::size_t size, std::size_t alignment) noexcept -> bool {
  return size <= chunk_cache::largest_chunk && alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
}

}  // namespace

chunk_cache::~chunk_cache() {
  for (free_chunk* each : free_)
    while (each != nullptr) ::operator delete(std::exchange(each, each->next));
}

auto chunk_cache::kept() const -> std::size_t {
  const std::scoped_lock lock(mutex_);
  return kept_;
}

void chunk_cache::note_in_use() noexcept { peak_ = std::max(peak_, in_use_); }

auto chunk_cache::do_allocate(std::size_t size, std::size_t alignment) -> void* {
  if (!is_kept(size, alignment)) return std::pmr::new_delete_resource()->allocate(size, alignment);
  const size_class wanted = class_of(size);
  {
    const std::scoped_lock lock(mutex_);
    if (free_chunk* const found = free_[wanted.number]) {
      free_[wanted.number] = found->next;
      kept_ -= wanted.bytes;
      in_use_ += wanted.bytes;
      note_in_use();
      return found;
    }
  }
  void* const fresh = ::operator new(wanted.bytes);
  const std::scoped_lock lock(mutex_);
  in_use_ += wanted.bytes;
  note_in_use();
  return fresh;
}

void chunk_cache::do_deallocate(void* place, std::size_t size, std::size_t alignment) {
  if (!is_kept(size, alignment)) return std::pmr::new_delete_resource()->deallocate(place, size, alignment);
  const size_class owner = class_of(size);
  free_chunk* dead = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    free_[owner.number] = new (place) free_chunk{free_[owner.number]};
    in_use_ -= owner.bytes;
    kept_ += owner.bytes;
    if (++returns_ == period) {
      returns_ = 0;
      last_peak_ = std::exchange(peak_, in_use_);
    }
    dead = trimmed();
  }
  while (dead != nullptr) ::operator delete(std::exchange(dead, dead->next));
}

/// Removes free chunks, the largest first, until the remaining chunks are within the limits. Returns the removed
/// chunks.
auto chunk_cache::trimmed() noexcept -> free_chunk* {
  const std::size_t max_count = std::min(max_bytes_, 2 * std::max(peak_, last_peak_));
  free_chunk* dead = nullptr;
  for (std::size_t number = classes; number-- > 0 && kept_ != 0 && kept_ + in_use_ > max_count;) {
    while (free_[number] != nullptr && kept_ + in_use_ > max_count) {
      free_chunk* const next = free_[number]->next;
      free_[number]->next = dead;
      dead = std::exchange(free_[number], next);
      kept_ -= bytes_of(number);
    }
  }
  return dead;
}

}  // namespace rankd
