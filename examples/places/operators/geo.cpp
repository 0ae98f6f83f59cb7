// examples/places/operators/geo.cpp: operators of one's own: how far rows are
// from a point, the nearest of them, cities as a source of rows, and the places
// of two inputs, each once.
#include <rankd/abi/operators.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

namespace ops = rankd::operators;

constexpr ops::float_range latitude_range{-90, 90};
constexpr ops::float_range longitude_range{-180, 180};

/// By the haversine formula.
auto kilometres(double latitude_a, double longitude_a, double latitude_b,
                double longitude_b) -> double {
  constexpr double earth_radius_km = 6371.0088;
  constexpr double radians = 3.14159265358979323846 / 180;
  const double y = std::sin((latitude_b - latitude_a) * radians / 2);
  const double x = std::sin((longitude_b - longitude_a) * radians / 2);
  const double h = y * y + std::cos(latitude_a * radians) *
                               std::cos(latitude_b * radians) * x * x;
  return 2 * earth_radius_km * std::asin(std::sqrt(std::min(1.0, h)));
}

// [distance]
/// Kilometres on a sphere between each row and a point that the plan, or the
/// request, gives.
struct distance {
  static auto shape() -> ops::shape {
    return ops::shape("geo::distance",
                      "The distance in km between each row and a point; null "
                      "where the row has none.")
        .reads("latitude_key", ops::floats)
        .reads("longitude_key", ops::floats)
        .writes("out_key", ops::floats)
        .number("latitude", latitude_range, ops::need::required,
                ops::given_by::plan_or_request)
        .number("longitude", longitude_range, ops::need::required,
                ops::given_by::plan_or_request)
        .row_cost_ns(50);
  }

  explicit distance(const ops::binding& with)
      : latitudes(with.read("latitude_key")),
        longitudes(with.read("longitude_key")),
        out(with.written("out_key")),
        latitude(with.float_of("latitude")),
        longitude(with.float_of("longitude")) {
    if (!with.key_of(out).nullable)
      throw ops::refusal(
          "out_key",
          "a row without a place has no distance, so the key must be nullable");
  }

  void run(ops::rows& rows) const {
    const auto from_latitude = rows.value(latitude);
    const auto from_longitude = rows.value(longitude);
    const auto to_latitude = rows.floats(latitudes);
    const auto to_longitude = rows.floats(longitudes);
    auto km = rows.write_floats(out);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!to_latitude.is_null(row) && !to_longitude.is_null(row))
        km.set(row, kilometres(from_latitude, from_longitude, to_latitude[row],
                               to_longitude[row]));
  }

 private:
  ops::read_column latitudes;
  ops::read_column longitudes;
  ops::written_column out;
  ops::float_option latitude;
  ops::float_option longitude;
};
// [/distance]

