// braid/sync/detail/inbox_record.hpp: a posted callable in an inbox: a pointer to its function, followed by its
// captures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace braid::detail {

enum class inbox_action : std::uint8_t {
  run,   ///< call it, and end its life
  drop,  ///< notify it, if it has a `drop()`, and destroy it
  move,  ///< into other memory, and end its life here
};

/// A callable that has a member `drop`. This member is called if the callable is dropped and does not run.
template <typename Fn>
concept wants_drop = requires(Fn& fn) { fn.drop(); };

/// A box for a callable that is too large for a record.
template <typename Fn>
struct inbox_box {
  void operator()() && { std::invoke(std::move(*fn)); }
  void drop() noexcept
    requires wants_drop<Fn>
  {
    fn->drop();
  }
  std::unique_ptr<Fn> fn;
};

/// The header of a posted callable. The captures follow the header, so that small captures share a cache line with the
/// header. Records are stored one after another at multiples of `unit`.
class inbox_record {
 public:
  static constexpr std::size_t unit = 16;
  // docs/design/constants.md explains how this value was chosen.
  static constexpr std::size_t inline_size = 56;  // with the pointer, it fills a cache line

  static constexpr std::size_t largest = sizeof(void*) + inline_size;

  template <typename Fn>
  static constexpr bool fits =
      sizeof(Fn) <= inline_size && alignof(Fn) <= alignof(void*) && std::is_nothrow_move_constructible_v<Fn>;

  /// The type in which a callable is stored: the callable itself, or a box.
  template <typename Fn>
  using kept = std::conditional_t<fits<std::decay_t<Fn>>, std::decay_t<Fn>, inbox_box<std::decay_t<Fn>>>;

  /// The number of bytes of a record for this callable.
  template <typename Fn>
  static constexpr std::size_t size_of = (sizeof(void*) + sizeof(kept<Fn>) + unit - 1) / unit * unit;

  /// Constructs a record at `address`, which must have room for `size_of<Fn>` bytes. Errors: std::bad_alloc, and
  /// exceptions from copying or moving `fn`.
  template <typename Fn>
  static void make(std::byte* address, Fn&& fn);

  /// Writes the mark after the last record of a segment.
  static void make_end(std::byte* address) noexcept { ::new (address) inbox_record; }

  /// Returns the record that was constructed at `address`.
  [[nodiscard]] static auto of(std::byte* address) noexcept -> inbox_record& {
    return *std::launder(reinterpret_cast<inbox_record*>(address));
  }

  [[nodiscard]] auto is_end() const noexcept -> bool { return word_ == 0; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return (word_ & units_mask) * unit; }

  /// Runs, drops or moves the callable, and ends its lifetime here. Errors: exceptions that the callable throws when it
  /// is run.
  void act(inbox_action action, std::byte* to = nullptr) {
    reinterpret_cast<const kind*>(word_ & ~units_mask)->act(*this, action, to);
  }

 private:
  static constexpr std::uintptr_t units_mask = 7;

  struct alignas(units_mask + 1) kind {
    void (*act)(inbox_record& self, inbox_action action, std::byte* to);
  };

  template <typename Fn>
  static void act_on(inbox_record& self, inbox_action action, std::byte* to) {
    struct guard {
      Fn& fn;
      ~guard() { std::destroy_at(&fn); }
    } const owner{*std::launder(reinterpret_cast<Fn*>(captures_behind(self)))};
    if (action == inbox_action::run) std::invoke(std::move(owner.fn));
    if (action == inbox_action::move) make(to, std::move(owner.fn));
    if constexpr (wants_drop<Fn>)
      if (action == inbox_action::drop) owner.fn.drop();
  }

  template <typename Fn>
  static constexpr kind kind_of{.act = &act_on<Fn>};

  inbox_record() = default;
  inbox_record(const kind& type, std::size_t size) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&type) | size / unit) {}

  static auto captures_behind(inbox_record& self) noexcept -> std::byte* {
    return reinterpret_cast<std::byte*>(&self) + sizeof(inbox_record);
  }

  // A pointer to the `kind` of the callable. The low bits hold the size of the record in units, so that the next record
  // can be found without another load.
  std::uintptr_t word_ = 0;  // 0: the end
};

template <typename Fn>
void inbox_record::make(std::byte* address, Fn&& fn) {
  using stored = std::decay_t<Fn>;
  if constexpr (wants_drop<stored>)
    static_assert(noexcept(std::declval<stored&>().drop()),
                  "drop() of a callable must be noexcept, because an error could not be reported");
  if constexpr (fits<stored>) {
    ::new (address + sizeof(inbox_record)) stored(std::forward<Fn>(fn));
    ::new (address) inbox_record(kind_of<stored>, size_of<stored>);
  } else {
    make(address, inbox_box<stored>{std::make_unique<stored>(std::forward<Fn>(fn))});
  }
}

}  // namespace braid::detail
