// braid/thread/query.hpp: lazily chained queries over a snapshot, with fields that the compiler checks.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/detail/query_stages.hpp>
#include <braid/thread/fields.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/this_thread.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// A pointer to a field of T: `&thread_entry::tag`.
template <auto Member, typename T>
concept field_in = std::is_member_object_pointer_v<decltype(Member)> && std::same_as<detail::class_of_t<Member>, T>;

template <auto Member>
using field_type = std::remove_cvref_t<decltype(std::declval<const class_of_t<Member>&>().*Member)>;

/// The type of a parameter whose value is compared with a field. For a string field, this type accepts any kind of
/// text.
template <auto Member>
using wanted = std::conditional_t<std::same_as<field_type<Member>, std::string>, std::string_view, field_type<Member>>;

template <auto Member>
struct field_equals {
  using wanted_type = field_type<Member>;

  auto operator()(const class_of_t<Member>& value) const -> bool { return value.*Member == expected; }

  wanted_type expected;
};

template <auto Member>
auto equals(wanted<Member> value) -> field_equals<Member> {
  return {field_type<Member>(std::move(value))};
}

}  // namespace detail

template <typename Stage>
class query;

/// A value of a query, with the result that `apply` has computed for this value.
template <typename T, typename Answer>
struct applied {
  T value;
  Answer answer;
};

namespace detail {

/// The query functions for all classes that have values: a query, or a registry. `Derived::stage()` returns the values.
/// Callables are invoked as const objects by std::invoke, so they may be pointers to members. They are copied with the
/// query.
/// Threads: any number of threads may query at the same time if the callables allow that. Errors: exceptions of a
/// callable; std::bad_alloc. Lifetime: a query owns its snapshot. The query is executed each time that a result is
/// requested.
template <typename Derived>
class queryable {
 public:
  /// Keeps the values for which `holds` is true.
  template <typename Fn>
  [[nodiscard]] auto filter(Fn holds) const;
  /// Replaces each value by the result of `fn`.
  template <typename Fn>
  [[nodiscard]] auto map(Fn fn) const;
  /// Keeps only the first `max_count` values.
  [[nodiscard]] auto take(std::size_t max_count) const;
  /// Skips the first `first` values.
  [[nodiscard]] auto skip(std::size_t first) const;

  /// Keeps the values whose field equals `value`: `where<&thread_entry::tag>("io")`.
  template <auto Member>
  [[nodiscard]] auto where(detail::wanted<Member> value) const {
    return filter(detail::equals<Member>(std::move(value)));
  }
  /// Keeps each value for which `holds(field)` is true.
  template <auto Member, typename Fn>
  [[nodiscard]] auto where_if(Fn holds) const;
  /// Returns one field of each value, or several fields as a std::tuple.
  template <auto... Members>
  [[nodiscard]] auto project() const;

  /// Returns the first value for which `holds` is true.
  template <typename Fn>
  [[nodiscard]] auto find_if(const Fn& holds) const;
  /// Returns the first value whose field equals `value`.
  template <auto Member>
  [[nodiscard]] auto find_by(detail::wanted<Member> value) const {
    return find_if(detail::equals<Member>(std::move(value)));
  }
  /// Returns whether at least one value has a field equal to `value`.
  template <auto Member>
  [[nodiscard]] auto contains(detail::wanted<Member> value) const -> bool {
    return any(detail::equals<Member>(std::move(value)));
  }

  template <typename Fn>
  [[nodiscard]] auto any(const Fn& holds) const -> bool;
  template <typename Fn>
  [[nodiscard]] auto all(const Fn& holds) const -> bool {
    return !any(std::not_fn(std::cref(holds)));
  }
  template <typename Fn>
  [[nodiscard]] auto none(const Fn& holds) const -> bool {
    return !any(holds);
  }
  [[nodiscard]] auto count() const -> std::size_t;
  [[nodiscard]] auto to_vector() const;

  /// Calls `fn` with each value.
  template <typename Fn>
  void for_each(Fn&& fn) const;

  /// Invokes `change(value, args...)` for each value, and returns the results together with the values. For entries of
  /// threads, `change` may also be a member function of the object that `control()` returns, for example
  /// `apply(&thread_info::set_affinity, cpus)`. Such a function returns a `result`; if the result is an error for one
  /// thread, the other threads are still changed.
  template <typename Fn, typename... Args>
  auto apply(const Fn& change, const Args&... args) const;
  /// Applies a profile to each thread. Requires that the values are threads or entries of threads. Returns, for each
  /// thread, the outcome of each setting, or an error if the thread no longer exists.
  auto apply(const thread_profile& profile) const {
    return apply([&profile](const thread_info& thread) { return braid::apply(profile, thread); });
  }

 private:
  friend Derived;
  queryable() = default;

  [[nodiscard]] auto stage() const { return static_cast<const Derived&>(*this).stage(); }
};

}  // namespace detail

/// A chain of steps over a snapshot. No step runs before a result is requested.
/// Threads: any number of threads may request results at the same time if the callables allow that.
template <typename Stage>
class query : public detail::queryable<query<Stage>> {
 public:
  using value_type = typename Stage::value_type;

  explicit query(Stage stage) : stage_(std::move(stage)) {}

  /// Returns the last stage of the chain. Required by `queryable`.
  [[nodiscard]] auto stage() const -> const Stage& { return stage_; }

 private:
  Stage stage_;
};

