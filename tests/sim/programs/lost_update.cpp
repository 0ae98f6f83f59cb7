// tests/sim/programs/lost_update.cpp: each mutex section is right, but an update is one that reads and one that writes.
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex mutex;
int balance = 0;

auto read_balance() -> int {
  const std::lock_guard lock(mutex);
  return balance;
}

void write_balance(int value) {
  const std::lock_guard lock(mutex);
  balance = value;
}

void deposit() { write_balance(read_balance() + 100); }

}  // namespace

int main() {
  std::thread one(deposit);
  std::thread other(deposit);
  one.join();
  other.join();
  std::printf("balance %d\n", balance);
  return balance == 200 ? 0 : 1;
}
