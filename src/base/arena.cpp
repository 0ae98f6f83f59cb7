// src/base/arena.cpp: allocates and frees the chunks of an arena (bump allocator).
#include <braid/base/arena.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace braid {
namespace {

// docs/design/constants.md says what this value rests on.
constexpr std::size_t largest_chunk = std::size_t{1} << 20U;
constexpr std::size_t chunk_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

arena::arena(arena&& other) noexcept
    : cursor_(std::exchange(other.cursor_, nullptr)),
      limit_(std::exchange(other.limit_, nullptr)),
      chunks_(std::exchange(other.chunks_, nullptr)),
      next_chunk_(other.next_chunk_),
      reserved_(std::exchange(other.reserved_, 0)),
      chunks_from_(other.chunks_from_) {}

auto arena::grow(std::size_t size, std::size_t alignment) -> void* {
  const std::size_t wanted = sizeof(chunk) + size + alignment;
  if (wanted < size) throw std::bad_alloc();
  const std::size_t total = std::max(wanted, next_chunk_);
  auto* fresh = static_cast<chunk*>(chunks_from_ == nullptr ? ::operator new(total)
                                                            : chunks_from_->allocate(total, chunk_alignment));
  *fresh = {chunks_, total};
  chunks_ = fresh;
  reserved_ += total;
  next_chunk_ = std::min(next_chunk_ * 2, largest_chunk);

  cursor_ = reinterpret_cast<std::byte*>(fresh + 1);
  limit_ = reinterpret_cast<std::byte*>(fresh) + total;
  return bytes(size, alignment);
}

void arena::reset() noexcept {
  while (chunks_ != nullptr) {
    chunk* dead = std::exchange(chunks_, chunks_->next);
    if (chunks_from_ == nullptr)
      ::operator delete(dead, dead->size);
    else
      chunks_from_->deallocate(dead, dead->size, chunk_alignment);
  }
  cursor_ = limit_ = nullptr;
  reserved_ = 0;
}

}  // namespace braid
