// This process and those that it starts: what Swift hides, and where systems differ.
#ifndef UNDERSTUDY_PROCESS_H
#define UNDERSTUDY_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The arguments with which the process was started, its name first. Swift on Linux reads them from /proc, which not every
// machine has. None, where the system doesn't say.
char *_Nullable const *_Nullable understudy_arguments(int *_Nonnull count);

// The environment: `NAME=value`, and NULL at the end.
char *_Nullable *_Nonnull understudy_environment(void);

// fork(2), which Swift hides. Only while the process has one thread: the child has that one alone, and locks that others hold
// stay locked in it.
pid_t understudy_fork(void);

// Runs a command, looked up in PATH, in a process group of its own, with no signal blocked. Before it runs, the group is
// put into the foreground of `terminal`, unless that is -1, and `kind` is sent to `watcher`, unless that is -1, with the
// group: see `understudy_tell`. posix_spawn tells the group only when the command is running; if this process were killed
// in between, nobody would know the group. Returns the process, or -1 and the reason in `error`.
pid_t understudy_launch(char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment, int standard_error,
                        int terminal, int watcher, unsigned char kind, int *_Nonnull error);

// Two connected sockets, closed when another program is run. Returns 0 when there are.
int understudy_channel(int pair[_Nonnull 2]);

// Sends a message over such a socket: a byte that says what it is, two with its size, lowest first, and the bytes. Darwin
// has no sockets that keep messages apart and tell of the other end's end.
void understudy_tell(int channel, unsigned char kind, const void *_Nonnull bytes, uint16_t size);

// From now on, this process is the parent of orphaned descendants, and learns when they end. Returns 0; -1 where only the
// system's first process can be.
int understudy_adopt_orphans(void);

// A thread that nobody waits for. `stack` is in bytes; 0 is as many as usual. Returns 0, or the reason.
int understudy_start_thread(size_t stack, void *_Nullable (*_Nonnull run)(void *_Nullable), void *_Nullable context);

#endif
