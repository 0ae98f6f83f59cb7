// bench/latency/bare.cpp: one thread that sleeps in a futex until it is given a task: what the machine allows at best.
#include <bench/latency/measures.hpp>

#include <braid/sync/detail/parker.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace {

/// Whatever number of workers is asked for, there is one.
class bare_system {
 public:
  explicit bare_system(unsigned /*workers*/) {}
  ~bare_system() {
    post(std::function<void()>{});
    thread_.join();
  }
  bare_system(const bare_system&) = delete;
  auto operator=(const bare_system&) -> bare_system& = delete;

  void post(std::function<void()> what) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(what));
    }
    parker_.unpark();
  }

 private:
  void work() {
    for (std::function<void()> mine = next(); mine; mine = next()) mine();
  }

  auto next() -> std::function<void()> {
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (!tasks_.empty()) {
          std::function<void()> oldest = std::move(tasks_.front());
          tasks_.pop_front();
          return oldest;
        }
      }
      parker_.park();
    }
  }

  braid::detail::parker parker_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_{[this] { work(); }};
};

}  // namespace

auto main(int count, char** arguments) -> int {
  using namespace bench;
  const contender bare = reference("bare thread");
  return run_program(
      count, arguments, "latency",
      {{"wake", bare, wake<bare_system>}, {"idle", bare, idle<bare_system>}, {"each_ms", bare, each_ms<bare_system>}});
}
