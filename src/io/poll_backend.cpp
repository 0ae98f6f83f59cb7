// src/io/poll_backend.cpp: the backend that every Unix has.
#include "backends.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>

namespace braid::detail {
namespace {

/// Keeps a list of everything that is watched, and hands all of it to the kernel each time.
class poll_backend final : public io_backend {
 public:
  explicit poll_backend(wake_signal wake) : wake_(std::move(wake)) {
    asked_.push_back({.fd = wake_.number(), .events = POLLIN, .revents = 0});
    items_.push_back(nullptr);
  }

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "poll"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    const timespec span = as_timespec(timeout.value_or(duration::zero()));
    if (::ppoll(asked_.data(), asked_.size(), timeout ? &span : nullptr, nullptr) <= 0) return;
    if (asked_[0].revents != 0) wake_.clear();
    for (std::size_t at = asked_.size() - 1; at != 0; --at)
      if (asked_[at].revents != 0) ready_.push_back(taken(at));
    for (std::size_t at = 0; at < ready_.size(); ++at)
      if (io_watch* item = std::exchange(ready_[at], nullptr)) call(*item);
    ready_.clear();
  }

  void wake() noexcept override { wake_.raise(); }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    const result<entry*> known = table_.at(item.descriptor);
    if (!known) return fail(known.error());
    std::size_t& place = (*known)->places[index_of(item.interest)];
    if (place != 0) return fail(std::make_error_code(std::errc::file_exists));
    try {
      const std::size_t count = asked_.size() + 1;
      if (ready_.capacity() < count) grow(2 * count);
    } catch (...) {
      return fail(std::make_error_code(std::errc::not_enough_memory));
    }
    place = asked_.size();
    asked_.push_back({.fd = item.descriptor, .events = events_of(item.interest), .revents = 0});
    items_.push_back(&item);
    ++watches_;
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    --watches_;
    const std::size_t place = table_.known(item.descriptor).places[index_of(item.interest)];
    if (place != 0 && items_[place] == &item) {
      static_cast<void>(taken(place));
      return;
    }
    for (io_watch*& each : ready_)  // it is ready, and has not been called yet
      if (each == &item) each = nullptr;
  }

 private:
  struct entry {
    std::array<std::size_t, 2> places{};  // in `asked_`, by interest; 0 for none
  };

  static auto events_of(io_interest interest) noexcept -> short {
    return interest == io_interest::read ? POLLIN | POLLRDHUP : POLLOUT;
  }

  /// Everything that `wait` needs, since it cannot fail.
  void grow(std::size_t count) {
    items_.reserve(count);
    asked_.reserve(count);
    ready_.reserve(count);  // the last, so that its room tells of the others'
  }

  /// Takes a watch out of the list. The last one moves to its place.
  auto taken(std::size_t at) noexcept -> io_watch* {
    io_watch* item = items_[at];
    items_[at] = items_.back();
    asked_[at] = asked_.back();
    place_of(*items_[at]) = at;
    place_of(*item) = 0;
    items_.pop_back();
    asked_.pop_back();
    return item;
  }

  auto place_of(const io_watch& item) noexcept -> std::size_t& {
    return table_.known(item.descriptor).places[index_of(item.interest)];
  }

  void call(io_watch& item) noexcept {
    --watches_;
    item.ready(item);
  }

  wake_signal wake_;
  descriptor_table<entry> table_;
  std::vector<pollfd> asked_;     // the first is for wakes
  std::vector<io_watch*> items_;  // as in `asked_`
  std::vector<io_watch*> ready_;  // of this wait, to be called
  std::size_t watches_ = 0;
};

}  // namespace

auto make_poll_backend() -> result<std::unique_ptr<io_backend>> {
  auto wake = wake_signal::create();
  if (!wake) return fail(wake.error());
  return std::make_unique<poll_backend>(std::move(*wake));
}

}  // namespace braid::detail
