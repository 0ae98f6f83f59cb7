// src/platform/windows/posix/arpa/inet.h: declares `inet_pton` and `inet_ntop`, which Winsock contains.
#pragma once

#include <sys/socket.h>
