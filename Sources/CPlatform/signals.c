#define _GNU_SOURCE
#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

int understudy_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void do_nothing(int number) { (void)number; }

void understudy_keep_signal(int number) { signal(number, do_nothing); }

#ifdef __APPLE__

// Darwin has no sigtimedwait.
int understudy_take_signal(int number, int milliseconds) {
  const int step = 2;
  sigset_t only, pending;
  sigemptyset(&only);
  sigaddset(&only, number);
  for (int waited = 0;; waited += step) {
    int taken;
    if (sigpending(&pending) == 0 && sigismember(&pending, number)) return sigwait(&only, &taken) == 0;
    if (waited >= milliseconds) return 0;
    struct timespec pause = {0, step * 1000000L};
    nanosleep(&pause, NULL);
  }
}

#else

int understudy_take_signal(int number, int milliseconds) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  return sigtimedwait(&only, NULL, &limit) == number;
}

#endif
