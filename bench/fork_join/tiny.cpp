// bench/fork_join/tiny.cpp: workers that steal from each other, and spin when there is nothing.
#include <bench/fork_join/tiny.hpp>

#include <immintrin.h>

namespace bench::tiny {

constinit thread_local worker* current = nullptr;

namespace {

/// Waits a little, and longer the more often it is called in vain.
class patience {
 public:
  void wait() noexcept {
    if (++tries_ % 1024 == 0)
      std::this_thread::yield();
    else
      _mm_pause();
  }

 private:
  unsigned tries_ = 0;
};

}  // namespace

auto worker::steal_one() noexcept -> bool {
  for (const auto& victim : *all) {
    if (victim.get() == this) continue;
    if (record* const stolen = victim->deque.steal(); stolen != nullptr) {
      stolen->run(*stolen);
      return true;
    }
  }
  return false;
}

[[gnu::noinline]] void worker::wait_for(const record& stolen) noexcept {
  patience some;
  while (stolen.done.load(braid::acquire) == 0)
    if (!steal_one()) some.wait();
}

namespace detail {

crew::crew(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<worker>());
    workers_.back()->all = &workers_;
  }
  current = workers_[0].get();
  for (unsigned i = 1; i < workers; ++i)
    thieves_.emplace_back([this, i] {
      current = workers_[i].get();
      patience some;
      while (!over_.load(braid::relaxed))
        if (!current->steal_one()) some.wait();
    });
}

crew::~crew() {
  over_.store(true, braid::relaxed);
  for (std::thread& thief : thieves_) thief.join();
  current = nullptr;
}

}  // namespace detail
}  // namespace bench::tiny