// [nearest]
/// The rows with the least values of a key, least first; of equal ones the
/// first.
struct nearest {
  static auto shape() -> ops::shape {
    return ops::shape("geo::nearest",
                      "The rows with the least values of a key, without those "
                      "that have none.",
                      ops::effect::selects_rows)
        .reads("by", ops::floats)
        .integer("count", {1, 1000})
        .number("max_km", {0, 40'000}, ops::need::optional)
        .row_cost_ns(30);
  }

  explicit nearest(const ops::binding& with)
      : by(with.read("by")),
        count(static_cast<std::size_t>(with.integer("count"))),
        max_km(with.number("max_km", 40'000)) {}

  void run(ops::rows& rows) const {
    const auto values = rows.floats(by);
    std::vector<std::uint32_t> found;
    for (std::uint32_t row = 0; row < rows.size(); ++row)
      if (!values.is_null(row) && values[row] <= max_km) found.push_back(row);
    std::sort(
        found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
          return values[a] < values[b] || (values[a] == values[b] && a < b);
        });
    found.resize(std::min(found.size(), count));
    rows.keep_none();
    for (const std::uint32_t row : found) rows.keep(row);
  }

 private:
  ops::read_column by;
  std::size_t count;
  double max_km;
};
// [/nearest]

// [cities]
struct city {
  std::int64_t id;
  double latitude;
  double longitude;
};
constexpr std::array known_cities{
    city{101, 52.520, 13.405}, city{102, 52.399, 13.066},
    city{103, 53.551, 9.993},  city{104, 51.340, 12.373},
    city{105, 51.050, 13.737}, city{106, 48.137, 11.576}};

/// A source: the rows are its own, with ids and the columns that it writes.
struct cities {
  static auto shape() -> ops::shape {
    return ops::shape(
               "geo::cities",
               "The cities within so many km of a point, the nearest first.",
               ops::effect::makes_rows)
        .writes("latitude_key", ops::floats)
        .writes("longitude_key", ops::floats)
        .number("latitude", latitude_range, ops::need::required,
                ops::given_by::plan_or_request)
        .number("longitude", longitude_range, ops::need::required,
                ops::given_by::plan_or_request)
        .number("max_km", {0, 40'000})
        .run_cost_ns(1000);
  }

  explicit cities(const ops::binding& with)
      : latitudes(with.written("latitude_key")),
        longitudes(with.written("longitude_key")),
        latitude(with.float_of("latitude")),
        longitude(with.float_of("longitude")),
        max_km(with.number("max_km")) {
    if (with.text_ids())
      throw ops::refusal("", "the ids of its cities are integers");
  }

  void run(ops::rows& rows) const {
    std::vector<std::pair<double, const city*>> near;
    for (const city& each : known_cities) {
      const double km = kilometres(rows.value(latitude), rows.value(longitude),
                                   each.latitude, each.longitude);
      if (km <= max_km) near.emplace_back(km, &each);
    }
    std::sort(near.begin(), near.end());
    ops::made_rows made = rows.make(near.size());
    auto to_latitude = rows.write_floats(latitudes);
    auto to_longitude = rows.write_floats(longitudes);
    for (std::size_t row = 0; row < near.size(); ++row) {
      made.set_id(row, near[row].second->id);
      to_latitude.set(row, near[row].second->latitude);
      to_longitude.set(row, near[row].second->longitude);
    }
  }

 private:
  ops::written_column latitudes;
  ops::written_column longitudes;
  ops::float_option latitude;
  ops::float_option longitude;
  double max_km;
};
// [/cities]

// [unite]
/// Appends the rows of another node, except those at places that already occur.
struct unite {
  static auto shape() -> ops::shape {
    return ops::shape("geo::unite",
                      "All rows, and those of `others` that are further from "
                      "each of them.",
                      ops::effect::merges_rows)
        .input("others")
        .reads("latitude_key", ops::floats)
        .reads("longitude_key", ops::floats)
        .number("same_km", {0, 1000})
        .row_cost_ns(500);
  }

  explicit unite(const ops::binding& with)
      : others(with.input("others")),
        latitudes(with.read("latitude_key")),
        longitudes(with.read("longitude_key")),
        same_km(with.number("same_km")) {}

  void run(ops::rows& rows) const {
    const ops::seen_rows second = rows.input(others);
    std::vector<std::size_t> added;
    for (std::size_t row = 0; row < second.size() && !rows.stopped(); ++row)
      if (!is_at_one_of(rows, second, row)) added.push_back(row);
    ops::made_rows made = rows.make(rows.size() + added.size());
    std::size_t next = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
      made.take(next++, ops::first_input, row);
    for (const std::size_t row : added) made.take(next++, others, row);
  }

 private:
  auto is_at_one_of(const ops::seen_rows& rows, const ops::seen_rows& second,
                    std::size_t at) const -> bool {
    const auto latitude = second.floats(latitudes);
    const auto longitude = second.floats(longitudes);
    if (latitude.is_null(at) || longitude.is_null(at)) return false;
    const auto to_latitude = rows.floats(latitudes);
    const auto to_longitude = rows.floats(longitudes);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!to_latitude.is_null(row) && !to_longitude.is_null(row) &&
          kilometres(latitude[at], longitude[at], to_latitude[row],
                     to_longitude[row]) <= same_km)
        return true;
    return false;
  }

  ops::input_rows others;
  ops::read_column latitudes;
  ops::read_column longitudes;
  double same_km;
};
// [/unite]

}  // namespace

// [exported]
// Once in a library, outside of namespaces.
RANKD_OPERATORS(distance, nearest, cities, unite)
// [/exported]
