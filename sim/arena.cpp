// sim/arena.cpp: allocates blocks whose sizes are powers of two from large blocks of the system, and reuses freed
// blocks.
#include <sim/arena.hpp>
#include <sim/real.hpp>

#include <array>
#include <bit>

#include <sys/mman.h>
#include <sys/syscall.h>

namespace sim {
namespace {

constexpr std::size_t smallest = 16;
constexpr std::size_t chunk = std::size_t{1} << 20;

struct free_block {
  free_block* next;
};
std::array<free_block*, 64> free_blocks{};
char* rest = nullptr;
std::size_t rest_size = 0;

auto map(std::size_t size) -> char* {
  const long made =
      kernel(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (made == -1) report_and_exit("the simulator has no memory left");
  return reinterpret_cast<char*>(made);
}

auto size_class(std::size_t size) -> std::size_t { return std::bit_ceil(size < smallest ? smallest : size); }

}  // namespace

auto take_memory(std::size_t size) -> void* {
  const std::size_t needed = size_class(size);
  free_block*& first = free_blocks[std::countr_zero(needed)];
  if (first != nullptr) return std::exchange(first, first->next);
  if (needed >= chunk) return map(needed);
  if (needed > rest_size) {
    rest = map(chunk);
    rest_size = chunk;
  }
  rest_size -= needed;
  return std::exchange(rest, rest + needed);
}

void give_memory(void* memory, std::size_t size) {
  free_block*& first = free_blocks[std::countr_zero(size_class(size))];
  first = new (memory) free_block{first};
}

}  // namespace sim
