// What a Swift program can't ask of its own process.
#ifndef UNDERSTUDY_CPROCESS_H
#define UNDERSTUDY_CPROCESS_H

#include <sys/types.h>

// The arguments with which the process was started, its name first. Swift reads them from /proc, which not every machine has.
char *_Nullable const *_Nonnull understudy_arguments(int *_Nonnull count);

// fork(2), which Swift hides. Only while the process has one thread: the child has that one alone, and locks that others hold
// stay locked in it.
pid_t understudy_fork(void);

// Runs a command, looked up in PATH, in a group of processes of its own, with no signal blocked. Before anything of it runs, the
// group has the foreground of `terminal`, if that isn't -1, and `watcher`, if that isn't -1, has been sent one message: the byte
// `kind` and the group. posix_spawn tells the group only when the command runs already; who is killed in between can't say it.
// Returns the process, or -1 and the reason in `error`.
pid_t understudy_launch(char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment, int standard_error,
                        int terminal, int watcher, unsigned char kind, int *_Nonnull error);

// Two connected sockets between which messages travel whole, closed when another program is run. Returns 0 when there are.
int understudy_message_pair(int pair[_Nonnull 2]);

// From now on we are the parent of whatever our children leave behind, and learn when it ends.
int understudy_adopt_orphans(void);

#endif
