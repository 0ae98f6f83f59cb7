// rankd/cli/serve/service_manager.hpp: sd_notify(3): messages to the service manager, such as systemd.
#pragma once

#include <string_view>

namespace rankd {

/// Sends lines such as `READY=1` to the socket that the variable NOTIFY_SOCKET names: a file, or an abstract name after
/// `@`. Does nothing without this variable, because then there is no service manager.
/// Threads: any. Errors: none; an unreachable service manager does not prevent serving.
void notify_service_manager(std::string_view lines) noexcept;

}  // namespace rankd
