// rankd/rows/row_set.cpp: selects among active rows, and adds columns to them.
#include <rankd/rows/row_set.hpp>

namespace rankd {

auto row_set::select(bitmap kept, braid::arena& memory) const -> row_set {
  const std::size_t count = kept.count(size_);
  if (count == size_) return *this;
  const std::span<std::uint32_t> chosen = memory.uninitialized<std::uint32_t>(count);
  std::uint32_t* next = chosen.data();
  if (is_prefix()) {
    kept.for_each_set(size_, [&next](std::size_t position) { *next++ = static_cast<std::uint32_t>(position); });
  } else {
    kept.for_each_set(size_, [&next, this](std::size_t position) { *next++ = order_[position]; });
  }
  return {table_, chosen};
}

}  // namespace rankd
