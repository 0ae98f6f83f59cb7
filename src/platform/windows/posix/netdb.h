// src/platform/windows/posix/netdb.h: declares `getaddrinfo`, which Winsock contains, and the errors that it lacks.
#pragma once

#include <sys/socket.h>

// Windows returns none of these numbers.
#if !defined(EAI_SYSTEM)
#define EAI_SYSTEM 0x7ff1
#endif
#if !defined(EAI_ADDRFAMILY)
#define EAI_ADDRFAMILY 0x7ff2
#endif
