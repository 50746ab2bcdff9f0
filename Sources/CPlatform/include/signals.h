// Signals, where systems differ.
#ifndef UNDERSTUDY_SIGNALS_H
#define UNDERSTUDY_SIGNALS_H

// Whether the process ignores a signal.
int understudy_is_ignored(int signal);

// Has the signal kept for `sigwait`: Darwin forgets a signal that comes while it is blocked when it would have no effect,
// as SIGCHLD, unless there is a handler. Children that run another program have the signal's default again.
void understudy_keep_signal(int signal);

// Waits for a blocked signal for so many milliseconds at most. 1 when it came, and has been taken.
int understudy_take_signal(int signal, int milliseconds);

#endif