namespace detail {

/// Returns a query over values that the query owns. Threads: any.
template <typename T>
[[nodiscard]] auto query_over(std::vector<T> values) -> query<detail::snapshot_stage<T>> {
  return query(detail::snapshot_stage<T>{std::make_shared<const std::vector<T>>(std::move(values))});
}

template <typename Stage>
using value_of = typename std::remove_cvref_t<Stage>::value_type;

template <typename T>
struct result_with {
  using type = result<T>;
};
template <typename T>
struct result_with<result<T>> {
  using type = result<T>;
};
template <typename T>
using as_result = typename result_with<T>::type;

/// Calls `change` with the value if that is possible. Otherwise calls `change` with the object that the value's
/// `control()` returns.
template <typename T, typename Fn, typename... Args>
auto change_one(const T& value, const Fn& change, const Args&... args) {
  if constexpr (std::invocable<const Fn&, const T&, const Args&...>) {
    return std::invoke(change, value, args...);
  } else {
    const auto control = value.control();
    using answer = as_result<decltype(std::invoke(change, *control, args...))>;
    return control ? answer(std::invoke(change, *control, args...)) : answer(std::unexpect, control.error());
  }
}

template <typename Derived>
template <typename Fn>
auto queryable<Derived>::filter(Fn holds) const {
  using from = std::remove_cvref_t<decltype(stage())>;
  static_assert(std::predicate<const Fn&, const detail::value_of<from>&>,
                "filter needs a predicate that can be called as const with these values");
  return query(detail::filter_stage<from, Fn>{stage(), std::move(holds)});
}

template <typename Derived>
template <typename Fn>
auto queryable<Derived>::map(Fn fn) const {
  using from = std::remove_cvref_t<decltype(stage())>;
  static_assert(std::invocable<const Fn&, const detail::value_of<from>&>,
                "map needs a function that can be called as const");
  return query(detail::map_stage<from, Fn>{stage(), std::move(fn)});
}

template <typename Derived>
auto queryable<Derived>::take(std::size_t max_count) const {
  return query(detail::take_stage<std::remove_cvref_t<decltype(stage())>>{stage(), max_count});
}

template <typename Derived>
auto queryable<Derived>::skip(std::size_t first) const {
  return query(detail::skip_stage<std::remove_cvref_t<decltype(stage())>>{stage(), first});
}

template <typename Derived>
template <auto Member, typename Fn>
auto queryable<Derived>::where_if(Fn holds) const {
  static_assert(field_in<Member, detail::value_of<decltype(stage())>>,
                "the field must belong to the struct of the values");
  return filter([holds = std::move(holds)](const detail::class_of_t<Member>& value) -> bool {
    return std::invoke(holds, value.*Member);
  });
}

template <typename Derived>
template <auto... Members>
auto queryable<Derived>::project() const {
  static_assert(sizeof...(Members) > 0, "project needs at least one field");
  static_assert((field_in<Members, detail::value_of<decltype(stage())>> && ...),
                "each field must be a member of the type of the values");
  if constexpr (sizeof...(Members) == 1)
    return map(Members...);
  else
    return map([](const auto& value) { return std::tuple<detail::field_type<Members>...>(value.*Members...); });
}

template <typename Derived>
template <typename Fn>
auto queryable<Derived>::find_if(const Fn& holds) const {
  using value_type = detail::value_of<decltype(stage())>;
  static_assert(std::predicate<const Fn&, const value_type&>, "the predicate must be callable as const");
  std::optional<value_type> found;
  stage().each([&]<typename V>(V&& value) -> bool {
    if (std::invoke(holds, std::as_const(value))) found.emplace(std::forward<V>(value));
    return !found;
  });
  return found;
}

template <typename Derived>
template <typename Fn>
auto queryable<Derived>::any(const Fn& holds) const -> bool {
  using value_type = detail::value_of<decltype(stage())>;
  static_assert(std::predicate<const Fn&, const value_type&>, "the predicate must be callable as const");
  bool found = false;
  stage().each([&](const auto& value) -> bool {
    found = std::invoke(holds, value);
    return !found;
  });
  return found;
}

template <typename Derived>
auto queryable<Derived>::count() const -> std::size_t {
  std::size_t total = 0;
  stage().each([&](const auto& /*value*/) -> bool {
    ++total;
    return true;
  });
  return total;
}

template <typename Derived>
auto queryable<Derived>::to_vector() const {
  std::vector<detail::value_of<decltype(stage())>> values;
  stage().each([&]<typename V>(V&& value) -> bool {
    values.push_back(std::forward<V>(value));
    return true;
  });
  return values;
}

}  // namespace detail

template <typename Derived>
template <typename Fn>
void detail::queryable<Derived>::for_each(Fn&& fn) const {
  stage().each([&](const auto& value) -> bool {
    static_cast<void>(std::invoke(fn, value));
    return true;
  });
}

namespace detail {

template <typename Derived>
template <typename Fn, typename... Args>
auto queryable<Derived>::apply(const Fn& change, const Args&... args) const {
  using value_type = detail::value_of<decltype(stage())>;
  using answer = decltype(detail::change_one(std::declval<const value_type&>(), change, args...));
  std::vector<applied<value_type, answer>> all;
  stage().each([&](const auto& value) -> bool {
    all.push_back({value, detail::change_one(value, change, args...)});
    return true;
  });
  return all;
}

}  // namespace detail

}  // namespace braid
