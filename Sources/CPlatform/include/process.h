// These functions are for this process and those that it starts. Swift hides some of them, and in others systems
// differ.
#ifndef UNDERSTUDY_PROCESS_H
#define UNDERSTUDY_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Returns the arguments with which the process was started, its name first, or none if the system doesn't say. Swift on
// Linux reads them from /proc, which not every machine has.
char *_Nullable const *_Nullable understudy_arguments(int *_Nonnull count);

// Returns the environment as a list of `NAME=value` with NULL at the end.
char *_Nullable *_Nonnull understudy_environment(void);

// Calls fork(2), which Swift hides. The process may have only one thread: locks that other threads hold would stay
// locked in the child.
pid_t understudy_fork(void);

// Runs a command, looked up in PATH, in a process group of its own, with no signal blocked. Before it runs, the group is
// put into the foreground of `terminal`, unless that is -1, and `kind` is sent to `watcher`, unless that is -1, with the
// group: see `understudy_tell`. posix_spawn tells the group only when the command is running; if this process were killed
// in between, nobody would know the group. Returns the process, or -1 and the reason in `error`.
pid_t understudy_launch(char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment, int standard_error,
                        int terminal, int watcher, unsigned char kind, int *_Nonnull error);

// Makes two connected sockets that are closed when another program is run. Returns 0 on success.
int understudy_channel(int pair[_Nonnull 2]);

// Sends a message over such a socket: a byte that says what it is, two with its size, lowest first, and the bytes. Darwin
// has no sockets that keep messages apart and tell of the other end's end.
void understudy_tell(int channel, unsigned char kind, const void *_Nonnull bytes, uint16_t size);

// Makes this process the parent of orphaned descendants, so that it learns when they end. Returns 0, or -1 on systems
// on which only the first process can be their parent.
int understudy_adopt_orphans(void);

// Starts a detached thread. `stack` is the size of its stack in bytes, or 0 for the usual one. Returns 0, or an error
// number.
int understudy_start_thread(size_t stack, void *_Nullable (*_Nonnull run)(void *_Nullable), void *_Nullable context);

#endif
