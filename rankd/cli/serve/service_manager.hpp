// rankd/cli/serve/service_manager.hpp: sends messages to the service manager, such as systemd, as sd_notify(3) does.
#pragma once

#include <string_view>

namespace rankd {

/// Sends lines such as `READY=1` to the socket that the variable NOTIFY_SOCKET names: a file, or an abstract name after
/// `@`. Does nothing without this variable, because then there is no service manager.
/// Threads: any. If the service manager cannot be reached, the error is ignored, because the server can serve
/// nevertheless.
void notify_service_manager(std::string_view lines) noexcept;

}  // namespace rankd
