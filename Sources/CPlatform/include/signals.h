// These functions are for signals, in which systems differ.
#ifndef UNDERSTUDY_SIGNALS_H
#define UNDERSTUDY_SIGNALS_H

// Returns whether the process ignores a signal.
int understudy_is_ignored(int signal);

// Makes the system keep the signal for `sigwait`. Darwin drops a blocked signal that has no effect by default, such as
// SIGCHLD, unless there is a handler. Children that run another program have the signal's default again.
void understudy_keep_signal(int signal);

// Waits for a blocked signal, at most a number of milliseconds. Returns 1 if it came; it is then no longer pending.
int understudy_take_signal(int signal, int milliseconds);

#endif
