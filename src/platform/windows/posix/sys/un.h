// src/platform/windows/posix/sys/un.h: declares the addresses of Unix sockets. braid opens no such socket on Windows.
#pragma once

#include <sys/socket.h>

#include <afunix.h>
