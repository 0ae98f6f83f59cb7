// braid/io/backend.hpp: descriptors, and the backends (epoll, io_uring) through which an event loop waits for them.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/trace/detail/owner_count.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace braid {

/// An owned file descriptor, which the destructor closes. Threads: one at a time.
class BRAID_API descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, none)) {}
  auto operator=(descriptor&& other) noexcept -> descriptor& {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, none);
    }
    return *this;
  }
  ~descriptor() { close(); }

  [[nodiscard]] explicit operator bool() const noexcept { return number_ != none; }
  [[nodiscard]] auto number() const noexcept -> int { return number_; }

  void close() noexcept;

 private:
  static constexpr int none = -1;
  int number_ = none;
};

class loop;

namespace detail {
struct metrics_reader;
}

/// Selects whether to wait until a descriptor can be read or until it can be written.
enum class io_interest : std::uint8_t { read, write };

/// A wait for a descriptor to become ready. It is a member of the object that waits.
struct io_watch {
  using ready_fn = void (*)(io_watch&) noexcept;

  int descriptor = -1;
  io_interest interest = io_interest::read;
  ready_fn ready = nullptr;  ///< called once, from `wait`, when the descriptor is ready or in error
};

namespace detail {
class io_registration;
class io_transfer;
}  // namespace detail

/// The interface of a backend: the part of a loop that depends on the kernel interface.
/// Threads: any thread may call `wake`. Only the loop's thread, which is the thread of the first `wait`, may call the
/// other functions.
class BRAID_API io_backend {
 public:
  /// The kernel interface through which a loop waits.
  enum class kind : std::uint8_t {
    automatic,  ///< the value of the variable BRAID_IO; if it is not set, the first that the system supports
    uring,      ///< io_uring(7), of Linux 5.17 or later
    epoll,      ///< epoll(7)
    poll,       ///< poll(2), whose cost grows with the number of descriptors
  };

  io_backend() = default;
  io_backend(const io_backend&) = delete;
  auto operator=(const io_backend&) -> io_backend& = delete;
  virtual ~io_backend();

  /// Creates a backend for a loop.
  /// Threads: any. Errors: system errors, for instance if too many files are open or the kernel refuses the chosen
  /// interface; unknown_backend if the variable BRAID_IO contains an unknown name. With `automatic` and without
  /// BRAID_IO, a refusal is not an error: the next interface is tried.
  [[nodiscard]] static auto make(kind wanted = kind::automatic) -> result<std::unique_ptr<io_backend>>;

  [[nodiscard]] virtual auto name() const noexcept -> std::string_view = 0;

  /// Blocks until a watch is ready, `wake` is called, or `timeout` has passed. Without a timeout it waits for ever.
  /// Calls the function `ready` of every ready watch.
  virtual void wait(std::optional<duration> timeout) noexcept = 0;

  /// Returns a descriptor that is readable when `wait` would not block, so that another event loop can wait for this
  /// backend. Returns -1 if the backend has no such descriptor. The timeout of `wait` does not make the descriptor
  /// readable.
  [[nodiscard]] virtual auto descriptor() const noexcept -> int { return -1; }

  /// Ends the current or the next `wait`. Threads: any. Cost: a write to an eventfd, 0.2 µs.
  virtual void wake() noexcept = 0;

  /// Starts to watch a descriptor. Only one watch for each interest of a descriptor may exist at a time. A regular file
  /// is always ready.
  /// Errors: file_exists for a second watch, bad_file_descriptor for a negative number, not_enough_memory, and system
  /// errors. For a descriptor that is not open, some backends return an error, and others report it as ready.
  [[nodiscard]] virtual auto watch(io_watch& item) noexcept -> result<void> = 0;

  /// Removes a watch, whose function `ready` is then no longer called. Remove a watch before you close its descriptor.
  virtual void unwatch(io_watch& item) noexcept = 0;

  /// Starts a transfer (braid/io/detail/transfer.hpp), which `wait` reports when it is complete. Requires that no other
  /// transfer of the same side of its registration is pending.
  /// Errors: the errors of `watch`, if the descriptor must be registered first. After an error, the transfer is not
  /// reported.
  [[nodiscard]] virtual auto start(detail::io_transfer& item) noexcept -> result<void> = 0;

  /// Cancels a pending transfer. Returns true if the transfer has ended and will not be reported. Returns false if the
  /// kernel still processes the transfer. It is then reported later, with -ECANCELED or with the number of bytes that
  /// were already moved.
  [[nodiscard]] virtual auto cancel(detail::io_transfer& item) noexcept -> bool = 0;

  /// Removes a registration whose descriptor is about to be closed. Requires that no transfer is pending on it.
  virtual void forget(detail::io_registration& registration) noexcept = 0;

  /// Removes a registration whose descriptor stays open and moves to another backend. The default implementation calls
  /// `forget`.
  virtual void release(detail::io_registration& registration) noexcept;

  /// Returns whether any watch or transfer is waiting.
  [[nodiscard]] virtual auto has_watches() const noexcept -> bool = 0;

 protected:
  /// Counts an answer: a report that a watch is ready or that a transfer is complete. Called just before each answer.
  void count_answer() noexcept {
    detail::add_to_count(answers_);
    is_answering_.store(true, relaxed);
    if (marker_ != nullptr) marker_->enter();  // no earlier answer is on the stack
    if (clock_of_next_answer_ != nullptr) [[unlikely]]
      answered_ = std::exchange(clock_of_next_answer_, nullptr)->now();
  }

 private:
  friend class loop;
  friend struct detail::metrics_reader;
  std::uint64_t answers_ = 0;              // read by other threads with `read_count`
  atomic<bool> is_answering_{false};       // set in `wait`, cleared by the loop after it
  detail::code_marker* marker_ = nullptr;  // the marker of the thread in `wait`, if the thread counts as waiting there
  // The clock that `count_answer` reads, or null if the loop does not need the time of the next answer.
  const clock_source* clock_of_next_answer_ = nullptr;
  time_point answered_;  // the time of that answer
};

}  // namespace braid
