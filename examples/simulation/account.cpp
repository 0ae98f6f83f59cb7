// examples/simulation/account.cpp: a deposit that sometimes loses money.
#include <braid/task.hpp>

#include <cstdio>
#include <mutex>
#include <string_view>

namespace {

/// An account whose functions are all correct by themselves.
class account {
 public:
  [[nodiscard]] auto balance() const -> int {
    const std::lock_guard lock(mutex_);
    return balance_;
  }
  void set_balance(int value) {
    const std::lock_guard lock(mutex_);
    balance_ = value;
  }
  void add(int value) {
    const std::lock_guard lock(mutex_);
    balance_ += value;
  }

 private:
  mutable std::mutex mutex_;
  int balance_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bool is_correct = argc > 1 && std::string_view(argv[1]) == "correct";
  account savings;
  {
    braid::pool pool({.workers = 2});
    for (int deposit = 0; deposit < 2; ++deposit) {
      const auto posted = braid::post(pool, [&savings, is_correct] {
        if (is_correct) return savings.add(100);
        savings.set_balance(
            savings.balance() +
            100);  // another deposit may come between the two calls
      });
      if (!posted) return 2;
    }
  }
  std::printf("balance: %d\n", savings.balance());
  return savings.balance() == 200 ? 0 : 1;
}
