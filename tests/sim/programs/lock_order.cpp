// tests/sim/programs/lock_order.cpp: two threads lock two mutexes in opposite orders, for a moment each.
#include <mutex>
#include <thread>

namespace {

std::mutex first;
std::mutex second;
int moved = 0;

void transfer(std::mutex& from, std::mutex& to) {
  const std::lock_guard one(from);
  const std::lock_guard other(to);
  ++moved;
}

}  // namespace

int main() {
  std::thread left([] { transfer(first, second); });
  std::thread right([] { transfer(second, first); });
  left.join();
  right.join();
  return moved == 2 ? 0 : 1;
}
