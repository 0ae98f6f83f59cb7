// tests/sim/programs/lost_wake_up.cpp: a thread looks at a flag before it locks the mutex, and may miss the
// notification.
#include <condition_variable>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace {

std::mutex mutex;
std::condition_variable changed;
bool is_set = false;

auto looks_set() -> bool {
  const std::lock_guard lock(mutex);
  return is_set;
}

void wait_until_set() {
  pthread_setname_np(pthread_self(), "waiter");
  if (looks_set()) return;
  std::unique_lock lock(mutex);
  changed.wait(lock);
}

}  // namespace

int main() {
  std::thread waiter(wait_until_set);
  {
    const std::lock_guard lock(mutex);
    is_set = true;
  }
  changed.notify_one();
  waiter.join();
}
