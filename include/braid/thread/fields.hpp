// braid/thread/fields.hpp: the number, names and indexes of the fields of plain structs, at compile time.
#pragma once

#include <braid/thread/detail/field_tie.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

/// Defined if the compiler provides the names of the fields of a struct.
#if defined(__cpp_impl_reflection) && defined(__cpp_lib_reflection)
#include <meta>
#define BRAID_REFLECTION 1
#endif

namespace braid {

/// A struct that is initialised field by field. It has no bases and at most 32 fields, none of which is a C array or a
/// reference. If the fields of a struct without these properties are used, the compilation fails.
template <typename T>
concept plain_struct = std::is_aggregate_v<T> && std::is_class_v<T>;

/// The index and the name of a field of a struct.
struct field {
  std::size_t index = 0;
  std::string_view name;

  auto operator==(const field&) const -> bool = default;
};

namespace detail {

/// Storage for a T that is never constructed. The fields of this T have addresses, but no values.
template <typename T>
union unborn {
  constexpr unborn() noexcept : nothing() {}
  constexpr ~unborn() {}

  char nothing;
  T value;
};

template <typename T>
struct list_fields {
  static constexpr unborn<T> object{};
};

#if defined(BRAID_REFLECTION)

template <typename T>
consteval auto members_of() {
  return std::meta::nonstatic_data_members_of(^^T, std::meta::access_context::unchecked());
}

template <typename T>
consteval auto count_fields() -> std::size_t {
  return members_of<T>().size();
}

template <typename T, std::size_t Index>
consteval auto name_of_field() -> std::string_view {
  return std::meta::identifier_of(members_of<T>()[Index]);
}

#else

/// An object that converts to any type. It is used to check whether an expression compiles.
struct anything {
  template <typename T>
  constexpr operator T() const noexcept {
    std::unreachable();
  }
};

template <typename T, std::size_t... I>
consteval auto takes(std::index_sequence<I...> /*values*/) -> bool {
  return requires { T{(static_cast<void>(I), anything{})...}; };
}

/// Returns the number of values in the longest list that initialises a T.
template <typename T>
consteval auto count_fields() -> std::size_t {
  constexpr std::size_t max_count = 32;
  static_assert(!takes<T>(std::make_index_sequence<max_count + 1>()), "a plain struct can have at most 32 fields");
  return []<std::size_t... N>(std::index_sequence<N...>) {
    std::size_t count = 0;
    static_cast<void>(((takes<T>(std::make_index_sequence<N>()) ? count = N : 0), ...));
    return count;
  }(std::make_index_sequence<max_count + 1>());
}

/// Returns the compiler's text for the field at a given address. The text ends in `.name]`, or in `::name); …]`.
template <auto Address>
consteval auto spelled() -> std::string_view {
  return __PRETTY_FUNCTION__;
}

constexpr auto last_name(std::string_view text) noexcept -> std::string_view {
  text = text.substr(0, text.find(';'));  // g++ continues with the definition of std::string_view
  const auto end = text.find_last_not_of(")]") + 1;
  const auto before = text.find_last_of(".:", end - 1);
  return text.substr(before + 1, end - before - 1);
}

template <typename T, std::size_t Index>
consteval auto name_of_field() -> std::string_view {
  constexpr auto address = &std::get<Index>(tie_fields<count_fields<T>()>(list_fields<T>::object.value));
  return last_name(spelled<address>());
}

#endif

template <typename T, typename Value>
consteval auto class_of(Value T::* /*member*/) -> T;

template <auto Member>
using class_of_t = decltype(class_of(Member));

/// Returns whether two addresses belong to the same field. Returns false for addresses of different types, because a
/// struct and its first field have the same address but are different objects.
template <typename Left, typename Right>
constexpr auto same_field(const Left* left, const Right* right) noexcept -> bool {
  if constexpr (std::same_as<Left, Right>)
    return left == right;
  else
    return false;
}

}  // namespace detail

/// The number of fields of a plain struct.
template <plain_struct T>
inline constexpr std::size_t field_count = detail::count_fields<T>();

/// Returns the name of a field, as written in its struct.
template <plain_struct T, std::size_t Index>
  requires(Index < field_count<T>)
consteval auto field_name() -> std::string_view {
  return detail::name_of_field<T, Index>();
}

/// Calls `fn(name, field)` for each field in order. If the object is const, the fields are const.
template <typename T, typename Fn>
  requires plain_struct<std::remove_const_t<T>>
constexpr void visit_fields(T& object, Fn&& fn) {
  using plain = std::remove_const_t<T>;
  const auto fields = detail::tie_fields<field_count<plain>>(object);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (static_cast<void>(std::invoke(fn, field_name<plain, I>(), std::get<I>(fields))), ...);
  }(std::make_index_sequence<field_count<plain>>());
}

namespace detail {

template <auto Member>
consteval auto find_field() -> field {
  using owner = class_of_t<Member>;
  field found;
  const auto look = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    constexpr auto& object = list_fields<owner>::object.value;
    constexpr bool here = same_field(&(object.*Member), &std::get<I>(tie_fields<field_count<owner>>(object)));
    if constexpr (here) found = {.index = I, .name = field_name<owner, I>()};
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (look(std::integral_constant<std::size_t, I>()), ...);
  }(std::make_index_sequence<field_count<owner>>());
  return found;
}

}  // namespace detail

/// The index and name of a field that is given as a pointer to member: `field_of<&thread_entry::tag>.name == "tag"`.
template <auto Member>
  requires std::is_member_object_pointer_v<decltype(Member)>
inline constexpr field field_of = detail::find_field<Member>();

}  // namespace braid
