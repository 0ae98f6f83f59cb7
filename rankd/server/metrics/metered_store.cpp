// rankd/server/metrics/metered_store.cpp: counts each batch and reports how it ended.
#include <rankd/server/metrics/metered_store.hpp>

#include <exception>
#include <utility>

namespace rankd {

void endpoint_metrics::add(const endpoint_metrics& other) noexcept {
  times.add(other.times);
  errors += other.errors;
  late += other.late;
  in_flight += other.in_flight;
}

/// A running batch. If the object is destroyed before the batch has ended, the batch was abandoned or an exception was
/// thrown.
class metered_store::asking {
 public:
  explicit asking(metered_store& counter) noexcept : store_(&counter) {
    store_->in_flight_.fetch_add(1, braid::relaxed);
  }
  asking(const asking&) = delete;
  auto operator=(const asking&) -> asking& = delete;
  ~asking() {
    store_->in_flight_.fetch_sub(1, braid::relaxed);
    if (std::uncaught_exceptions() > thrown_) end_ = end::error;
    const std::scoped_lock lock(store_->mutex_);
    if (end_ == end::none) {
      ++store_->seen_.late;
      return;
    }
    store_->seen_.times.add(braid::steady_time().now() - begun_);
    if (end_ == end::error) ++store_->seen_.errors;
  }

  void answered(const store_result<store_answer>& result) noexcept { end_ = result ? end::answer : end::error; }

 private:
  enum class end : std::uint8_t { none, answer, error };

  metered_store* store_;
  braid::time_point begun_ = braid::steady_time().now();
  int thrown_ = std::uncaught_exceptions();
  end end_ = end::none;
};

auto metered_store::metered(metered_store& counter, braid::task<store_result<store_answer>> work)
    -> braid::task<store_result<store_answer>> {
  asking one(counter);
  store_result<store_answer> got = co_await std::move(work);
  one.answered(got);
  co_return got;
}

auto metered_store::ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> {
  return metered(*this, behind().ask(question, arena));
}

/// Forwards reads to a pinned generation, and counts them in the metered store.
class metered_store::pinned_store final : public store_layer {
 public:
  pinned_store(metered_store& counter, std::shared_ptr<store> behind) noexcept
      : store_layer(*behind), metrics_(&counter), owned_(std::move(behind)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return metered(*metrics_, behind().ask(question, arena));
  }

 private:
  metered_store* metrics_;
  std::shared_ptr<store> owned_;
};

auto metered_store::pinned() -> std::shared_ptr<store> {
  auto under = behind().pinned();
  return under == nullptr ? nullptr : std::make_shared<pinned_store>(*this, std::move(under));
}

auto metered_store::metrics() const -> endpoint_metrics {
  const std::scoped_lock lock(mutex_);
  endpoint_metrics all = seen_;
  all.in_flight = in_flight_.load(braid::relaxed);
  return all;
}

}  // namespace rankd
