// src/platform/windows/posix/netinet/in.h: declares the addresses of IP, which Winsock contains.
#pragma once

#include <sys/socket.h>

#include <cstdint>

using in_addr_t = std::uint32_t;
using in_port_t = std::uint16_t;
