// examples/places/operators/geo.cpp: two operators of one's own: how far rows are from a point, and the nearest of
// them.
#include <rankd/abi/operators.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

namespace ops = rankd::operators;

// [distance]
/// Kilometres on a sphere between each row and a point that the plan, or the request, gives.
struct distance {
  static auto shape() -> ops::shape {
    constexpr ops::float_range latitudes{-90, 90};
    constexpr ops::float_range longitudes{-180, 180};
    return ops::shape("geo::distance", "The distance in km between each row and a point; null where the row has none.")
        .reads("latitude_key", ops::floats)
        .reads("longitude_key", ops::floats)
        .writes("out_key", ops::floats)
        .number("latitude", latitudes, ops::need::required, ops::given_by::plan_or_request)
        .number("longitude", longitudes, ops::need::required, ops::given_by::plan_or_request)
        .row_cost_ns(50);
  }

  explicit distance(const ops::binding& with)
      : latitudes(with.read("latitude_key")),
        longitudes(with.read("longitude_key")),
        out(with.written("out_key")),
        latitude(with.float_of("latitude")),
        longitude(with.float_of("longitude")) {
    if (!with.key_of(out).nullable)
      throw ops::refusal("out_key", "a row without a place has no distance, so the key must be nullable");
  }

  void run(ops::rows& rows) const {
    const auto from_latitude = rows.value(latitude);
    const auto from_longitude = rows.value(longitude);
    const auto to_latitude = rows.floats(latitudes);
    const auto to_longitude = rows.floats(longitudes);
    auto km = rows.write_floats(out);
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (!to_latitude.is_null(row) && !to_longitude.is_null(row))
        km.set(row, between(from_latitude, from_longitude, to_latitude[row], to_longitude[row]));
  }

 private:
  /// By the haversine formula.
  static auto between(double latitude_a, double longitude_a, double latitude_b, double longitude_b) -> double {
    constexpr double earth_radius_km = 6371.0088;
    constexpr double radians = 3.14159265358979323846 / 180;
    const double y = std::sin((latitude_b - latitude_a) * radians / 2);
    const double x = std::sin((longitude_b - longitude_a) * radians / 2);
    const double h = y * y + std::cos(latitude_a * radians) * std::cos(latitude_b * radians) * x * x;
    return 2 * earth_radius_km * std::asin(std::sqrt(std::min(1.0, h)));
  }

  ops::read_column latitudes;
  ops::read_column longitudes;
  ops::written_column out;
  ops::float_option latitude;
  ops::float_option longitude;
};
// [/distance]

// [nearest]
/// The rows with the least values of a key, least first; of equal ones the first.
struct nearest {
  static auto shape() -> ops::shape {
    return ops::shape("geo::nearest", "The rows with the least values of a key, without those that have none.",
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
    std::sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
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

}  // namespace

// [exported]
RANKD_OPERATORS(distance, nearest)  // once in a library, outside of namespaces
// [/exported]
