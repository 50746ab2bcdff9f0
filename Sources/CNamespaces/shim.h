// These are Linux's calls that give one process its own view of the system. The C library declares them only with
// _GNU_SOURCE, which a module can't define.
#ifndef UNDERSTUDY_CNAMESPACES_SHIM_H
#define UNDERSTUDY_CNAMESPACES_SHIM_H

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

extern int unshare(int flags);

// <linux/sched.h>
static const int understudy_new_mounts = 0x00020000;
static const int understudy_new_user = 0x10000000;
static const int understudy_new_network = 0x40000000;

static inline int understudy_unshare(int flags) { return unshare(flags); }

// Makes later mounts visible only to this process and its children.
static inline int understudy_make_mounts_private(void) { return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL); }

// Makes the file `source` appear in the place of `target`.
static inline int understudy_bind(const char *source, const char *target) {
  return mount(source, target, NULL, MS_BIND, NULL);
}

// Switches the loopback device on, which is off in a new network.
static inline int understudy_raise_loopback(void) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  if (descriptor < 0) return -1;
  int result = ioctl(descriptor, SIOCGIFFLAGS, &request);
  if (result == 0) {
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    result = ioctl(descriptor, SIOCSIFFLAGS, &request);
  }
  close(descriptor);
  return result;
}

#endif
