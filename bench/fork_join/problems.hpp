// bench/fork_join/problems.hpp: the problems of fork-join: their sizes, what a right answer is, and the parts that do
// not fork and are the same for all contenders.
#pragma once

#include <bench/harness/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace bench {

// fib: two calls that fork, next to no work in them.

inline auto fib_of(std::uint64_t n) -> std::uint64_t {
  std::uint64_t low = 0;
  std::uint64_t high = 1;
  for (; n > 0; --n) {
    const std::uint64_t next = low + high;
    low = high;
    high = next;
  }
  return low;
}

/// How often the naive function is called.
inline auto fib_calls_of(std::uint64_t n) -> double { return 2.0 * static_cast<double>(fib_of(n + 1)) - 1; }

// skynet: a tree whose every node has ten children; the leaves give their numbers, nodes the sum.

constexpr std::uint64_t skynet_children = 10;

inline auto skynet_leaves(std::uint64_t depth) -> std::uint64_t {
  return depth == 0 ? 1 : skynet_children * skynet_leaves(depth - 1);
}

// nqueens: in how many ways so many queens do not see each other. A fork for each place in a row.

struct board {
  std::array<std::uint8_t, 16> columns;

  [[nodiscard]] auto allows(unsigned row, unsigned column) const -> bool {
    for (unsigned above = 0; above < row; ++above) {
      const unsigned distance = row - above;
      const unsigned taken = columns[above];
      if (taken == column || taken + distance == column || column + distance == taken) return false;
    }
    return true;
  }

  [[nodiscard]] auto with(unsigned row, unsigned column) const -> board {
    board next = *this;
    next.columns[row] = static_cast<std::uint8_t>(column);
    return next;
  }
};

inline auto nqueens_of(std::uint64_t n) -> std::uint64_t {
  constexpr std::uint64_t known[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2'680, 14'200, 73'712, 365'596};
  return known[n];
}

// matmul: C += A B of n by n, by halves down to blocks; n is a power of two.

constexpr std::size_t matmul_block = 64;

struct block {
  double* at;
  std::size_t stride;

  [[nodiscard]] auto quarter(std::size_t half, unsigned row, unsigned column) const -> block {
    return {.at = at + row * half * stride + column * half, .stride = stride};
  }
};

constexpr std::size_t matmul_step = 4;

/// One block; its side is a multiple of four. Four rows of B at a time: with one, each row of C waits for what the step
/// before stored, which takes the longer the better the compiler fuses multiplication and addition.
inline void multiply_block(block a, block b, block c, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    double* __restrict to = c.at + i * c.stride;
    for (std::size_t k = 0; k < n; k += matmul_step) {
      const double* factor = a.at + i * a.stride + k;
      const double f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
      const double* __restrict b0 = b.at + k * b.stride;
      const double* __restrict b1 = b0 + b.stride;
      const double* __restrict b2 = b1 + b.stride;
      const double* __restrict b3 = b2 + b.stride;
      for (std::size_t j = 0; j < n; ++j) to[j] += (f0 * b0[j] + f1 * b1[j]) + (f2 * b2[j] + f3 * b3[j]);
    }
  }
}

/// Doubles that begin at a cache line, so that no vector lies across two.
template <typename T>
struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  auto allocate(std::size_t count) -> T* { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T* at, std::size_t /*count*/) { ::operator delete(at, alignment); }
  auto operator==(const line_allocator&) const -> bool = default;
};

using doubles = std::vector<double, line_allocator<double>>;

/// Matrices of small whole numbers, so that sums are exact in any order.
struct matrices {
  explicit matrices(std::size_t size) : n(size), a(size * size), b(size * size), c(size * size) {
    for (std::size_t i = 0; i < size * size; ++i) {
      a[i] = static_cast<double>(i * 7 % 13);
      b[i] = static_cast<double>(i * 5 % 11);
    }
  }

  /// Whether C x = A (B x), for one x.
  [[nodiscard]] auto is_product() const -> bool {
    doubles x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 3 + 1);
    return times(c, x) == times(a, times(b, x));
  }

  std::size_t n;
  doubles a;
  doubles b;
  doubles c;

 private:
  [[nodiscard]] auto times(const doubles& matrix, const doubles& x) const -> doubles {
    doubles y(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) y[i] += matrix[i * n + j] * x[j];
    return y;
  }
};

/// Calls `multiply(a, b, c, n)` and checks the product.
template <typename Multiply>
auto timed_matmul(std::uint64_t n, Multiply multiply) -> sample {
  matrices all(n);
  sample measured = timed(1, true, [&] {
    multiply(block{all.a.data(), n}, block{all.b.data(), n}, block{all.c.data(), n}, n);
    return true;
  });
  measured.is_right = all.is_product();
  return measured;
}

// uts: counts the nodes of a tree that cannot be split evenly: a node has eight children or none, and a hash decides.
// Under the root there are as many trees as the case says.

constexpr std::uint64_t uts_root = 1;
constexpr std::uint64_t uts_children = 8;
constexpr std::uint64_t uts_permille = 120;  ///< of the nodes have children, so that one has 0.96 on average

/// The state of child `i` of a node.
inline auto uts_child(std::uint64_t state, std::uint64_t i) -> std::uint64_t {
  std::uint64_t z = state + (i + 1) * 0x9e37'79b9'7f4a'7c15U;
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9U;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11ebU;
  return z ^ (z >> 31);
}

inline auto uts_has_children(std::uint64_t state) -> bool { return (state >> 32) % 1'000 < uts_permille; }

}  // namespace bench
