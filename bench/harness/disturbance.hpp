// bench/harness/disturbance.hpp: how quiet the machine was while something was measured.
#pragma once

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include <unistd.h>

namespace bench {

/// What others have taken of the processors since this was made. Figures say little where that is not next to nothing.
class disturbance {
 public:
  [[nodiscard]] auto text() const -> std::string {
    const times now = read();
    char buffer[96];
    std::snprintf(buffer, sizeof buffer,
                  "meanwhile %.2f s of the processors went to other processes, %.2f s to the host",
                  std::max(0.0, now.others_s - begin_.others_s), now.host_s - begin_.host_s);
    return buffer;
  }

 private:
  struct times {
    double others_s = 0;
    double host_s = 0;
  };

  /// In ticks of a hundredth of a second, as a rule.
  static auto read() -> times {
    std::ifstream file("/proc/stat");
    std::string name;
    double user = 0;
    double nice = 0;
    double system = 0;
    double idle = 0;
    double waiting = 0;
    double interrupts = 0;
    double soft_interrupts = 0;
    double stolen = 0;
    file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    const auto tick_s = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::timespec own{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    const double own_s = static_cast<double>(own.tv_sec) + static_cast<double>(own.tv_nsec) / 1e9;
    return {.others_s = (user + nice + system) * tick_s - own_s, .host_s = stolen * tick_s};
  }

  times begin_ = read();
};

}  // namespace bench
