// rankd/cli/output/load_plot.cpp: draws two panels of lines as SVG.
#include <rankd/cli/output/load_plot.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>

namespace rankd {
namespace {

struct sheet {
  static constexpr double width = 720;
  static constexpr double left = 80;
  static constexpr double right = 640;  // the names of the lines are to the right of it
  static constexpr double panel = 200;
  static constexpr double gap = 60;
  static constexpr double top = 50;
  static constexpr std::array<std::string_view, 6> colours{"#1b6ca8", "#d1495b", "#2e8b57",
                                                           "#8a5fb0", "#c77d1a", "#555555"};
};

auto number(double value) -> std::string {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

/// Returns a number in a short form for people, such as 1.2M, 34k, 560 or 7.5.
auto short_text(double value) -> std::string {
  std::array<char, 32> text{};
  const auto print = [&text](const char* format, double shown) {
    std::snprintf(text.data(), text.size(), format, shown);
    return std::string(text.data());
  };
  if (value >= 1e6) return print("%.3gM", value / 1e6);
  if (value >= 1e3) return print("%.3gk", value / 1e3);
  return print("%.3g", value);
}

auto escaped(std::string_view text) -> std::string {
  std::string out;
  for (const char each : text) {
    if (each == '<')
      out += "&lt;";
    else if (each == '&')
      out += "&amp;";
    else if (each == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(each) < 0x20 ? '?' : each;
  }
  return out;
}

struct place {
  double x = 0;
  double y = 0;
};

enum class anchor : unsigned char { start, middle, end };

class drawing {
 public:
  void text(place place, std::string_view words, anchor side, std::string_view colour = "#222222") {
    constexpr std::array<std::string_view, 3> sides{"start", "middle", "end"};
    out_ += "<text x=\"" + number(place.x) + "\" y=\"" + number(place.y) + "\" text-anchor=\"" +
            std::string(sides[static_cast<std::size_t>(side)]) + "\" fill=\"" + std::string(colour) + "\">" +
            escaped(words) + "</text>\n";
  }

  void rule(double y) {
    out_ += "<line x1=\"" + number(sheet::left) + "\" y1=\"" + number(y) + "\" x2=\"" + number(sheet::right) +
            "\" y2=\"" + number(y) + "\" stroke=\"#dddddd\"/>\n";
  }

  void line(const std::vector<place>& through, std::string_view name, std::string_view colour) {
    out_ += "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + std::string(colour) + "\" points=\"";
    for (const place& at : through) out_ += number(at.x) + "," + number(at.y) + " ";
    out_ += "\"/>\n";
    for (const place& at : through)
      out_ += "<circle r=\"3\" cx=\"" + number(at.x) + "\" cy=\"" + number(at.y) + "\" fill=\"" + std::string(colour) +
              "\"/>\n";
    if (!name.empty()) text({sheet::right + 8, through.back().y + 4}, name, anchor::start, colour);
  }

  auto finish(double height) -> std::string {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(sheet::width) + "\" height=\"" +
           number(height) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           out_ + "</svg>\n";
  }

 private:
  std::string out_;
};

/// Returns the position of the column for a number of clients.
auto column_at(const load_plot& plot, std::size_t index) -> double {
  if (plot.points.size() == 1) return (sheet::left + sheet::right) / 2;
  return sheet::left + 20 +
         (sheet::right - sheet::left - 40) * static_cast<double>(index) / static_cast<double>(plot.points.size() - 1);
}

/// Returns the smallest number of the form 1, 2 or 5 times a power of ten that is not less than `value`.
auto round_up(double value) -> double {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(value, 1e-9))));
  for (const double factor : {1.0, 2.0, 5.0})
    if (value <= factor * power) return factor * power;
  return 10 * power;
}

void draw_throughput(const load_plot& plot, double bottom, drawing& into) {
  double max_value = 1;
  for (const load_point& each : plot.points) max_value = std::max(max_value, each.per_second);
  const double scale = round_up(max_value);
  for (const double part : {0.0, 0.5, 1.0}) {
    const double y = bottom - sheet::panel * part;
    into.rule(y);
    into.text({sheet::left - 8, y + 4}, short_text(scale * part), anchor::end);
  }
  std::vector<place> through;
  for (std::size_t at = 0; at < plot.points.size(); ++at)
    through.push_back({column_at(plot, at), bottom - sheet::panel * plot.points[at].per_second / scale});
  into.line(through, "", sheet::colours.front());
  into.text({sheet::left, bottom - sheet::panel - 10}, "requests per second", anchor::start);
}

void draw_latencies(const load_plot& plot, double bottom, drawing& into) {
  double min_value = std::numeric_limits<double>::infinity();
  double max_value = 0;
  for (const load_point& point : plot.points)
    for (const double each : point.latencies_us) {
      min_value = std::min(min_value, each);
      max_value = std::max(max_value, each);
    }
  const double low = std::floor(std::log10(min_value));
  const double high = std::max(std::ceil(std::log10(max_value)), low + 1);
  const auto measure_height = [&](double value) {
    return bottom - sheet::panel * (std::log10(value) - low) / (high - low);
  };
  for (int decade = 0; low + decade <= high; ++decade) {
    const double value = std::pow(10.0, low + decade);
    const double y = measure_height(value);
    into.rule(y);
    into.text({sheet::left - 8, y + 4}, short_text(value), anchor::end);
  }
  for (std::size_t name = 0; name < plot.names.size(); ++name) {
    std::vector<place> through;
    for (std::size_t at = 0; at < plot.points.size(); ++at)
      through.push_back({column_at(plot, at), measure_height(plot.points[at].latencies_us[name])});
    into.line(through, plot.names[name], sheet::colours[name % sheet::colours.size()]);
  }
  into.text({sheet::left, bottom - sheet::panel - 10}, "latency in us", anchor::start);
  for (std::size_t at = 0; at < plot.points.size(); ++at)
    into.text({column_at(plot, at), bottom + 18}, std::to_string(plot.points[at].clients), anchor::middle);
  into.text({(sheet::left + sheet::right) / 2, bottom + 36}, "clients", anchor::middle);
}

}  // namespace

auto to_svg(const load_plot& plot) -> std::string {
  BRAID_EXPECTS(!plot.points.empty(), "a plot must show at least one number of clients");
  drawing into;
  into.text({sheet::left, 20}, plot.title, anchor::start);
  const double upper = sheet::top + 20 + sheet::panel;
  const double lower = upper + sheet::gap + sheet::panel;
  draw_throughput(plot, upper, into);
  draw_latencies(plot, lower, into);
  return into.finish(lower + 50);
}

}  // namespace rankd
