// src/platform/windows/posix/netinet/tcp.h: declares the options of TCP that Winsock of mingw-w64 lacks.
#pragma once

#include <sys/socket.h>

#if !defined(TCP_KEEPIDLE)
#define TCP_KEEPIDLE 3  // the values are those of Windows 10
#endif
#if !defined(TCP_KEEPINTVL)
#define TCP_KEEPINTVL 17
#endif
